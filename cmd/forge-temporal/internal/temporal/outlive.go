package temporal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"forge/internal/engine"
	"forge/internal/work"
)

// An effect outlives an outage of the server. That a sign of life cannot be sent says
// nothing about the effect, so it goes on; the server, when it is back, holds the
// effect for lost and has asked what it left, and is told what it comes to.

// Beats tells the server that an activity is alive; client.Client does.
type Beats interface {
	RecordActivityHeartbeat(ctx context.Context, taskToken []byte, details ...any) error
}

var _ Beats = client.Client(nil)

// mostPast is how many effects are kept that came to a result: the server may not have
// heard of it.
const mostPast = 64

// underway are the effects that this process carries out, and what the last ones came
// to, by mark. Whoever finds nothing here looks for what was left.
type underway struct {
	mu   sync.Mutex
	of   map[string]*doing
	past []string
}

// doing is one effect that is carried out, or was.
type doing struct {
	end  context.CancelCauseFunc // ends the effect, with the cause
	over chan struct{}           // closed when it came to done and err
	done Done
	err  error

	mu       sync.Mutex
	replaced chan struct{} // closed when another activity attends to it
	note     *note         // by which other processes ask for it; nil = they cannot
}

// begin notes an effect, whose context is ctx.
func (u *underway) begin(ctx context.Context, mark string) (context.Context, *doing) {
	ctx, end := context.WithCancelCause(context.WithoutCancel(ctx))
	d := &doing{end: end, over: make(chan struct{})}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.of == nil {
		u.of = map[string]*doing{}
	}
	u.of[mark] = d
	return ctx, d
}

// ended notes what an effect came to.
func (u *underway) ended(mark string, d *doing, done Done, err error) {
	d.done, d.err = done, err
	close(d.over)
	d.end(nil)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.past = append(u.past, mark); len(u.past) > mostPast {
		delete(u.of, u.past[0])
		u.past = slices.Delete(u.past, 0, 1)
	}
}

// find returns the effect of a mark, nil = this process knows none.
func (u *underway) find(mark string) *doing {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.of[mark]
}

// endAll ends every effect that goes on, without a cause.
func (u *underway) endAll() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, d := range u.of {
		d.end(nil)
	}
}

// attend makes the caller the one that answers for the effect, until replaced.
func (d *doing) attend() (replaced <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.replaced != nil {
		close(d.replaced)
	}
	d.replaced = make(chan struct{})
	return d.replaced
}

// noted says by what note other processes ask for the effect.
func (d *doing) noted(n *note) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note = n
}

// asked is when another process last asked for it.
func (d *doing) asked() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.note.asked()
}

// attended answers for an effect by the activity of ctx until it is over, or another
// activity does so; an effect that is to end is ended with the cause that its run has
// for that. Where that cannot be learned, there is none.
func (a *Activities) attended(ctx context.Context, d *doing, id work.CommandID, every, patience time.Duration) {
	if a.wanted(ctx, d, every, patience) {
		return
	}
	d.end(a.cause(context.WithoutCancel(ctx), id))
}

// cameTo is what an effect comes to that this host carries out, or has; nil = nobody
// says. It is waited for, unless it is to end.
func (a *Activities) cameTo(ctx context.Context, notes string, in EndInput, left engine.Attempt) *Done {
	if d := a.under.find(left.Mark); d != nil {
		if in.Stop {
			d.end(a.cause(context.WithoutCancel(ctx), left.Command))
		}
		a.attended(ctx, d, left.Command, in.Beat, in.Patience)
		<-d.over
		if d.err != nil {
			return nil
		}
		return &d.done
	}
	// Another process may.
	if in.Stop {
		return nil
	}
	other := &doing{over: make(chan struct{})}
	enough := make(chan struct{})
	var done Done
	var ok bool
	go func() {
		defer close(other.over)
		done, ok, _ = noteOf(notes, left.Mark, in.Beat, enough) // what cannot be read says nothing
	}()
	a.wanted(ctx, other, in.Beat, in.Patience)
	close(enough)
	<-other.over
	if !ok {
		return nil
	}
	return &done
}

// wanted says when an effect is over or somebody else's, and is false where it is to
// end before.
func (a *Activities) wanted(ctx context.Context, d *doing, every, patience time.Duration) bool {
	every = cmp.Or(every, Usual().Beat)
	tick := time.NewTicker(beatEvery(every))
	defer tick.Stop()
	replaced := d.attend()
	heard := time.Now()
	for {
		switch said := judge(a.beat(ctx, every)); {
		case said == saysEnd, said == saysUnknown && time.Since(heard) < every*9/10:
			return false // the run is over, or does not want the effect any more
		case said == saysUnknown:
			// The server heard nothing for so long that it holds the effect for lost. Then
			// it asks this host what was left: this process, or another.
			for since := time.Now(); time.Since(since) < max(patience, every); {
				select {
				case <-d.over:
					return true
				case <-replaced:
					return true
				case <-ctx.Done():
					return false
				case <-tick.C:
				}
				if at := d.asked(); at.After(since) {
					since = at
				}
			}
			return false
		case said == saysGoOn:
			heard = time.Now()
		}
		select {
		case <-tick.C:
		case <-d.over:
			return true
		case <-replaced:
			return true
		case <-ctx.Done():
			return false
		}
	}
}

// alive says that the activity of ctx is, until the returned function is called.
func (a *Activities) alive(ctx context.Context, every time.Duration) (stop func()) {
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(beatEvery(every))
		defer tick.Stop()
		for {
			_ = a.beat(ctx, every) // it takes no longer than the server may wait
			select {
			case <-tick.C:
			case <-over:
				return
			}
		}
	}()
	return func() { close(over); <-gone }
}

// beatEvery is the pause between signs of life of which the server wants one in so long.
func beatEvery(longest time.Duration) time.Duration {
	return min(max(cmp.Or(longest, Usual().Beat)/5, 100*time.Millisecond), time.Second)
}

// beat is one sign of life; it names this host, should it be the last.
func (a *Activities) beat(ctx context.Context, every time.Duration) error {
	if a.Beats == nil {
		activity.RecordHeartbeat(ctx, a.Host)
		return nil
	}
	token := activity.GetInfo(ctx).TaskToken
	ctx, cancel := context.WithTimeout(ctx, max(every/2, time.Second))
	defer cancel()
	return a.Beats.RecordActivityHeartbeat(ctx, token, a.Host)
}

// says is what the server answers to a sign of life.
type says int

const (
	saysNothing says = iota // nobody knows what it would
	saysGoOn
	saysEnd
	saysUnknown // it knows of no such effect
)

func judge(err error) says {
	var canceled *temporal.CanceledError
	var unknown *serviceerror.NotFound
	var none *serviceerror.NamespaceNotFound
	switch {
	case err == nil:
		return saysGoOn
	case errors.As(err, &canceled), errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset):
		return saysEnd
	case errors.As(err, &unknown), errors.As(err, &none):
		return saysUnknown
	}
	return saysNothing
}
