package symphony

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// continueAfter is the pause after an end that was no failure, failAfter the first one
// after a failure.
const (
	continueAfter = time.Second
	failAfter     = 10 * time.Second
)

// Retry is one more attempt at an issue, by itself.
type Retry struct {
	Attempt int // from 1
	Due     time.Time
	Why     string
}

// How is how an attempt ended that did not finish its issue.
type How string

// The ends.
const (
	Continues How = "continues" // its turns are used up, and the issue is still active
	Failed    How = "failed"
)

// Backoff is the pause before an attempt, after a failure.
func (s Settings) Backoff(attempt int) time.Duration {
	pause := failAfter
	for n := 1; n < attempt && pause < s.MaxBackoff; n++ {
		pause *= 2
	}
	return min(pause, s.MaxBackoff)
}

// Next is the attempt after one that ended so; past is how many there were in a row.
// ok is false where a person has to say that it goes on: the specification would try
// for ever, at whatever cost.
func (s Settings) Next(how How, past int, now time.Time, why string) (r Retry, ok bool) {
	r = Retry{Attempt: past + 1, Why: why}
	if r.Attempt > s.MaxAttempts {
		return r, false
	}
	pause := s.Backoff(r.Attempt)
	if how == Continues {
		pause = continueAfter
	}
	r.Due = now.Add(pause).UTC()
	return r, true
}

// retryWord begins the line of a retry on an issue's card. It is in the history of
// the board, so that it outlives every process.
const retryWord = "retry "

// Line is a retry as a card says it.
func (r Retry) Line() string {
	return fmt.Sprintf("%s%d at %s: %s", retryWord, r.Attempt, r.Due.UTC().Format(time.RFC3339), r.Why)
}

// ReadRetry reads such a line.
func ReadRetry(line string) (r Retry, ok bool) {
	rest, ok := strings.CutPrefix(line, retryWord)
	number, rest, cut := strings.Cut(rest, " at ")
	at, why, more := strings.Cut(rest, ": ")
	n, err := strconv.Atoi(number)
	due, bad := time.Parse(time.RFC3339, at)
	if !ok || !cut || !more || err != nil || bad != nil || n < 1 {
		return r, false
	}
	return Retry{n, due, why}, true
}

// Step is one line of an issue's history on the board.
type Step struct {
	Person bool   // made it
	Landed bool   // the issue was done then
	Reason string // that the card had from then on; "" = it did not change
}

// Attempts is how many attempts there were in a row that nobody but the factory
// asked for, and the last of them. steps are the newest first. A person's hand begins
// the count anew.
func Attempts(steps []Step) (past int, last Retry) {
	for _, s := range steps {
		if s.Person || s.Landed {
			return 0, Retry{}
		}
		if r, ok := ReadRetry(s.Reason); ok {
			return r.Attempt, r
		}
	}
	return 0, Retry{}
}
