package machine

import (
	"errors"
	"fmt"
	"testing"

	"forge/internal/journal"
)

// What waiting mends is waited for; what it does not mend ends the run, resumable.
func TestAway(t *testing.T) {
	l := &Places{}
	for _, err := range []error{journal.ErrLocked, journal.ErrServer} {
		if !l.Away(fmt.Errorf("append: %w", err)) {
			t.Errorf("%v ends the run", err)
		}
	}
	for _, err := range []error{journal.ErrFull, journal.ErrReadOnly, journal.ErrNewer, journal.ErrNoRun, errors.New("other")} {
		if l.Away(err) {
			t.Errorf("%v is waited for", err)
		}
	}
}
