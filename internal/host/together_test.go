package host

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A few at a time; the first error in their order; after it nothing more begins.
func TestTogether(t *testing.T) {
	if err := Together(); err != nil {
		t.Errorf("nothing: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		var now, most, done atomic.Int64
		all := make([]func() error, 10)
		for i := range all {
			all[i] = func() error {
				if n := now.Add(1); n > most.Load() {
					most.Store(n)
				}
				time.Sleep(time.Second) // all that may be under way are, by the bubble's clock
				now.Add(-1)
				done.Add(1)
				return nil
			}
		}
		if err := Together(all...); err != nil || done.Load() != 10 || most.Load() != mostAtOnce {
			t.Errorf("%v: %d done, %d at a time", err, done.Load(), most.Load())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		first, second := errors.New("first"), errors.New("second")
		begun := false
		err := Together(
			func() error { time.Sleep(2 * time.Second); return first },
			func() error { return nil },
			func() error { time.Sleep(time.Second); return second },
			func() error { time.Sleep(3 * time.Second); return nil },
			func() error { time.Sleep(4 * time.Second); return nil },
			func() error { begun = true; return nil },
		)
		if !errors.Is(err, first) || begun {
			t.Errorf("%v, the last was begun: %t", err, begun)
		}
	})
}
