package journal

import (
	"errors"
	"testing"
	"time"
)

// Processes of one owner share a lease; another owner's is refused to them, and
// theirs to it.
func TestJoinRun(t *testing.T) {
	ctx := t.Context()
	s := openIn(t, t.TempDir())
	engine := Owner{ID: "engine/r", Host: "engine"}
	made, err := s.CreateRun(ctx, "r", Owner{ID: "a", Host: "elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.JoinRun(ctx, "r", engine); !errors.Is(err, ErrLease) {
		t.Fatalf("joined what another holds: %v", err)
	}
	if err := made.Release(ctx); err != nil {
		t.Fatal(err)
	}
	first, err := s.JoinRun(ctx, "r", engine)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.JoinRun(ctx, "r", engine)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*Lease{first, second} {
		if err := l.Heartbeat(ctx); err != nil {
			t.Errorf("one of two that joined: %v", err)
		}
	}
	if first.epoch != second.epoch {
		t.Errorf("they have epochs %d and %d", first.epoch, second.epoch)
	}
	if _, err := s.AcquireRun(ctx, "r", Owner{ID: "b", Host: "elsewhere"}); !errors.Is(err, ErrLease) {
		t.Errorf("taken from those who joined: %v", err)
	}
	if _, err := s.JoinRun(ctx, "none", engine); !errors.Is(err, ErrNoRun) {
		t.Errorf("joined a run that is not there: %v", err)
	}
}

// A sign of life keeps the lease of whoever holds it, and takes none.
func TestKeepJoined(t *testing.T) {
	ctx := t.Context()
	now := time.Now()
	s := openIn(t, t.TempDir(), WithClock(func() time.Time { return now }))
	engine := Owner{ID: "engine/r", Host: "engine"}
	made, err := s.CreateRun(ctx, "r", engine)
	if err != nil {
		t.Fatal(err)
	}
	other := Owner{ID: "b", Host: "elsewhere"}
	for range 5 { // longer than a lease lives by itself
		now = now.Add(LeaseTimeout * 2 / 3)
		if kept, err := s.KeepJoined(ctx, "r", other); kept || err != nil {
			t.Errorf("kept by somebody who has it not: %v, %v", kept, err)
		}
		if kept, err := s.KeepJoined(ctx, "r", engine); !kept || err != nil {
			t.Errorf("not kept by who has it: %v, %v", kept, err)
		}
		if _, err := s.AcquireRun(ctx, "r", other); !errors.Is(err, ErrLease) {
			t.Fatalf("taken from who says that it lives: %v", err)
		}
	}
	if err := made.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if kept, err := s.KeepJoined(ctx, "r", engine); kept || err != nil {
		t.Errorf("kept when it was given back: %v, %v", kept, err)
	}
	if _, err := s.AcquireRun(ctx, "r", other); err != nil {
		t.Errorf("what was given back is not to be had: %v", err)
	}
}
