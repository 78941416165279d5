package tracker

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"forge/internal/work"
)

// What one poll brings is claimed in the order in which it matters, not in the order
// in which it was read: all of it is read first, and then put onto the board together,
// the most urgent first. Until the last of it is there, Ask has no answer, and nothing
// of the tracker is claimed without one.

// read is an issue that was read, and is put onto the board with others.
type read struct {
	number int64
	of     Reading
}

// comesUp says that a reading may bring an issue up for work: it is not on the board,
// or waits in the backlog. All others are judged at once, since what they lead to may
// be that somebody has to stop.
func (s *Sync) comesUp(ctx context.Context, number int64) (bool, error) {
	row, known, err := s.Store.TrackerIssue(ctx, s.Host.Name(), number)
	if err != nil || !known || row.Issue == 0 {
		return err == nil, err
	}
	if row.Project != s.Board.Project {
		return false, nil
	}
	i, err := s.Store.Issue(ctx, row.Project, row.Issue)
	return i.Column == work.ColumnBacklog, err
}

// byUrgency puts the most urgent first; what is as urgent stays as it was told.
func byUrgency(all []read) {
	urgency := func(p work.Priority) int {
		return slices.Index(work.Priorities(), cmp.Or(p, work.PriorityNormal))
	}
	slices.SortStableFunc(all, func(a, b read) int {
		return cmp.Compare(urgency(b.of.Priority), urgency(a.of.Priority))
	})
}

// gate is shut while a poll is put onto the board.
type gate struct {
	mu   sync.Mutex
	shut int           // by how many
	over chan struct{} // closed when nobody shuts it any more
}

// close shuts it until what it returns is called, once.
func (g *gate) close() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.shut++; g.shut == 1 {
		g.over = make(chan struct{})
	}
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.shut--; g.shut == 0 {
			close(g.over)
		}
	}
}

// pass waits until it is open, or ctx ends. Who waited in vain has no time left
// to ask, and so gets no answer.
func (g *gate) pass(ctx context.Context) {
	g.mu.Lock()
	over, shut := g.over, g.shut > 0
	g.mu.Unlock()
	if !shut {
		return
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
}

// Begin has Ask wait until what it returns is called, after the first round: what came
// up while nobody was here is claimed in its order as well.
func (s *Sync) Begin() (begun func()) { return s.coming.close() }
