package orchestrator

import (
	"cmp"
	"slices"

	"forge/gates"
	"forge/internal/text"
	"forge/internal/work"
)

// A phase and an agent may have levels of their own. Each bounds what the level of
// the run lets pass there: a phase asks for more of people than its run does, never
// for less. Every gate asks policyOf, and no other file looks at the run's policy.

// Bounded is p met with levels of phases and agents, by their names. A name that
// the run was not opened with asks everywhere.
func (spec Spec) Bounded(p gates.Policy, levels []string) gates.Policy {
	for _, name := range levels {
		own, known := spec.Levels[name]
		if !known {
			own = gates.Bottom()
		}
		p = gates.Meet(p, own)
	}
	return p
}

// policyOf is the policy that decides about p; nil stands for what is asked of the
// run as a whole, where the level of each phase counts whose work is in the result.
func (s *State) policyOf(p *Phase) gates.Policy {
	return s.Spec.Bounded(s.Spec.Policy, s.levelsOf(p))
}

// levelsOf are the names of the levels that bound the run's. A sub-phase works with
// the settings of the phase that it is a part of.
func (s *State) levelsOf(p *Phase) []string {
	if p != nil {
		return p.Set.Levels
	}
	var all []string
	for _, n := range s.Order {
		q := s.Phases[n]
		skipped, left := q.Outcome == work.PhaseSkipped, q.Outcome == work.PhaseDone && q.Reason == work.ReasonUser
		if q.Parent != "" || skipped || left {
			continue
		}
		for _, name := range q.Set.Levels {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// versionOf names the policy that decides about p.
func (s *State) versionOf(p *Phase) string {
	if len(s.levelsOf(p)) == 0 {
		return s.version
	}
	return s.policyOf(p).Version()
}

// policyName is who decides about p where the policy does: its preset, or the
// version of one that has none.
func (s *State) policyName(p *Phase) string {
	return "policy:" + cmp.Or(s.policyOf(p).Preset, s.versionOf(p))
}

// passes says that a checkpoint about p at a point needs no person.
func (s *State) passes(p *Phase, at gates.Point) bool {
	status, err := gates.Due(s.policyOf(p).Handler(at), at)
	return err == nil && status == work.CheckpointApproved
}

// Level is the preset that the run has by itself, "" of a policy of its own.
func (s *State) Level() string { return s.Spec.Policy.Preset }

// changePolicy gives the run another policy, never a freer one than it was
// bounded by when it was opened.
func (d *decision) changePolicy(a work.Answer) {
	chosen, err := gates.ReadPolicy(a.Policy)
	if err != nil {
		d.run(work.Warned, WarnedData{What: "a change of level was not understood, and changes nothing", Detail: text.ClipJSON(err.Error(), 300)})
		return
	}
	data := PolicyChangedData{By: text.ClipJSON(a.By, 200), Door: text.ClipJSON(a.Door, 40), Policy: chosen}
	if b := d.s.Spec.Bound; b != nil {
		data.Bounded = clipList(gates.Exceeds(chosen, *b), 30, 60)
		data.Policy = gates.Meet(chosen, *b)
	}
	data.Level, data.Version = data.Policy.Preset, data.Policy.Version()
	d.run(work.PolicyChanged, data)
}

func applyPolicyChanged(s *State, _ *Phase, _ work.Event, d PolicyChangedData) {
	s.Spec.Policy, s.version = d.Policy, d.Version
	for _, p := range s.Phases {
		p.Stale.OnStale = s.policyOf(p).StaleResponse()
	}
}
