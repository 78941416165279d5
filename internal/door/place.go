// Package door is a place outside of Forge where people are asked and answer, such
// as a chat: what stands there of each question and run, posted once and kept as it
// is now, and what people say there, taken as answers and as words to agents.
package door

import (
	"context"
	"fmt"
	"time"

	"forge/internal/work"
)

// Place is where messages of Forge stand. One goroutine at a time calls it for one
// project, and several for several projects. What it does not carry out is a
// *Trouble; any other error is one that passes.
type Place interface {
	// Key names it in the journal: another key is another place, where nothing
	// stands yet.
	Key() string
	// Post posts a card and returns by which the place knows it. An error says
	// whether it may stand there all the same.
	Post(ctx context.Context, c Card) (ref string, err error)
	// Edit lets a message say what c says.
	Edit(ctx context.Context, ref string, c Card) error
	// Find is the message about a subject that was posted since, "" = there is none.
	Find(ctx context.Context, subject string, since time.Time) (ref string, err error)
}

// Trouble is what a place did not carry out.
type Trouble struct {
	Err   error
	After time.Duration // when it may be tried again at the earliest; 0 = it did not say
	All   bool          // whatever else is asked of it now would go the same way
	Sure  bool          // it was not carried out; else nobody knows
	Gone  bool          // the message is not there any more, or cannot be changed
}

func (t *Trouble) Error() string { return t.Err.Error() }
func (t *Trouble) Unwrap() error { return t.Err }

// Card is what a message says: words alone, which act nowhere. A place shows as
// much of them as it has room for.
type Card struct {
	Subject string // what it is about, the same each time: "question ID", "run ID"
	Title   string
	Facts   [][2]string // short ones, such as {"phase", "02 storage"}
	Parts   []Part
	Buttons []Button
	Link    string // page that shows all of it, "" = none is known
	Foot    string // what a reader can do, in Forge's own words
}

// Part is a longer text with a title.
type Part struct {
	Title, Text string
	Fixed       bool // its lines stand below each other
}

// Button is one that a person presses.
type Button struct {
	Label string
	Style string // "", primary, danger
	Press Press
}

// Press is what a button means. A place gives it back as it was.
type Press struct {
	Project    string                `json:"p"`
	Checkpoint string                `json:"c"`
	Revision   int                   `json:"r"`
	Status     work.CheckpointStatus `json:"s"`
	Choice     string                `json:"o,omitempty"`
	Words      Words                 `json:"w,omitempty"` // whether words go with it
}

// Words says whether an answer has words beside it.
type Words int

// No words are asked for, they may be given, or they are due.
const (
	NoWords Words = iota
	MayWords
	DueWords
)

// Said is what somebody said at a place, by a button or in words.
type Said struct {
	ID    string    // the same each time that the same is told
	By    string    // who, as the place knows people for certain; never a name that they choose
	Ref   string    // the message that it was said at, or below
	At    time.Time // when, by the place's clock; zero = it does not say
	Press *Press    // nil = words below the message
	Words string
	// Asked says that the words were asked for: they go with Press, and may be
	// empty where they are not due.
	Asked bool
}

// Reply is what follows of what somebody said.
type Reply struct {
	Text string // is told to them alone; "" = nothing
	Ask  string // words are asked for, with this as their title
	Due  bool   // the words that are asked for may not be empty
	Done bool   // it counts
}

// said is a reply that tells something.
func said(format string, args ...any) Reply { return Reply{Text: fmt.Sprintf(format, args...)} }
