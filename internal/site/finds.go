package site

import (
	"context"
	"sync"
	"time"

	pages "forge/factory/web"
	"forge/internal/lookup"
	"forge/internal/search"
)

const (
	// freshWait is how long an answer waits for what is new to be read.
	freshWait = 3 * time.Second
	// gatherTime bounds one reading of a project.
	gatherTime = 10 * time.Minute
)

// seeker reads what is new in a project when somebody asks, one at a time.
type seeker struct {
	mu      sync.Mutex
	over    chan struct{} // closed when the reading that is under way has ended
	err     error         // of the last one
	filling bool          // vectors are being made of what was read
	stops   [2]func()     // end the last reading and the last making; nil = there was none
	ended   bool          // none is begun any more
	all     sync.WaitGroup
}

// end ends the reading that is under way, and returns when nothing is read any more.
func (s *seeker) end() {
	s.mu.Lock()
	s.ended = true
	for _, stop := range s.stops {
		if stop != nil {
			stop()
		}
	}
	s.mu.Unlock()
	s.all.Wait()
}

// finds looks for words in a project.
type finds struct{ *view }

func (s finds) Find(ctx context.Context, q pages.Sought) (found search.Found, err error) {
	over, partly := s.gather(context.WithoutCancel(ctx)), false
	select {
	case <-over:
	case <-ctx.Done():
		return found, ctx.Err()
	case <-time.After(freshWait):
		partly = true
	}
	s.find.mu.Lock()
	failed := s.find.err
	s.find.mu.Unlock()
	f, err := lookup.Open(ctx, s.p)
	if err != nil {
		return found, err
	}
	defer f.Close()
	found, err = f.Find(ctx, q.Said, lookup.Within{Run: q.Run, Phase: q.Phase}, q.Limit)
	if err == nil && !partly {
		err = failed
	}
	found.Partly = partly
	return found, forPages(err)
}

// gather begins a reading, unless one is under way, and says when it ends.
func (s finds) gather(ctx context.Context) (over chan struct{}) {
	s.find.mu.Lock()
	defer s.find.mu.Unlock()
	if s.find.over != nil {
		return s.find.over
	}
	over = make(chan struct{})
	if s.find.ended {
		close(over)
		return over
	}
	s.find.over = over
	reading, endReading := context.WithCancel(ctx)
	s.find.stops[0] = endReading
	s.find.all.Go(func() {
		defer endReading()
		err := s.readNew(reading)
		filling, endFilling := context.WithCancel(ctx)
		defer endFilling()
		s.find.mu.Lock()
		s.find.err, s.find.over = err, nil
		fills := err == nil && !s.find.filling && !s.find.ended
		if fills {
			s.find.filling, s.find.stops[1] = true, endFilling
		}
		s.find.mu.Unlock()
		close(over)
		if fills {
			s.fill(filling)
		}
	})
	return over
}

// fill has vectors made of what was read; no question waits for it.
func (s finds) fill(ctx context.Context) {
	defer func() {
		s.find.mu.Lock()
		defer s.find.mu.Unlock()
		s.find.filling = false
	}()
	f, err := lookup.Open(ctx, s.p)
	if err != nil {
		s.p.Log.Warn("open the search index", "err", err)
		return
	}
	defer f.Close()
	f.Fill(ctx)
}

func (s finds) readNew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gatherTime)
	defer cancel()
	f, err := lookup.Open(ctx, s.p)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Gather(ctx)
	return err
}
