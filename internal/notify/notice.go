// Package notify tells people outside of Forge that a run waits for them or is
// over, by a command and by a webhook.
package notify

import "time"

// Version of Notice. Fields may be added; none changes its meaning.
const Version = 1

// The events that a notice may be about.
const (
	Frozen   = "frozen"   // a person is asked, and nothing else can go on
	Finished = "finished" // completed, failed, cancelled, or at a limit
)

// Notice is what is told: JSON, the same for a command and a webhook. Words of
// agents in it act nowhere, however a receiver renders them (text.Line).
type Notice struct {
	V       int       `json:"v"`
	Event   string    `json:"event"`
	Time    time.Time `json:"time"` // UTC
	Project string    `json:"project"`
	Run     string    `json:"run"`
	Outcome string    `json:"outcome"`
	Reason  string    `json:"reason,omitempty"`
	Level   string    `json:"level"`            // preset of the run's policy, "" for one of its own
	Branch  string    `json:"branch,omitempty"` // that holds the result
	// Checkpoints are what a person is asked; never null.
	Checkpoints []Question `json:"checkpoints"`
	Next        string     `json:"next,omitempty"` // the command that goes on
	// PostReview says of what is completed that somebody is wanted to look at it
	// afterwards, as its triage said. Nothing waits for that.
	PostReview bool `json:"post_review,omitempty"`
}

// Question is one checkpoint that is open.
type Question struct {
	ID       string   `json:"id"`
	Points   []string `json:"points"`
	Phase    string   `json:"phase,omitempty"`
	Revision int      `json:"revision"`
	Question string   `json:"question"`
}

// Redacted is n with what clean makes of every text that is not Forge's own.
func (n Notice) Redacted(clean func(string) string) Notice {
	n.Project, n.Reason, n.Branch = clean(n.Project), clean(n.Reason), clean(n.Branch)
	asked := make([]Question, 0, len(n.Checkpoints))
	for _, q := range n.Checkpoints {
		q.Question = clean(q.Question)
		asked = append(asked, q)
	}
	n.Checkpoints = asked
	return n
}
