package work

// A council: several workers make the same phase, judge each other's changes
// without knowing whose they are, and a chairman makes one result out of them.

// Council is how the tries of a phase are judged. nil in PhaseSettings = by rules
// alone.
type Council struct {
	// Reviewers judge instead of the workers; none = the workers do.
	Reviewers []TryAgent `json:"reviewers,omitempty"`
	// Chairman makes the synthesis, in at most Budget iterations.
	Chairman TryAgent `json:"chairman"`
	Budget   int      `json:"budget"`
}

// MostScore is the best score of a change; the worst is 0.
const MostScore = 10

// Score is what a voter thinks of one change.
type Score struct {
	Score    int    `json:"score"`
	Critique string `json:"critique,omitempty"`
}

// VoteRequest asks a worker for its judgement of changes by others. Commit is
// that of Base: nothing of any change is in the voter's folder.
type VoteRequest struct {
	ReviewRequest
	Of []string // the commits, in the order in which they are shown, as A, B and so on
}

// VoteReport is what it says. Scores are in the order of Of; none = no usable
// answer, which is no vote.
type VoteReport struct {
	Scores  []Score
	Why     string // there are none
	Model   string
	Usage   Usage
	Request string // blob
	Answer  string // blob
}

// ChangeLabel is what the change at a place, from 0, is called where nobody is to
// know whose it is.
func ChangeLabel(at int) string { return string(rune('A' + at)) }
