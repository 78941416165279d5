package work

// PullSettings says where boundaries that a person looks at become pull
// requests.
type PullSettings struct {
	Kind string `json:"kind"` // of the code host
	URL  string `json:"url"`  // "" = no host: branches of Forge's own repository
	Repo string `json:"repo"` // owner/name
	// Always says that phases which nobody looks at get one too.
	Always bool `json:"always,omitempty"`
	// Fixes is of how many heads whose checks failed the agent is told, so that it
	// mends them.
	Fixes int `json:"fixes,omitempty"`
}

// Remote says that people look at pull requests somewhere else than at Forge's
// own doors.
func (p *PullSettings) Remote() bool { return p != nil && p.URL != "" }

// Place is where the pull requests are, whoever gets one.
func (p PullSettings) Place() PullSettings {
	p.Always, p.Fixes = false, 0
	return p
}

// String names the place for people, and tells it from every other.
func (p PullSettings) String() string {
	if p.URL == "" {
		return "no code host"
	}
	return p.Kind + " " + p.URL + "/" + p.Repo
}

// PullTrouble is what a code host did not do, as a run's record has it.
type PullTrouble struct {
	Kind   HostKind `json:"kind"`
	What   string   `json:"what"`
	Fix    string   `json:"fix,omitempty"`
	Passes bool     `json:"passes,omitempty"` // asked again a while later, it may do it
}
