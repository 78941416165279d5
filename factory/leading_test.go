package factory

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

func TestNextOfLeader(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		seen work.Leader
		want LeaderStep
	}{
		"nobody ever":               {work.Leader{}, LeaderTake},
		"given back":                {work.Leader{Epoch: 4, Heartbeat: now}, LeaderTake},
		"me":                        {work.Leader{Owner: "me", Heartbeat: now.Add(-time.Hour)}, LeaderKeep},
		"another":                   {work.Leader{Owner: "it", Heartbeat: now}, LeaderWait},
		"another, just in time":     {work.Leader{Owner: "it", Heartbeat: now.Add(-LeaseTimeout)}, LeaderWait},
		"another, silent":           {work.Leader{Owner: "it", Heartbeat: now.Add(-LeaseTimeout - 1)}, LeaderTake},
		"another, known dead":       {work.Leader{Owner: "it", Heartbeat: now, Dead: true}, LeaderTake},
		"a clock that was set back": {work.Leader{Owner: "it", Heartbeat: now.Add(time.Hour)}, LeaderWait},
	} {
		if got := NextOfLeader(c.seen, "me", now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// led is a process that does what one of all does. Cut off, it reaches no store:
// its calls hang, as they do while a server is away.
type led struct {
	*journaltest.MemoryLeaders
	me  string
	cut atomic.Bool
}

func (l *led) reach(ctx context.Context) error {
	for l.cut.Load() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

func (l *led) Leader(ctx context.Context, name string) (work.Leader, error) {
	if err := l.reach(ctx); err != nil {
		return work.Leader{}, err
	}
	return l.MemoryLeaders.Leader(ctx, name)
}

func (l *led) Lead(ctx context.Context, seen work.Leader) (work.Leader, error) {
	if err := l.reach(ctx); err != nil {
		return work.Leader{}, err
	}
	return l.MemoryLeaders.LeadAs(ctx, l.me, seen)
}

// leadersOf are processes that count how many of them do it at a time, and which
// did it last.
type leadersOf struct {
	*testing.T
	memory journaltest.MemoryLeaders
	doing  atomic.Int32
	last   atomic.Value
	why    atomic.Value
}

func (o *leadersOf) start(me string) (*led, func()) {
	l := &led{MemoryLeaders: &o.memory, me: me}
	ctx, stop := context.WithCancel(o.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		(&Leading{Leaders: l, Name: "poll", Me: me, Now: time.Now, Say: func(string) {}}).Run(ctx, func(ctx context.Context) {
			if o.doing.Add(1) > 1 {
				o.Error("two do it at a time")
			}
			o.last.Store(me)
			<-ctx.Done()
			o.why.Store(errors.Is(context.Cause(ctx), ErrNotLeading))
			time.Sleep(5 * time.Second) // what it is in the middle of
			o.doing.Add(-1)
		})
	}()
	return l, func() { stop(); <-over }
}

func (o *leadersOf) does(me string, after time.Duration) {
	o.Helper()
	time.Sleep(after)
	if got := o.last.Load(); got != me || o.doing.Load() != 1 {
		o.Errorf("%v does it, and %d do; want %s", got, o.doing.Load(), me)
	}
}

// One process does it; another takes it over when it gives it back, dies, or does
// not reach the store; never do two at a time.
func TestLeading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &leadersOf{T: t}
		one, stopOne := o.start("one")
		o.does("one", time.Second)
		_, stopTwo := o.start("two")
		o.does("one", time.Hour)

		one.cut.Store(true)
		o.does("two", LeaseTimeout+2*leadLook)
		if o.why.Load() != true {
			t.Error("cut off from the store, who did it was not told why it ends")
		}
		one.cut.Store(false)
		o.does("two", time.Hour) // who lost it does not take it back

		stopTwo()
		o.does("one", 2*leadLook)
		if o.why.Load() != false {
			t.Error("who was stopped was told that it lost it")
		}
		stopOne()
	})
}
