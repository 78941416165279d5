package orchestrator

import (
	"fmt"

	"forge/dag"
	"forge/internal/work"
)

// invariants are what must hold after every event, whatever happens.
type invariants struct {
	w        *world
	started  map[string]bool // iteration attempts
	finished map[string]bool
	over     map[string]bool // iterations that came to a result, per opening of the phase
	opened   map[string]int  // reopenings
	ended    map[string]bool
	asked    map[string]work.CheckpointStatus
	needs    map[string][]string
	pending  map[string]string // phase → tree that was merged and waits for its landing
}

func newInvariants(w *world) *invariants {
	c := &invariants{
		w: w, started: map[string]bool{}, finished: map[string]bool{}, over: map[string]bool{}, opened: map[string]int{},
		ended: map[string]bool{}, asked: map[string]work.CheckpointStatus{}, needs: map[string][]string{}, pending: map[string]string{},
	}
	for _, ph := range w.spec.Plan.Phases {
		c.needs[ph.Number] = ph.DependsOn
	}
	return c
}

// before judges an event against the state that it is about to change.
func (c *invariants) before(s *State, e work.Event) error {
	p := s.Phases[e.Phase]
	attempt := fmt.Sprintf("%s/%d/%d", e.Phase, e.Iteration, e.Attempt)
	switch e.Kind {
	case work.PhaseStarted:
		for _, n := range c.needs[e.Phase] {
			if s.Phases[n].Outcome != work.PhaseDone {
				return fmt.Errorf("phase %s starts, but %s is %q", e.Phase, n, s.Phases[n].Outcome)
			}
		}
	case work.IterationStarted:
		if c.started[attempt] {
			return fmt.Errorf("iteration %s starts twice", attempt)
		}
		c.started[attempt] = true
		if p.Kind == IterationWork && p.Spent >= p.Budget {
			return fmt.Errorf("iteration %s starts beyond the budget of %d", attempt, p.Budget)
		}
	case work.IterationFinished:
		if !c.started[attempt] || c.finished[attempt] {
			return fmt.Errorf("iteration %s finishes without having started, or twice", attempt)
		}
		c.finished[attempt] = true
		var d work.IterationFinishedData
		if err := decode(e, &d); err != nil {
			return err
		}
		if d.Outcome != work.OutcomeInterrupted && d.Outcome != work.OutcomeRateLimited {
			id := fmt.Sprintf("%s/%d/%d", e.Phase, c.opened[e.Phase], e.Iteration)
			if c.over[id] {
				return fmt.Errorf("iteration %s came to a result twice", id)
			}
			c.over[id] = true
		}
	case work.PhaseReopened:
		c.opened[e.Phase]++
		delete(c.ended, e.Phase)
	case work.PhaseMerged:
		return c.merged(s, p, e)
	case work.PhaseFinished:
		return c.phaseFinished(s, p, e)
	case work.CheckpointAnswered:
		var d CheckpointAnsweredData
		if err := decode(e, &d); err != nil {
			return err
		}
		if d.Refused == "" && c.asked[d.ID] != "" {
			return fmt.Errorf("checkpoint %s is answered twice", d.ID)
		}
		if d.Refused == "" {
			c.asked[d.ID] = d.Status
		}
	case work.RunFinished:
		return c.runFinished(s, e)
	}
	return nil
}

// merged: nothing lands whose very tree was not proven, and only in its turn.
func (c *invariants) merged(s *State, p *Phase, e work.Event) error {
	var d PhaseMergedData
	if err := decode(e, &d); err != nil {
		return err
	}
	tree := c.w.trees[d.Commit]
	if s.Merger != e.Phase {
		return fmt.Errorf("phase %s lands in the turn of %q", e.Phase, s.Merger)
	}
	if len(p.Set.Verify) > 0 && (!c.w.green[tree] || !c.w.proven[tree]) {
		return fmt.Errorf("phase %s lands tree %s: green %v, proven %v", e.Phase, tree, c.w.green[tree], c.w.proven[tree])
	}
	if len(p.Set.Verify) > 0 && c.w.evil[tree] {
		return fmt.Errorf("phase %s lands tree %s with tampered tests", e.Phase, tree)
	}
	c.pending[e.Phase] = tree
	return nil
}

func (c *invariants) phaseFinished(s *State, p *Phase, e work.Event) error {
	var d work.PhaseFinishedData
	if err := decode(e, &d); err != nil {
		return err
	}
	if c.ended[e.Phase] {
		return fmt.Errorf("phase %s ends twice", e.Phase)
	}
	c.ended[e.Phase] = true
	switch {
	case d.Outcome == work.PhaseDone && p.Parent == "" && c.pending[e.Phase] == "":
		return fmt.Errorf("phase %s is done without having been merged", e.Phase)
	case d.Outcome == work.PhaseDone && d.Proof == "":
		return fmt.Errorf("phase %s is done without a proof", e.Phase)
	case d.Outcome == work.PhaseDone && d.Proof == work.ProofClaim && len(p.Set.Verify) > 0:
		return fmt.Errorf("phase %s is done by its word in spite of verify commands", e.Phase)
	case d.Outcome == work.PhaseFailed && d.Reason == "":
		return fmt.Errorf("phase %s fails without a reason", e.Phase)
	case d.Outcome == work.PhaseSkipped && d.Reason == work.ReasonDependencyFailed:
		if s.frontier.State(e.Phase) != dag.Skipped || s.Phases[d.Cause] == nil || s.Phases[d.Cause].Outcome == work.PhaseDone {
			return fmt.Errorf("phase %s is skipped because of %q, which did not fail", e.Phase, d.Cause)
		}
	}
	return nil
}

func (c *invariants) runFinished(s *State, e work.Event) error {
	var d work.RunFinishedData
	if err := decode(e, &d); err != nil {
		return err
	}
	done := true
	for _, p := range s.Phases {
		done = done && (p.Parent != "" || p.Outcome == work.PhaseDone)
		if d.Outcome.Final() && p.Stage != StageFinished {
			return fmt.Errorf("the run ends %s while phase %s stands at %s", d.Outcome, p.Number, p.Stage)
		}
	}
	if d.Outcome == work.RunCompleted && !done {
		return fmt.Errorf("the run completes with phases that are not done")
	}
	return nil
}

// after judges the state that an event left.
func (c *invariants) after(s *State) error {
	busy := map[string]bool{}
	for _, u := range c.w.under {
		if p := s.Phases[u.Phase]; p != nil {
			busy[s.top(p).Number] = true
		}
	}
	if n, most := len(busy), s.Spec.Settings.MaxParallel; n > most {
		return fmt.Errorf("%d phases run at once, %d may", n, most)
	}
	if most := s.Spec.Settings.Cost.RunUSD; most != nil && s.Ledger.USD+s.Ledger.reservedSum() > *most+1e-9 {
		return fmt.Errorf("%.4f USD spent and reserved, the cap is %.4f", s.Ledger.USD+s.Ledger.reservedSum(), *most)
	}
	merging := 0
	for _, p := range s.Phases {
		if p.Merge != nil && p.Stage != StageFinished {
			merging++
		}
		if p.Spent > p.Budget {
			return fmt.Errorf("phase %s spent %d of %d iterations", p.Number, p.Spent, p.Budget)
		}
		if len(s.Phases) > 0 && p.Spawned > maxSubPhases {
			return fmt.Errorf("phase %s spawned %d sub-phases", p.Number, p.Spawned)
		}
	}
	if merging > 1 {
		return fmt.Errorf("%d phases merge at once", merging)
	}
	return nil
}
