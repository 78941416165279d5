package engine

import (
	"slices"
	"strings"

	"forge/internal/effect"
	"forge/internal/work"
	"forge/orchestrator"
)

// Going is an effect that is being carried out. End asks it to end, with the
// cause that it is told; it may be called more than once.
type Going struct {
	Command orchestrator.Command
	Mark    string
	Dropped bool // nobody waits for its result
	End     func(cause error)
}

// Underway is what of a run is being carried out, the oldest first: an engine that
// is replayed has to end things in the same order each time.
type Underway []*Going

// Drop takes a command out, whose effect has ended.
func (u *Underway) Drop(id work.CommandID) {
	if at := u.index(id); at >= 0 {
		*u = slices.Delete(*u, at, at+1)
	}
}

func (u Underway) index(id work.CommandID) int {
	return slices.IndexFunc(u, func(g *Going) bool { return g.Command.ID == id })
}

// EndAll asks everything to end.
func (u Underway) EndAll() {
	for _, g := range u {
		g.End(nil)
	}
}

// Next is a pending command that is neither under way nor among begun. Nothing of a
// phase begins before what was dropped of it has ended: both may use one folder.
func (u Underway) Next(s *orchestrator.State, begun map[work.CommandID]bool) (orchestrator.Command, bool) {
	ending := map[string]bool{}
	for _, g := range u {
		if g.Dropped {
			ending[g.Command.Phase] = true
		}
	}
	for _, c := range orchestrator.Pending(s) {
		if u.index(c.ID) < 0 && !begun[c.ID] && c.Step != orchestrator.StepWait && !(ending[c.Phase] && c.Phase != "") {
			return c, true
		}
	}
	return orchestrator.Command{}, false
}

// Follow ends what events of s, which was stopped by before until then, leave
// nobody to wait for.
func (u Underway) Follow(s *orchestrator.State, before *orchestrator.RunStoppingData, evs []work.Event) error {
	if stop := s.Stopping; before == nil && stop != nil && (stop.Outcome == work.RunCancelled || strings.HasPrefix(stop.Reason, orchestrator.StopShort)) {
		u.EndAll()
	}
	for _, e := range evs {
		switch e.Kind {
		case work.PhaseFinished, work.PhaseRewound, work.IterationFinished:
			u.endDropped(s, e.Phase)
		case work.TryStopped:
			u.endIteration(e.Phase)
		case work.RewindAsked:
			var d orchestrator.RewindAskedData
			if err := work.Decode(e, &d); err != nil {
				return err
			}
			// The work of the iteration is kept, and what it consumed is in the books.
			if d.Refused == "" {
				u.endIteration(e.Phase)
			}
		case work.PhaseTold:
			var d orchestrator.ToldData
			if err := work.Decode(e, &d); err != nil {
				return err
			}
			if d.Now && d.Refused == "" {
				u.endIteration(e.Phase)
			}
		}
	}
	return nil
}

func (u Underway) endIteration(phase string) {
	for _, g := range u {
		if g.Command.Phase == phase && g.Command.Step == orchestrator.StepIterate {
			g.End(effect.ErrTold)
		}
	}
}

// endDropped ends what is under way for a phase and nobody waits for any more:
// the reviews of one that is over, what an agent was to be told while it worked,
// whatever was about work that is dropped.
func (u Underway) endDropped(s *orchestrator.State, phase string) {
	waits := map[work.CommandID]bool{}
	for _, c := range orchestrator.Pending(s) {
		waits[c.ID] = true
	}
	for _, g := range u {
		if g.Command.Phase == phase && !waits[g.Command.ID] {
			g.Dropped = true
			g.End(nil)
		}
	}
}
