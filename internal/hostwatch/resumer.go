package hostwatch

import (
	"context"
	"errors"
	"sync"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
)

// Resumer goes on with runs that a review answered; nil goes on with none.
type Resumer struct {
	w      *Watch
	resume func(ctx context.Context, run string) error
	all    sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool
	last map[string]int64  // run → the newest answer when it was gone on with last
	said map[string]string // run → why it could not be gone on with
}

// NewResumer goes on with the runs of a watch by resume, which several
// goroutines call, each for another run. It returns when the run has stopped,
// with an error where it could not go on.
func NewResumer(w *Watch, resume func(ctx context.Context, run string) error) *Resumer {
	return &Resumer{w: w, resume: resume, busy: map[string]bool{}, last: map[string]int64{}, said: map[string]string{}}
}

// Start goes on with every run that was answered by a review, also by one that
// somebody read before, and that nobody drives. What could not go on with an
// answer is tried again when the host was polled.
func (r *Resumer) Start(ctx context.Context, polled bool) {
	if r == nil {
		return
	}
	runs, err := r.answered(ctx)
	if err != nil && ctx.Err() == nil {
		r.w.p.Log.Warn("find the runs that were answered", "err", err)
	}
	for run, newest := range runs {
		r.mu.Lock()
		wait := r.busy[run] || !polled && r.last[run] == newest
		if !wait {
			r.busy[run], r.last[run] = true, newest
		}
		r.mu.Unlock()
		if !wait {
			r.all.Go(func() { r.goOn(ctx, run) })
		}
	}
}

func (r *Resumer) goOn(ctx context.Context, run string) {
	err := r.resume(ctx, run)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.busy, run)
	switch {
	case err == nil, errors.Is(err, journal.ErrLease), ctx.Err() != nil:
		delete(r.said, run)
	case r.said[run] != err.Error():
		r.said[run] = err.Error()
		r.w.p.Log.Warn("the run is answered, and cannot go on; it is tried again", "run", run, "err", err)
	}
	r.w.hints.Poke() // another answer may have come too late for this process
}

// answered are the runs with reviews that nobody has heard, and the newest of
// these.
func (r *Resumer) answered(ctx context.Context) (map[string]int64, error) {
	rows, err := r.w.p.Journal.Unfinished(ctx)
	out := map[string]int64{}
	for _, row := range rows {
		if project.Driven(row) || row.Issue != 0 || row.Events == 0 {
			continue
		}
		inbox, inboxErr := r.w.p.Journal.Inbox(ctx, row.ID)
		if inboxErr != nil {
			return out, inboxErr
		}
		for _, in := range inbox {
			if in.Answer.Door == pullrequest.Channel {
				out[row.ID] = in.ID
			}
		}
	}
	return out, err
}

// Wait returns when every run that it went on with has ended.
func (r *Resumer) Wait() {
	if r != nil {
		r.all.Wait()
	}
}
