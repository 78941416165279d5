package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"forge/internal/shortage"
)

// Crew works on the boards of a factory's projects. More of them may join until
// all are over.
type Crew struct {
	mu      sync.Mutex
	workers All
	errs    []error
	running int           // one more until the factory's first projects have joined
	joined  chan struct{} // closed when one has
	over    chan struct{}
	beside  sync.WaitGroup // what runs for as long as the crew does

	stop  func()
	work  func(w *Worker) error          // runs the loop of a worker to its end
	under func(do func(context.Context)) // runs what ends with the crew
	ended <-chan struct{}                // closed when the crew is stopped
}

// NewCrew is a crew that ends when ctx does, or when each of its loops has. The
// caller stops it.
func NewCrew(ctx context.Context, once bool) *Crew {
	ctx, stop := context.WithCancel(ctx)
	c := &Crew{running: 1, joined: make(chan struct{}), over: make(chan struct{}), stop: stop, ended: ctx.Done()}
	c.under = func(do func(context.Context)) { do(ctx) }
	c.work = func(w *Worker) error {
		w.Log.Info("works on the board", "project", w.Project, "checkout", w.Base.RepoRoot)
		for {
			loop := w.Loop()
			loop.Once = once
			_, err := loop.Run(ctx)
			if why := shortage.Of(err); why != "" && !once && ctx.Err() == nil {
				w.Log.Warn("stopped for now, and goes on once there is room: "+why, "project", w.Project)
				c.waits(ctx)
				continue
			}
			if err != nil {
				err = fmt.Errorf("work on the board of %s: %w", w.Project, err)
				stop() // one broken journal is reason to look at all of it
			}
			return err
		}
	}
	return c
}

// shortEvery is how often a board is tried again that could not be written for lack of
// room, memory or open files.
const shortEvery = 5 * time.Second

// waits lets that time pass, or the crew end.
func (c *Crew) waits(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(shortEvery):
	}
}

// Stop ends the crew; Serve returns when all runs have stopped.
func (c *Crew) Stop() { c.stop() }

// Join has a board worked on, and what is watched for it and is to run beside it; false where the
// factory is ending.
func (c *Crew) Join(w *Worker, beside ...func(context.Context)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == 0 {
		return false
	}
	if len(c.workers) == 0 {
		close(c.joined)
	}
	c.workers = append(c.workers, w)
	c.running++
	for _, do := range slices.Concat(w.beside, beside) {
		c.beside.Go(func() { c.under(do) })
	}
	go func() { c.left(c.work(w)) }()
	return true
}

// left counts one that is over.
func (c *Crew) left(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.errs = append(c.errs, err)
	if c.running--; c.running == 0 {
		close(c.over)
	}
}

// All are the workers that joined.
func (c *Crew) All() All {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append(All{}, c.workers...)
}

// Serve works on these boards and those that join, each of which goes on from its
// rows, until the crew is stopped, all are drained or, with once, nothing is left
// to do. Of no boards it waits for the first that joins. All runs have stopped when it returns, and can be resumed.
func (c *Crew) Serve(workers All) error {
	for _, w := range workers {
		c.Join(w)
	}
	if len(workers) == 0 {
		select {
		case <-c.joined:
		case <-c.ended:
		}
	}
	c.left(nil)
	<-c.over
	c.stop()
	c.beside.Wait()
	return errors.Join(c.errs...)
}
