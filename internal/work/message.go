package work

import "fmt"

// MaxMessage is how long a message to a working agent may be, in bytes.
const MaxMessage = 8 << 10

// Message is what a person says to the agent of a phase while it works.
type Message struct {
	ID    string `json:"id"` // one that came before is not given again
	Phase string `json:"phase"`
	Text  string `json:"text"`
	// Now ends the iteration that is under way; its work is kept.
	Now bool `json:"now,omitempty"`
	// Anew is a wish for a new session, with or without a text.
	Anew bool `json:"anew,omitempty"`
	// Attached are files and lines that go with the text.
	Attached []Attached `json:"attached,omitempty"`
}

// Told is a message to a working agent, and how far it has come.
type Told struct {
	Run       string       `json:"run"`
	Phase     string       `json:"phase"`
	ID        string       `json:"id"`
	Now       bool         `json:"now"`            // it ends the iteration that is under way
	Anew      bool         `json:"anew,omitempty"` // a new session goes on
	State     MessageState `json:"state"`
	Iteration int          `json:"iteration,omitempty"` // whose prompt holds it, or will
	Waits     string       `json:"waits,omitempty"`     // the checkpoint that has to be answered first
	Taken     bool         `json:"taken"`               // the run's record holds it
	// Midway says that its agent gets it, or got it, while it works, and not with a
	// prompt.
	Midway bool `json:"midway"`
}

// How says how far a message has come, and how its agent gets it; driven = a
// process goes on with the run by itself.
func (t Told) How(driven bool) string {
	switch {
	case t.Anew && t.State != MessageQueued:
		return fmt.Sprintf("iteration %d began in a new session", t.Iteration)
	case t.Anew && t.Now && driven:
		return fmt.Sprintf("queued: the iteration is ended, and iteration %d begins in a new session", t.Iteration)
	case t.Anew:
		return fmt.Sprintf("queued: iteration %d begins in a new session", t.Iteration)
	case t.State != MessageQueued && t.Midway:
		return fmt.Sprintf("delivered, while its agent works on iteration %d", t.Iteration)
	case t.Midway && driven:
		return fmt.Sprintf("queued: its agent gets it while it works on iteration %d", t.Iteration)
	case t.State != MessageQueued:
		return fmt.Sprintf("delivered, with the prompt of iteration %d", t.Iteration)
	case t.Now && driven:
		return fmt.Sprintf("queued: the iteration is ended, and iteration %d begins with it", t.Iteration)
	}
	return fmt.Sprintf("queued: its agent reads it with its next prompt, of iteration %d", t.Iteration)
}

// TellRequest hands a message to an agent while it works on an iteration.
type TellRequest struct {
	Run       string `json:"run"`
	Phase     string `json:"phase"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt"`
	ID        string `json:"id"` // of the message
	Text      string `json:"text"`
}

// TellReport says whether the agent's program took a message. That the model was
// given it, too, is in the report of the iteration.
type TellReport struct {
	Taken bool   `json:"taken"`
	Why   string `json:"why,omitempty"` // it did not, or nobody knows
}

// MessageState is how far a message has come.
type MessageState string

// A message is queued until an iteration begins with it, or its agent takes it
// midway: then it is delivered. It is read when that iteration came to a result.
const (
	MessageQueued    MessageState = "queued"
	MessageDelivered MessageState = "delivered"
	MessageRead      MessageState = "read"
)
