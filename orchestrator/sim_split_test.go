package orchestrator

import (
	"fmt"
	"maps"
	"slices"

	"forge/gates"
	"forge/internal/work"
)

// randomSplits lets some runs split their phases. Budgets have to be large enough
// for parts.
func randomSplits(d dice, set *work.Settings) {
	if d.split.IntN(100) >= 35 {
		return
	}
	set.Decomposition = work.DecompositionSettings{
		Enabled: true, Requests: d.split.IntN(100) < 90, Blockers: d.split.IntN(100) < 70, Keywords: []string{"network"},
		BudgetPercent: 50, ProgressPercent: 30, MinTasks: 2, MaxTasks: 2 + d.split.IntN(9), KeptPercent: 10, Integration: d.split.IntN(100) < 10,
	}
	if d.split.IntN(100) < 30 {
		set.Decomposition.Size = 1 + d.split.IntN(6)
	}
	for _, n := range slices.Sorted(maps.Keys(set.Phases)) { // in an order, so that a seed is a schedule
		ps := set.Phases[n]
		ps.Budget += d.split.IntN(8)
		set.Phases[n] = ps
	}
}

// proposes is what an agent says of splitting its phase.
func (w *world) proposes(p *Phase, s *work.Signals) {
	if !w.spec.Settings.Decomposition.Enabled {
		return
	}
	throw := func(percent int) bool { return w.split.IntN(100) < percent }
	if throw(8) {
		s.RequestDecomposition = true
	}
	if !p.Split.Ask && !throw(3) || p.Split.Ask && throw(20) {
		return
	}
	var d work.Decomposition
	left := p.Budget - p.Spent - 2
	for i := range 2 + w.split.IntN(3) {
		t := work.SplitTask{ID: fmt.Sprintf("t%d", i), Name: "part", About: "a part", Files: []string{"a.txt"}, Budget: 1}
		for j := range i {
			if throw(50) {
				t.DependsOn = append(t.DependsOn, fmt.Sprintf("t%d", j))
			}
		}
		if left > 4 && throw(30) {
			t.Budget++
		}
		if throw(20) {
			t.Verify = []string{"make part"}
		}
		d.Tasks = append(d.Tasks, t)
	}
	if throw(15) {
		w.fault("a proposal that cannot be used")
		switch w.split.IntN(4) {
		case 0:
			d.Tasks[0].DependsOn = []string{d.Tasks[1].ID}
			d.Tasks[1].DependsOn = []string{d.Tasks[0].ID}
		case 1:
			d.Tasks[0].Promise = "P1"
		case 2:
			d.Tasks = d.Tasks[:1]
		case 3:
			d.Tasks[0].Budget = left + 2
		}
	}
	s.Decompositions = []work.Decomposition{d}
}

// splitBooks are about phases that were split, each by its opening.
type splitBooks struct {
	offers map[string]work.Decomposition // what the agent proposed last, in truth
	parts  map[string]work.Decomposition // what was approved
	seen   map[string]bool               // by a person
	began  map[string]string             // phase and part → its sub-phase
	done   map[string]bool               // sub-phases that were folded as done
}

func newSplitBooks() splitBooks {
	return splitBooks{
		offers: map[string]work.Decomposition{}, parts: map[string]work.Decomposition{}, seen: map[string]bool{},
		began: map[string]string{}, done: map[string]bool{},
	}
}

// ofSplits holds that parts are begun of what was approved alone, each once, after
// what it needs, within its budget and proven by nothing that nobody saw.
func (c *invariants) ofSplits(s *State, p *Phase, e work.Event) error {
	b := &c.split
	switch e.Kind {
	case work.IterationFinished:
		var d work.IterationFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if n := len(d.Signals.Decompositions); n > 0 {
			note(c, b.offers, e.Phase, d.Signals.Decompositions[n-1])
		}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil || d.Gate != string(gates.PointDecompose) || d.Decision != decideApprove {
			return err
		}
		offer, left := b.offers[e.Phase], p.Budget-c.spent[e.Phase]
		switch {
		case len(offer.Tasks) < 2 || len(offer.Tasks) > maxSubPhases:
			return fmt.Errorf("phase %s is split into %d parts", e.Phase, len(offer.Tasks))
		case offer.Total() >= left:
			return fmt.Errorf("phase %s has %d iterations left, its parts get %d, and nothing is kept", e.Phase, left, offer.Total())
		}
		note(c, b.parts, e.Phase, offer)
		note(c, b.seen, e.Phase, len(d.By) > 7 && d.By[:7] == "person:")
	case work.PhaseReopened:
		note(c, b.parts, e.Phase, work.Decomposition{})
		for _, t := range b.parts[e.Phase].Tasks {
			note(c, b.began, e.Phase+" "+t.ID, "")
		}
	case work.SubPhaseSpawned:
		return c.partBegins(p, e)
	case work.SubPhaseFolded:
		var d SubPhaseFoldedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		note(c, b.done, d.Number, d.Outcome == work.PhaseDone)
		for _, t := range b.parts[e.Phase].Tasks {
			if b.began[e.Phase+" "+t.ID] == d.Number {
				c.w.fault(map[bool]string{true: "a part done", false: "a part failed"}[d.Outcome == work.PhaseDone])
			}
		}
	case work.PhaseFinished:
		for _, t := range b.parts[e.Phase].Tasks {
			if b.began[e.Phase+" "+t.ID] == "" {
				c.w.fault("a part skipped")
			}
		}
	}
	return nil
}

func (c *invariants) partBegins(p *Phase, e work.Event) error {
	b := &c.split
	var d SubPhaseSpawnedData
	if err := read(c, e, &d); err != nil || d.Task == "" {
		return err
	}
	tasks := b.parts[e.Phase].Tasks
	i := slices.IndexFunc(tasks, func(t work.SplitTask) bool { return t.ID == d.Task })
	switch {
	case i < 0:
		return fmt.Errorf("part %s of phase %s begins, and nobody approved it", d.Task, e.Phase)
	case b.began[e.Phase+" "+d.Task] != "":
		return fmt.Errorf("part %s of phase %s begins twice", d.Task, e.Phase)
	case d.Request.Budget != tasks[i].Budget:
		return fmt.Errorf("part %s of phase %s gets %d iterations, and it was to have %d", d.Task, e.Phase, d.Request.Budget, tasks[i].Budget)
	}
	for _, need := range tasks[i].DependsOn {
		if !b.done[b.began[e.Phase+" "+need]] {
			return fmt.Errorf("part %s of phase %s begins after %s, which did not succeed", d.Task, e.Phase, need)
		}
	}
	for _, command := range tasks[i].Verify {
		if !b.seen[e.Phase] && !slices.Contains(d.Verify, command) {
			c.w.fault("commands of a part that nobody saw")
		}
	}
	for _, command := range d.Verify {
		if !b.seen[e.Phase] && !slices.Contains(p.Set.Verify, command) && !slices.Contains(c.w.spec.Settings.Verify.Commands, command) {
			return fmt.Errorf("part %s of phase %s: nobody saw that it proves %q", d.Task, e.Phase, command)
		}
	}
	note(c, b.began, e.Phase+" "+d.Task, d.Number)
	return nil
}
