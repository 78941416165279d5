package work

import (
	"errors"
	"time"
)

// IssueClaim is the right to work on one issue. It is kept by heartbeats, and taken
// over when its owner is gone.
type IssueClaim struct {
	Project string `json:"project"`
	Issue   int64  `json:"issue"`
	// Epoch counts the claims of an issue from 1: a claim of an older one can
	// change nothing any more. 0 = nobody claimed it yet.
	Epoch     int64     `json:"epoch"`
	Owner     string    `json:"owner,omitempty"` // "" = it was given back
	PID       int       `json:"pid,omitempty"`
	Host      string    `json:"host,omitempty"`
	Heartbeat time.Time `json:"heartbeat"`
	// Dead says that the owner is known not to run any more.
	Dead bool `json:"dead,omitempty"`
	// Later is when the issue may be claimed again; zero = at once.
	Later time.Time `json:"later,omitzero"`
}

// ErrNotClaimed says that the claim is another's, or was given back. Nothing was
// written.
var ErrNotClaimed = errors.New("not claimed any more")

// Floor is how the loop of a project is to go on, whoever runs it.
type Floor struct {
	// Version counts the changes; a change of an older one is refused with
	// ErrStale.
	Version int64     `json:"version"`
	Paused  bool      `json:"paused,omitempty"` // nothing is claimed
	Drain   bool      `json:"drain,omitempty"`  // paused, and whoever serves ends when nothing runs
	By      string    `json:"by,omitempty"`     // who said so last
	At      time.Time `json:"at,omitzero"`
	// Breakers are the agents that failed in a row, by name.
	Breakers map[string]Breaker `json:"breakers,omitempty"`
}

// Breaker counts an agent's failures, and says how long nothing is begun with
// it.
type Breaker struct {
	Failures int       `json:"failures"`        // in a row
	Trips    int       `json:"trips,omitempty"` // in a row; each doubles the next cool-down
	Until    time.Time `json:"until,omitzero"`  // open until then; zero = closed
	Why      string    `json:"why,omitempty"`   // of the last failure
}

// Server is a process that works on a project's board.
type Server struct {
	Owner     string    `json:"owner"`
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	Since     time.Time `json:"since"`
	Heartbeat time.Time `json:"heartbeat"`
	Dead      bool      `json:"dead,omitempty"`
	Note      string    `json:"note,omitempty"` // why it claims nothing, in words
}

// Leader is the process that does what one of all is to do, such as polling a
// tracker.
type Leader struct {
	Name      string    `json:"name"`
	Owner     string    `json:"owner"` // "" = it was given back, or nobody ever did it
	PID       int       `json:"pid"`
	Host      string    `json:"host"`
	Epoch     int64     `json:"epoch"` // counts the leaders; each has a higher one than those before
	Heartbeat time.Time `json:"heartbeat"`
	Dead      bool      `json:"dead,omitempty"` // known not to run any more, or silent for too long
}
