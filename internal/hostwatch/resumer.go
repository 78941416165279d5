package hostwatch

import (
	"context"
	"errors"
	"maps"
	"sync"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/orchestrator"
)

// Resumer goes on with runs that a review answered, and with those whose pull requests in
// several repositories stand otherwise than when they were held for them; nil goes on
// with none.
type Resumer struct {
	w      *Watch
	resume func(ctx context.Context, run string) error
	// Moved says that a run of several repositories is held for pull requests one of
	// which changed since; nil = nobody looks.
	Moved func(ctx context.Context, s *orchestrator.State) (bool, error)
	all   sync.WaitGroup

	mu      sync.Mutex
	busy    map[string]bool
	looking sync.Mutex
	held    map[string]seenRun // those that may be held so; they are read one look at a time
	last    map[string]int64   // run → the newest answer when it was gone on with last
	said    map[string]string  // run → why it could not be gone on with
}

// NewResumer goes on with the runs of a watch by resume, which several
// goroutines call, each for another run. It returns when the run has stopped,
// with an error where it could not go on.
func NewResumer(w *Watch, resume func(ctx context.Context, run string) error) *Resumer {
	return &Resumer{w: w, resume: resume, busy: map[string]bool{}, held: map[string]seenRun{}, last: map[string]int64{}, said: map[string]string{}}
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
	if polled && r.Moved != nil {
		r.all.Go(func() { r.look(ctx) })
	}
}

// look goes on with runs whose pull requests in several repositories changed. What a look
// came to stands in the journal then, so that it is no news to the next one.
func (r *Resumer) look(ctx context.Context) {
	if !r.looking.TryLock() {
		return // the look before this one takes its time
	}
	defer r.looking.Unlock()
	rows, err := r.w.p.Journal.Unfinished(ctx)
	if err != nil && ctx.Err() == nil {
		r.w.p.Log.Warn("find the runs that are held for pull requests", "err", err)
	}
	there := map[string]bool{}
	for _, row := range rows {
		there[row.ID] = true
		if project.Driven(row) || row.Issue != 0 || row.Events == 0 {
			continue
		}
		if was, known := r.held[row.ID]; !known || was.events != row.Events {
			now := seenRun{events: row.Events}
			if s, _, err := r.w.p.LoadRun(ctx, row.ID); err == nil && len(s.HeldPulls()) > 0 {
				now.state = s
			}
			r.held[row.ID] = now
		}
		s := r.held[row.ID].state
		if s == nil {
			continue
		}
		moved, err := r.Moved(ctx, s)
		if err != nil && ctx.Err() == nil {
			r.w.p.Log.Warn("look at the pull requests of a run", "run", row.ID, "err", err)
		}
		r.mu.Lock()
		goesOn := moved && err == nil && !r.busy[row.ID]
		if goesOn {
			r.busy[row.ID] = true
		}
		r.mu.Unlock()
		if goesOn {
			r.goOn(ctx, row.ID)
		}
	}
	if err == nil {
		maps.DeleteFunc(r.held, func(run string, _ seenRun) bool { return !there[run] })
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
		r.w.p.Log.Warn("the run has news, and cannot go on; it is tried again", "run", run, "err", err)
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
