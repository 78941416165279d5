package work

// HomeRepository is what the repository is called whose plan a run of several
// repositories is of. No other one may have the name.
const HomeRepository = "home"

// MaxRepositories bounds the repositories beside the home.
const MaxRepositories = 8

// Repository is one that a run works in beside its home: where it began there, and
// what the repository itself says of the proof of work in it.
type Repository struct {
	Name    string `json:"name"`
	Base    Base   `json:"base"`
	Trusted string `json:"trusted,omitempty"` // whose evidence proofs are held against; "" = the base

	Verify   VerifySettings `json:"verify"`
	Proof    ProofSettings  `json:"proof,omitzero"`
	Worktree Worktree       `json:"worktree"`

	// Host is where its part of a result is proposed; nil = its target is moved here.
	Host *PullSettings `json:"host,omitempty"`
}

// RepositoryDelivery is what became of the result in one of several repositories.
type RepositoryDelivery struct {
	Repository string `json:"repository"`
	Target     string `json:"target"` // the branch that it is meant for
	From       string `json:"from"`
	To         string `json:"to"`
	Moved      bool   `json:"moved"`
	Why        string `json:"why,omitempty"`    // it was not
	Undo       string `json:"undo,omitempty"`   // command that takes it back, there
	Pull       string `json:"pull,omitempty"`   // the pull request that it is proposed by
	Merged     string `json:"merged,omitempty"` // the commit that the code host made of it
}
