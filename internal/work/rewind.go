package work

import (
	"strconv"
	"strings"
)

// Rewind is a person's wish that a phase goes on from what one of its iterations
// left. Iteration 0 is what the phase began with.
type Rewind struct {
	ID        string `json:"id"` // one that came before does nothing
	Phase     string `json:"phase"`
	Iteration int    `json:"iteration"`
	Attempt   int    `json:"attempt,omitempty"` // at that iteration; 0 = the newest
	Text      string `json:"text,omitempty"`    // for its agent
}

// Rewound is how far that has come.
type Rewound struct {
	Run       string      `json:"run"`
	Phase     string      `json:"phase"`
	ID        string      `json:"id"`
	Iteration int         `json:"iteration"`
	State     RewindState `json:"state"`
	Commit    string      `json:"commit"`          // that the phase goes on from
	Again     []string    `json:"again,omitempty"` // phases that are open again with it
}

// RewindState is how far a phase that is to be set back has come.
type RewindState string

// It is queued until the process that drives the run has taken it, or what is under
// way has ended. It is done when the phase goes on from there.
const (
	RewindQueued RewindState = "queued"
	RewindDone   RewindState = "done"
)

// Aside says that an answer is of no checkpoint: it changes the run's policy, is a
// message, or sets a phase back, and is one of these alone.
func (a Answer) Aside() bool {
	n := 0
	for _, is := range []bool{len(a.Policy) > 0, a.Message != nil, a.Rewind != nil} {
		if is {
			n++
		}
	}
	return n == 1
}

// ParseIteration reads the number of an iteration, or that of one attempt at it: 3 or
// 3.1. The attempt is 0 where none is named.
func ParseIteration(word string) (iteration, attempt int, ok bool) {
	number, try, named := strings.Cut(word, ".")
	iteration, err := strconv.Atoi(number)
	if err == nil && named {
		attempt, err = strconv.Atoi(try)
	}
	return iteration, attempt, err == nil && iteration >= 0 && attempt >= 0 && !(named && attempt == 0)
}
