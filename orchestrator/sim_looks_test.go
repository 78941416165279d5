package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
)

// randomLooks has people look at some phases of some runs, by the level of the run
// or by one of a phase's own.
func randomLooks(d dice, sp *Spec) {
	throw := func(percent int) bool { return d.looks.IntN(100) < percent }
	if !throw(30) {
		return
	}
	random := func() (l gates.Looks) {
		if throw(50) {
			l.Every = 1 + d.looks.IntN(3)
		}
		if throw(40) && len(sp.Plan.Phases) > 0 {
			l.Milestones = []string{sp.Plan.Phases[d.looks.IntN(len(sp.Plan.Phases))].Name}
		}
		if throw(40) {
			l.ConfidenceBelow = float64(1+d.looks.IntN(9)) / 10
		}
		return l
	}
	if throw(70) {
		sp.Policy.Preset, sp.Policy.Looks = "", random()
	}
	for _, name := range []string{gates.PresetFull, gates.PresetReview} {
		if p, ok := sp.Levels[name]; ok && throw(50) {
			p.Preset, p.Looks = "", random()
			sp.Levels[name] = p
		}
	}
}

// sure is what a reviewer says of its confidence.
func (w *world) sure() *float64 {
	if w.looks.IntN(100) < 15 {
		return nil
	}
	c := w.looks.Float64()*1.1 - 0.05
	return &c
}

// lookBooks are who looked at what, and how sure reviewers are.
type lookBooks struct {
	unseen map[string]bool                // phases that went on since a person looked at one
	sure   map[string]map[string]*float64 // phase → reviewer → what it said last, in truth
}

func newLookBooks() lookBooks {
	return lookBooks{unseen: map[string]bool{}, sure: map[string]map[string]*float64{}}
}

// looks: no phase goes on unseen where a rule of the level that holds for it wants a
// person to look.
func (c *invariants) looks(s *State, p *Phase, e work.Event) error {
	var by string
	goes := false
	switch e.Kind {
	case work.ReviewFinished:
		var d ReviewFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		of := map[string]*float64{}
		for name, said := range c.look.sure[e.Phase] {
			of[name] = said
		}
		of[d.Specialist] = c.w.said[d.Specialist+" "+c.w.commits[d.Commit]].sure
		note(c, c.look.sure, e.Phase, of)
		return nil
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Gate != string(gates.PointPhaseTransition) || d.Decision == decideAsk {
			return nil
		}
		by, goes = d.By, d.Decision == decideGo
	case work.JobDecided:
		var d JobDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		by, goes = d.By, d.Answer == work.CheckpointApproved
	default:
		return nil
	}
	if strings.HasPrefix(by, "person:") {
		for number := range c.look.unseen {
			note(c, c.look.unseen, number, false)
		}
		return nil
	}
	if !goes {
		return nil
	}
	err := c.mayPass(s, p, c.policyAt(s, e.Phase).Looks)
	note(c, c.look.unseen, e.Phase, true)
	return err
}

func (c *invariants) mayPass(s *State, p *Phase, l gates.Looks) error {
	others := 0
	for number, unseen := range c.look.unseen {
		q := s.Phases[number]
		if unseen && number != p.Number && q.Outcome != work.PhaseFailed && q.Outcome != work.PhaseSkipped {
			others++
		}
	}
	switch {
	case l.Every > 0 && others+1 >= l.Every:
		return fmt.Errorf("phase %s goes on unseen, as %d before it did, and one of every %d is looked at", p.Number, others, l.Every)
	case slices.Contains(l.Milestones, p.Plan.Name):
		return fmt.Errorf("phase %s goes on unseen, and %q is a milestone", p.Number, p.Plan.Name)
	case l.ConfidenceBelow == 0:
		return nil
	}
	said := c.look.sure[p.Number]
	if len(said) == 0 {
		return fmt.Errorf("phase %s goes on unseen, and nobody reviewed it", p.Number)
	}
	for name, sure := range said {
		if sure == nil || !(*sure >= l.ConfidenceBelow && *sure <= 1) {
			return fmt.Errorf("phase %s goes on unseen, and %s is not %v sure", p.Number, name, l.ConfidenceBelow)
		}
	}
	return nil
}
