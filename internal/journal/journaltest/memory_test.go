package journaltest_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

// clock is a clock that a test moves.
type clock struct{ offset atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(c.offset.Load()))
}

func (c *clock) advance(d time.Duration) { c.offset.Add(int64(d)) }

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Subject[*journaltest.MemoryLease] {
		var c clock
		return journaltest.Subject[*journaltest.MemoryLease]{Journal: journaltest.NewMemory(c.now), Advance: c.advance}
	})
}

func TestStore(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Subject[*journal.Lease] {
		var c clock
		s, err := journal.Open(t.Context(), t.TempDir(), journal.WithClock(c.now))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return journaltest.Subject[*journal.Lease]{Journal: s, Advance: c.advance}
	})
}

func TestMemoryFaults(t *testing.T) {
	var c clock
	lost := errors.New("lost")
	for stage, want := range map[journaltest.Stage]int64{journaltest.BeforeCommit: 0, journaltest.AfterCommit: 1} {
		m := journaltest.NewMemory(c.now)
		m.Fault = func(at journaltest.Stage, run string, a journal.Append) error {
			if at == stage && run == "run" && len(a.Events) == 1 {
				return lost
			}
			return nil
		}
		l, err := m.CreateRun(t.Context(), "run", journal.Owner{ID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		a := journal.Append{
			Events: []work.Event{{V: work.EventVersion, Seq: 1, Run: "run", Kind: work.RunStarted, Time: c.now()}},
			Status: &journal.Status{Branch: "b"},
		}
		if err := m.Append(t.Context(), l, a); !errors.Is(err, lost) {
			t.Fatalf("stage %d: got %v", stage, err)
		}
		if seq, _, err := m.Head(t.Context(), "run"); err != nil || seq != want {
			t.Errorf("stage %d: head %d, %v, want %d", stage, seq, err, want)
		}
		if wrote := m.Status("run").Branch == "b"; wrote != (want == 1) {
			t.Errorf("stage %d: status written: %v", stage, wrote)
		}
	}
}
