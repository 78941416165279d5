package orchestrator

import (
	"fmt"
	"testing"

	"forge/gates"
	"forge/internal/pace"
	"forge/internal/work"
)

// restBooks are about what controls found, and what they had no time for.
type restBooks struct {
	owed map[string]string // phase → tree that landed with something left, "" = none
	soft map[string]bool   // phases that landed with tests that were made softer
	bad  map[string]bool   // phases of which the end of the run found, in truth, that a test cannot fail
}

func newRestBooks() restBooks {
	return restBooks{owed: map[string]string{}, soft: map[string]bool{}, bad: map[string]bool{}}
}

// resting is what test runners say at the end of the run of what was left.
func (w *world) resting(c Command) Fact {
	t := w.treeOf(c.Commit)
	w.fault("what was left tried")
	if w.owing && w.rest.IntN(100) < 40 {
		return Broke{Command: c, Problem: "no such program"}
	}
	d := ControlDone{Command: c}
	if t.lateBad {
		w.fault("a deaf test found at the end")
		d.Report.Deaf = w.texts(1, "TestMustFail")
	}
	if t.lateGap {
		d.Report.Unproven = []work.Place{{Path: "a.go", Name: "Add", Line: 1}}
	}
	return d
}

// rested: what was left is tried once for each phase that landed with something
// left, of the very tree that landed.
func (c *invariants) rested(s *State, e work.Event) error {
	var d work.RestFinishedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if len(s.Rests) == 0 {
		return fmt.Errorf("what phase %s left is tried twice", e.Phase)
	}
	t := c.w.treeOf(s.Rests[0].Commit)
	if !t.owes || c.landed[e.Phase] == "" {
		return fmt.Errorf("what phase %s left is tried, and it left nothing", e.Phase)
	}
	note(c, c.rests.owed, e.Phase, "")
	if d.Failed != "" {
		c.w.fault("what was left broke")
	}
	if t.lateBad { // where it broke, nobody knows
		note(c, c.rests.bad, e.Phase, true)
	}
	return nil
}

// nothingLeft: nothing is delivered as done whose controls were left at some
// point for good, and nothing on which a test cannot fail unless a person said so,
// whatever the policy lets pass.
func (c *invariants) nothingLeft(s *State) error {
	for phase, name := range c.rests.owed {
		if name != "" {
			return fmt.Errorf("the result is delivered, and what the controls of phase %s left was never tried", phase)
		}
	}
	if c.policyAt(s, "").At(gates.DoubtPoint(work.DoubtWeakened)) != gates.Auto && !c.approved[s.Head] {
		for phase, soft := range c.rests.soft {
			if soft {
				return fmt.Errorf("the result is delivered, tests of phase %s were made softer, and nobody was asked", phase)
			}
		}
	}
	for phase, bad := range c.rests.bad {
		if bad && !c.approved[s.Head] {
			return fmt.Errorf("the result is delivered, the end of the run showed that tests of phase %s cannot fail, and nobody was asked", phase)
		}
	}
	return nil
}

// partProven notes what was proven of a phase's work while the phase goes on: a
// sub-phase that changed something, and its work before a conflict is resolved.
func (c *invariants) partProven(s *State, p *Phase, e work.Event) error {
	if e.Kind == work.MergeFinished {
		var d MergeFinishedData
		if err := read(c, e, &d); err != nil || p.Stage != StageTurn || d.Train > 0 || len(d.Conflicts) == 0 || p.Base == p.Last {
			return err
		}
		note(c, c.parts, e.Phase, true)
		return nil
	}
	var d SubPhaseFoldedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if child := s.Phases[d.Number]; d.Outcome == work.PhaseDone && p.Child == d.Number && d.Commit != p.Last && child != nil && child.Base != d.Commit {
		note(c, c.parts, e.Phase, true)
	}
	return nil
}

// TestSeededBugsOfRests: where what was left could not be tried, nobody knows
// whether tests can fail, and no policy lets that pass.
func TestSeededBugsOfRests(t *testing.T) {
	pace.Slow(t, "schedules until each bug is found")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.owing = true
	h := newHunter(t, l, 3000)
	for name, forget := range map[string]func(left *work.ControlLeft){
		"changed tests that were left taken for something small": func(left *work.ControlLeft) { left.Changed = false },
		"runners that were left taken for something small":       func(left *work.ControlLeft) { left.Runners = nil },
	} {
		t.Run(name, func(t *testing.T) {
			h.hunt(t, name, bug{apply: afterApply(func(s *State, _ work.Event) {
				for i := range s.Rests {
					forget(&s.Rests[i].Left)
				}
			})}, []string{"cannot fail, and nobody was asked"})
		})
	}
}
