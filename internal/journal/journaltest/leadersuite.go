package journaltest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"forge/internal/journal"
	"forge/internal/work"
)

// Leaders is the part of a journal that says which process does what one of all is
// to do. *journal.Store is one.
type Leaders interface {
	Leader(ctx context.Context, name string) (work.Leader, error)
	Lead(ctx context.Context, owner journal.Owner, seen work.Leader) (work.Leader, error)
	StopLeading(ctx context.Context, l work.Leader) error
}

// RunLeaders runs the suite of leaders; open makes an empty one for each test.
func RunLeaders(t *testing.T, open func(t *testing.T) Leaders) {
	for name, test := range map[string]func(*testing.T, Leaders){
		"taken, kept, given back": leaderTaken,
		"taken over":              leaderTakenOver,
		"one of many":             leaderOfMany,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// leads reads who leads, who has to be owner, by an epoch.
func leads(t *testing.T, l Leaders, owner string, epoch int64) work.Leader {
	t.Helper()
	got, err := l.Leader(t.Context(), "poll")
	if err != nil || got.Owner != owner || got.Epoch != epoch || got.Name != "poll" {
		t.Fatalf("leads: %+v, %v; want %q with epoch %d", got, err, owner, epoch)
	}
	return got
}

func leaderTaken(t *testing.T, l Leaders) {
	nobody := leads(t, l, "", 0)
	mine, err := l.Lead(t.Context(), by("one"), nobody)
	if err != nil || mine.Epoch != 1 {
		t.Fatalf("taken: %+v, %v", mine, err)
	}
	if _, err := l.Lead(t.Context(), by("two"), nobody); !errors.Is(err, work.ErrStale) {
		t.Errorf("taken a second time: %v, want %v", err, work.ErrStale)
	}
	seen := leads(t, l, "one", 1)
	if seen.Dead {
		t.Error("who has just begun counts as dead")
	}
	kept, err := l.Lead(t.Context(), by("one"), seen)
	if err != nil || kept.Epoch != 1 || kept.Heartbeat.Before(mine.Heartbeat) {
		t.Errorf("kept: %+v, %v", kept, err)
	}
	if err := l.StopLeading(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	// Whoever comes next has a number of its own, and what was given back is gone.
	if _, err := l.Lead(t.Context(), by("one"), kept); !errors.Is(err, work.ErrStale) {
		t.Errorf("kept after it was given back: %v, want %v", err, work.ErrStale)
	}
	if _, err := l.Lead(t.Context(), by("two"), leads(t, l, "", 1)); err != nil {
		t.Fatal(err)
	}
	leads(t, l, "two", 2)
}

func leaderTakenOver(t *testing.T, l Leaders) {
	mine, err := l.Lead(t.Context(), by("one"), work.Leader{Name: "poll"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lead(t.Context(), by("two"), mine); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Lead(t.Context(), by("one"), mine); !errors.Is(err, work.ErrStale) {
		t.Errorf("kept by who lost it: %v, want %v", err, work.ErrStale)
	}
	if err := l.StopLeading(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	leads(t, l, "two", 2) // what one gave back was not its own any more
	if other, err := l.Leader(t.Context(), "another"); err != nil || other.Epoch != 0 {
		t.Errorf("of another name: %+v, %v", other, err)
	}
}

func leaderOfMany(t *testing.T, l Leaders) {
	var all sync.WaitGroup
	won := make(chan work.Leader, 8)
	for n := range cap(won) {
		all.Go(func() {
			got, err := l.Lead(t.Context(), by(fmt.Sprint(n)), work.Leader{Name: "poll"})
			if err == nil {
				won <- got
			} else if !errors.Is(err, work.ErrStale) {
				t.Errorf("%d: %v", n, err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d lead, want 1", len(won))
	}
	leads(t, l, (<-won).Owner, 1)
}

// MemoryLeaders is one in memory. Its zero value is empty.
type MemoryLeaders struct {
	// Now is the clock of heartbeats; nil = this machine's.
	Now  func() time.Time
	Dead map[string]bool // owners that are known not to run any more

	mu  sync.Mutex
	all map[string]work.Leader
}

// Leader is as of Leaders.
func (m *MemoryLeaders) Leader(_ context.Context, name string) (work.Leader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.all[name]
	l.Name, l.Dead = name, l.Owner != "" && m.Dead[l.Owner]
	return l, nil
}

// Lead is as of Leaders.
func (m *MemoryLeaders) Lead(_ context.Context, owner journal.Owner, seen work.Leader) (work.Leader, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	if is := m.all[seen.Name]; is.Epoch != seen.Epoch || is.Owner != seen.Owner {
		return work.Leader{}, work.ErrStale
	}
	l := work.Leader{Name: seen.Name, Epoch: seen.Epoch, Owner: owner.ID, PID: owner.PID, Host: owner.Host, Heartbeat: now()}
	if seen.Owner != owner.ID {
		l.Epoch++
	}
	if m.all == nil {
		m.all = map[string]work.Leader{}
	}
	m.all[seen.Name] = l
	return l, nil
}

// LeadAs is Lead for an owner of which only the name matters.
func (m *MemoryLeaders) LeadAs(ctx context.Context, owner string, seen work.Leader) (work.Leader, error) {
	return m.Lead(ctx, journal.Owner{ID: owner}, seen)
}

// StopLeading is as of Leaders.
func (m *MemoryLeaders) StopLeading(_ context.Context, l work.Leader) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if is := m.all[l.Name]; is.Epoch == l.Epoch && is.Owner == l.Owner {
		is.Owner = ""
		m.all[l.Name] = is
	}
	return nil
}
