package orchestrator

import (
	"strings"

	texts "forge/internal/text"
	"forge/internal/work"
)

// settle emits the next decision that follows from the state alone, if any.
func (d *decision) settle() {
	s := d.s
	if !s.Live || s.Stopping != nil {
		return
	}
	if d.hooks(nil) {
		return
	}
	if s.Baseline.Stage == BaselineRed {
		d.baseline()
		return
	}
	if s.Baseline.Stage != BaselinePassed {
		return
	}
	if len(s.skips) > 0 {
		skip := s.skips[0]
		d.phase(skip.Key, work.PhaseFinished, work.PhaseFinishedData{
			Outcome: work.PhaseSkipped, Reason: work.ReasonDependencyFailed, Cause: skip.Cause,
		})
		return
	}
	if d.rewinds() {
		return
	}
	if d.train() {
		return
	}
	d.granted = s.granted()
	for _, n := range s.working {
		if d.settlePhase(s.Phases[n]); len(d.out) > 0 {
			return
		}
	}
	if d.idleHooks() {
		return
	}
	if s.Job != nil {
		d.job()
		return
	}
	if d.startNext(); len(d.out) > 0 {
		return
	}
	if s.frontier.Finished() && len(s.working) == 0 {
		d.end()
	}
}

// StopInternal begins the reason of a run that stopped because something could
// not be carried out: it is neither done nor failed, and can be resumed.
const StopInternal = "internal: "

// StopShort begins the reason of a run that stopped because the machine ran out
// of something. It can be resumed once there is more of it.
const StopShort = "ran out: "

// RanOut is the reason of a run that stopped because of what the machine ran out
// of.
func RanOut(what string) string { return StopShort + texts.ClipJSON(what, 500) }

// RanOut says that the run stopped because of that.
func (s *State) RanOut() bool {
	return s.Outcome == work.RunInterrupted && strings.HasPrefix(s.Reason, StopShort)
}

// holds says that p takes one of the max_parallel places: a wait for a person
// takes none, a sub-phase runs in its parent's, and of a phase with tries each of
// these takes one.
func (s *State) holds(p *Phase) bool {
	if p.Parent != "" && p.Try == 0 || p.Stage == StageAsked || p.Stage == StageTries {
		return false
	}
	child := s.Phases[p.Child]
	return p.Stage != StageSub || child == nil || child.Stage != StageAsked
}

// slots counts the places that are taken.
func (s *State) slots() int {
	n := 0
	for _, k := range s.working {
		if s.holds(s.Phases[k]) {
			n++
		}
	}
	return n
}

func (s *State) failedFast() bool {
	if !s.Spec.Settings.FailFast {
		return false
	}
	for _, n := range s.Order {
		if p := s.Phases[n]; p.Parent == "" && p.Outcome == work.PhaseFailed {
			return true
		}
	}
	return false
}

func (d *decision) startNext() {
	s := d.s
	if s.slots() >= max(s.Spec.Settings.MaxParallel, 1) {
		return
	}
	first, ok := s.frontier.Next()
	if !ok {
		return
	}
	candidates := []string{first}
	if s.Phases[first].Stage == StageAsked {
		candidates = s.frontier.Ready()
	}
	fast := s.failedFast()
	for _, n := range candidates {
		p := s.Phases[n]
		if p.Stage == StageAsked {
			continue
		}
		if fast {
			d.finish(p, work.PhaseCancelled, "", "an earlier phase failed and --fail-fast was given")
			return
		}
		d.mayStart(p)
		return
	}
}
