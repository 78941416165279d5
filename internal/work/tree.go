package work

// FileChange is one path that differs between two trees.
type FileChange struct {
	Path   string `json:"path"`
	Status string `json:"status"` // A, M, D, T
}

// Snapshot is the content of a phase folder as a commit in Forge's own
// repository.
type Snapshot struct {
	Commit  string       `json:"commit"`
	Tree    string       `json:"tree"`
	Changed bool         `json:"changed"` // against the parent's tree
	Files   []FileChange `json:"files,omitempty"`
	// Dropped are the agent's edits that Forge does not carry: paths under
	// .forge/, and nested repositories.
	Dropped []string `json:"dropped,omitempty"`
	// Shape is a digest of the change without blanks, comments and renames; "" =
	// it is not known. Bare says that nothing else changed.
	Shape string `json:"shape,omitempty"`
	Bare  bool   `json:"bare,omitempty"`
}

// Merged is the result of a three-way merge of two commits.
type Merged struct {
	Tree      string   `json:"tree"` // with conflict markers when Conflicts is not empty
	Conflicts []string `json:"conflicts,omitempty"`
}

// Base is where the user's repository stands when a run opens.
type Base struct {
	Commit   string `json:"commit"`
	Branch   string `json:"branch,omitempty"` // "" = detached HEAD
	Shallow  bool   `json:"shallow,omitempty"`
	RepoRoot string `json:"repo_root"`
	// Apart says that Branch is not what the checkout has out, and may not be there yet: no
	// file of a checkout is touched where it is moved.
	Apart bool `json:"apart,omitempty"`
	// Was is where a branch apart was, which Commit has grown out of; "" = at Commit, or
	// not there yet.
	Was string `json:"was,omitempty"`
}

// Delivery says what became of a finished run in the user's repository.
type Delivery struct {
	Branch        string `json:"branch"`
	Commit        string `json:"commit"`
	FastForwarded bool   `json:"fast_forwarded"`
	Reason        string `json:"reason,omitempty"` // why it was not
	Undo          string `json:"undo,omitempty"`   // command that takes it back
	Next          string `json:"next,omitempty"`   // command that finishes the job
	// Repositories are those of a run of several, in the order in which they are
	// moved: all of them, or none.
	Repositories []RepositoryDelivery `json:"repositories,omitempty"`
}

// NothingChanged is why a result that is its base was not delivered to a branch.
const NothingChanged = "the result is the base itself"

// CommandReport is what came of one shell command.
type CommandReport struct {
	Command  string `json:"command"`
	OK       bool   `json:"ok"`
	ExitCode *int   `json:"exit_code"` // nil: ended by a signal or a timeout
	TimedOut bool   `json:"timed_out,omitempty"`
	Missing  bool   `json:"missing,omitempty"` // its program is not installed: nothing in the tree could be it
	Output   string `json:"output,omitempty"`  // redacted; middle dropped beyond the cap
	Millis   int64  `json:"millis,omitempty"`  // how long it took; 0 = nobody knows
}

// CommandsReport is what came of a list of commands, which stops at the first
// failure: Ran holds the commands that ran, in order.
type CommandsReport struct {
	OK  bool            `json:"ok"`
	Ran []CommandReport `json:"ran,omitempty"`
	// Problem says, when not OK, what failed in one line.
	Problem string `json:"problem,omitempty"`
	Sandbox string `json:"sandbox,omitempty"`
	// Disturbed says what the commands did to the tree that they judge; "" =
	// nothing that was seen. Such a report is never OK.
	Disturbed string `json:"disturbed,omitempty"`
	// Time is where the time of a verify went; nil = nobody looked.
	Time *ProofTime `json:"time,omitempty"`
	// ReadOnly is how much of the evidence the commands could only read; nil =
	// there is none.
	ReadOnly *ReadOnly `json:"read_only,omitempty"`
}

// ReadOnly says how much of the evidence could only be read while the commands
// of a proof ran. The rest was compared after each command, as all of it was.
type ReadOnly struct {
	Files int    `json:"files"`
	Of    int    `json:"of"`
	Why   string `json:"why,omitempty"` // why it is fewer
}

// Failed returns the command that failed, or nil.
func (r CommandsReport) Failed() *CommandReport {
	for i := range r.Ran {
		if !r.Ran[i].OK {
			return &r.Ran[i]
		}
	}
	return nil
}
