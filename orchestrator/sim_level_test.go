package orchestrator

import (
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

// randomLevels gives phases of some runs levels of their own.
func randomLevels(d dice, sp *Spec) {
	throw := func(percent int) bool { return d.level.IntN(100) < percent }
	if !throw(25) {
		return
	}
	names := []string{gates.PresetFull, gates.PresetReview, "guided", "dependent", gates.PresetInteractive, "manual"}
	sp.Levels = map[string]gates.Policy{}
	for _, name := range names {
		sp.Levels[name], _ = gates.Preset(name)
	}
	levels := func() (out []string) {
		for throw(40) && len(out) < 2 {
			out = append(out, names[d.level.IntN(len(names))])
		}
		if throw(2) {
			out = append(out, "one that nobody knows")
		}
		return out
	}
	for _, ph := range sp.Plan.Phases {
		set := sp.Settings.Phases[ph.Number]
		set.Levels = levels()
		sp.Settings.Phases[ph.Number] = set
	}
	if sp.Job != nil {
		sp.Job.Phase.Levels = levels()
	}
}

// ownLevels are the policies of the levels that the spec gives a phase, "" for those
// of all whose work may be in the result.
func (c *invariants) ownLevels(s *State, phase string) []gates.Policy {
	sp := c.w.spec
	var names []string
	switch number, _, _ := strings.Cut(phase, "."); {
	case sp.Job != nil:
		names = sp.Job.Phase.Levels
		if phase == "" && len(s.Order) == 0 {
			names = nil
		}
	case phase != "":
		names = sp.Settings.Phases[number].Levels
	default:
		for _, ph := range sp.Plan.Phases {
			if p := s.Phases[ph.Number]; p.Outcome != work.PhaseSkipped && (p.Outcome != work.PhaseDone || p.Reason != work.ReasonUser) {
				names = append(names, sp.Settings.Phases[ph.Number].Levels...)
			}
		}
	}
	var out []gates.Policy
	for _, name := range names {
		own, known := sp.Levels[name]
		if !known {
			own = gates.Bottom()
		}
		out = append(out, own)
	}
	return out
}

// policyAt is the policy that holds for a phase now, "" for the run as a whole.
func (c *invariants) policyAt(s *State, phase string) gates.Policy {
	return gates.MeetAll(append([]gates.Policy{c.policy}, c.ownLevels(s, phase)...)...)
}

// ofLevels: where a level of the phase's own names a person, the level of the run
// alone lets nothing pass.
func (c *invariants) ofLevels(s *State, e work.Event) error {
	var d work.GateDecidedData
	if e.Kind != work.GateDecided || read(c, e, &d) != nil || d.Decision == decideAsk {
		return nil
	}
	point, p := gates.Point(d.Gate), s.Phases[e.Phase]
	if point == gates.PointPhaseStart && p != nil && p.Parent != "" {
		point = gates.PointSubPhase
	}
	byLevel := d.By == "strategy:autonomous" || strings.HasPrefix(d.By, "policy:") || strings.HasPrefix(d.By, "rule:") && strings.HasPrefix(d.Reason, "nobody is asked here")
	for _, own := range c.ownLevels(s, e.Phase) {
		unasked := strings.HasPrefix(d.By, "rule:start_") && own.StartUnasked == gates.StartNone
		if (byLevel || unasked) && own.At(point) == gates.Human {
			return fmt.Errorf("the level %q of phase %q names a person at %s, and %s decides %s", own.Preset, e.Phase, d.Gate, d.By, d.Decision)
		}
	}
	return nil
}
