package work

// A phase with tries is done several times side by side, from the same base; one
// try that is proven becomes the phase.

// MaxTries is how many tries a phase may have.
const MaxTries = 10

// When the tries of a phase are over.
const (
	// TriesBest waits for every try, and takes the best one that is proven.
	TriesBest = "best"
	// TriesFirst takes the first one that is proven with nothing against it, and
	// stops the others.
	TriesFirst = "first"
)

// TryAgent is who makes a try. "" = the phase's own agent, or the model that the
// agent has.
type TryAgent struct {
	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"`
}

// ChangeSize is how much a change is.
type ChangeSize struct {
	Files int `json:"files"`
	// Lines that are new or gone; nil = nobody can tell, since a file is not text.
	Lines *int `json:"lines,omitempty"`
}
