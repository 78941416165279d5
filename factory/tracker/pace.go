package tracker

import (
	"errors"
	"time"

	"forge/internal/work"
)

// longestWait is how long a tracker that fails is left alone at most, if it
// does not ask for longer.
const longestWait = 15 * time.Minute

// Wait is how long to wait before a tracker is asked again: poll after a round
// that went well, twice as long after each that failed in a row, and as long as
// the host asks for.
func Wait(poll time.Duration, failures int, err error) time.Duration {
	wait := poll
	for range min(failures, 20) {
		if wait *= 2; wait > longestWait {
			wait = max(poll, longestWait)
			break
		}
	}
	var t *work.HostTrouble
	if errors.As(err, &t) && t.After > wait {
		wait = t.After
	}
	return wait
}
