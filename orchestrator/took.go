package orchestrator

import (
	"time"

	"forge/internal/work"
)

// Took is when something began and how long it has taken so far, from the times
// of its events: the core has no clock.
type Took struct {
	Began time.Time     // of what goes on; zero = it does not
	Spent time.Duration // of what has ended
}

// At is how long it has taken at a moment.
func (t Took) At(now time.Time) time.Duration {
	if t.Began.IsZero() {
		return t.Spent
	}
	return t.Spent + max(now.Sub(t.Began), 0)
}

func (t *Took) begin(at time.Time) {
	if t.Began.IsZero() {
		t.Began = at
	}
}

func (t *Took) end(at time.Time) { *t = Took{Spent: t.At(at)} }

// time notes how long a process has driven the run, and how long a phase has been
// under way. What a process that died has spent after its last event is not
// known, and not counted.
func (s *State) clock(p *Phase, e work.Event) {
	switch e.Kind {
	case work.RunStarted:
		s.Time.begin(e.Time)
	case work.RunResumed:
		s.Time.Began = e.Time
		for _, ph := range s.Phases {
			if !ph.Time.Began.IsZero() {
				ph.Time.Began = e.Time
			}
		}
	case work.RunFinished:
		s.Time.end(e.Time)
		for _, ph := range s.Phases {
			if !ph.Time.Began.IsZero() {
				ph.Time.end(e.Time)
			}
		}
	case work.PhaseStarted, work.IterationStarted:
		if p != nil {
			p.Time.begin(e.Time)
		}
	case work.PhaseFinished:
		if p != nil {
			p.Time.end(e.Time)
		}
	}
}
