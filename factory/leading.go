package factory

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"forge/internal/work"
)

// Of several processes that work on one board, one alone asks trackers and code
// hosts, looks at schedules and posts: its leader. What it does is safe without
// that, since each of its effects is decided by compare-and-set; it is done once so
// that nobody outside is asked as often as there are processes.

// LeaderStep is what a process does about something that one of all is to do.
type LeaderStep string

// The steps.
const (
	LeaderTake LeaderStep = "take" // nobody does it
	LeaderKeep LeaderStep = "keep" // it is this process
	LeaderWait LeaderStep = "wait" // another one does
)

// NextOfLeader decides that, for the process me. A sign of life in the future (a
// clock was set back) counts: when in doubt, nothing is taken over.
func NextOfLeader(seen work.Leader, me string, now time.Time) LeaderStep {
	switch {
	case seen.Owner == me:
		return LeaderKeep
	case seen.Owner == "", seen.Dead, now.Sub(seen.Heartbeat) > LeaseTimeout:
		return LeaderTake
	}
	return LeaderWait
}

const (
	// leadFor is how long after its last sign of life a leader goes on: it has
	// stopped well before anybody may take over, whatever it is in the middle of.
	leadFor = LeaseTimeout - 10*time.Second
	// leadLook is how often whoever waits looks.
	leadLook = 2 * time.Second
)

// ErrNotLeading is why what a leader does has ended where nobody stopped the
// process: another one may do it by now.
var ErrNotLeading = errors.New("another process may lead by now")

// Leaders keep who leads, for one process.
type Leaders interface {
	// Leader is who leads by name, with times by this machine's clock.
	Leader(ctx context.Context, name string) (work.Leader, error)
	// Lead takes what seen says, or keeps it; work.ErrStale if it is otherwise.
	Lead(ctx context.Context, seen work.Leader) (work.Leader, error)
	// StopLeading gives it back.
	StopLeading(ctx context.Context, l work.Leader) error
}

// Leading is what one process of all does.
type Leading struct {
	Leaders Leaders
	Name    string // of what is done
	Me      string // the owner that this process is
	Now     func() time.Time
	Say     func(what string) // tells people, in a line
}

// Run does all of do for as long as this process leads, each in a goroutine of its
// own, and waits for its turn again when it has lost it, until ctx ends. What is
// done has ended when Run returns, and has to stand being begun again.
func (l *Leading) Run(ctx context.Context, do ...func(context.Context)) {
	said := ""
	say := func(what string) {
		if what != said {
			said = what
			l.Say(what)
		}
	}
	for {
		began := time.Now()
		is, err := l.turn(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, work.ErrStale): // somebody was first: who, is read at the next look
		case err != nil:
			say("who does it is not known: " + err.Error())
		case is.Owner != l.Me:
			say("process " + strconv.Itoa(is.PID) + " on " + is.Host + " does it")
		default:
			if said != "" {
				say("this process does it now")
			}
			l.lead(ctx, is, began, do)
			if ctx.Err() == nil {
				say("this process does not do it any more: it could not say that it lives")
			}
		}
		if !pause(ctx, leadLook) {
			return
		}
	}
}

// turn is who leads now, which is this process where nobody else does.
func (l *Leading) turn(ctx context.Context) (work.Leader, error) {
	seen, err := l.Leaders.Leader(ctx, l.Name)
	if err != nil || NextOfLeader(seen, l.Me, l.Now()) == LeaderWait {
		return seen, err
	}
	return l.Leaders.Lead(ctx, seen)
}

// lead does all of do until ctx ends, or until it is not sure any more that nobody
// else does. It was at the earliest at began that this process said that it lives.
func (l *Leading) lead(ctx context.Context, is work.Leader, began time.Time, do []func(context.Context)) {
	doing, end := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	for _, one := range do {
		all.Go(func() { one(doing) })
	}

	// By this process's own time, whatever becomes of a clock: a sign of life that
	// cannot be given, for however long that takes, ends it in time.
	last := time.AfterFunc(leadFor-time.Since(began), func() { end(ErrNotLeading) })
	for pause(doing, keepEvery) {
		began = time.Now()
		kept, err := l.Leaders.Lead(doing, is)
		if errors.Is(err, work.ErrStale) {
			end(ErrNotLeading)
		} else if err == nil && last.Stop() {
			is = kept
			last.Reset(leadFor - time.Since(began))
		}
	}
	last.Stop()
	end(nil)
	all.Wait()
	if ctx.Err() != nil {
		// Whoever waits need not wait longer; at worst it does.
		over, done := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer done()
		_ = l.Leaders.StopLeading(over, is)
	}
}

// pause waits, and says whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}
