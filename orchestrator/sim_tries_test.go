package orchestrator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/pace"
	"forge/internal/work"
)

// severalTimes lets most phases be tried several times.
func severalTimes(d dice, sp *Spec) {
	if sp.Job != nil {
		return
	}
	throw := func(percent int) bool { return d.several.IntN(100) < percent }
	set := &sp.Settings
	set.MaxParallel = 1 + d.several.IntN(4)
	if throw(60) { // nobody is asked, and nothing is scarce
		set.Cost = work.Cost{}
	}
	sp.Policy.Gates[gates.PointTries] = gates.Auto
	if throw(40) {
		sp.Policy.Gates[gates.PointTries] = gates.Human
	}
	for _, ph := range sp.Plan.Phases {
		ps := set.Phases[ph.Number]
		if len(ps.Verify) == 0 || ps.Permission == work.PermissionReadonly || throw(25) {
			continue
		}
		ps.Tries = 2 + d.several.IntN(3)
		if throw(50) {
			ps.TriesUntil = work.TriesFirst
		}
		if throw(40) {
			ps.TryAgents = []work.TryAgent{{}, {Agent: "a", Model: "big"}}
		}
		set.Phases[ph.Number] = ps
	}
}

// measures says how much a try changes, most of the time.
func (w *world) measures(p *Phase, done *IterationDone) {
	if p.Try == 0 || w.several.IntN(100) < 15 {
		return
	}
	done.Size = &work.ChangeSize{Files: 1}
	if w.several.IntN(100) < 85 {
		lines := 1 + w.several.IntN(6)
		done.Size.Lines = &lines
	}
}

// tryBooks are about phases that are tried several times, as the events tell it.
type tryBooks struct {
	tries  map[string][]string // phase → its tries
	first  map[string]bool     // phase → its first good try is taken
	ended  map[string]work.PhaseFinishedData
	found  map[string][]work.Finding // try and reviewer → what it found last
	chosen map[string]string
}

func newTryBooks() tryBooks {
	return tryBooks{
		tries: map[string][]string{}, first: map[string]bool{}, ended: map[string]work.PhaseFinishedData{}, found: map[string][]work.Finding{}, chosen: map[string]string{},
	}
}

// worst is what the reviewers found in a try, the highest severity first.
func (b *tryBooks) worst(try string) (critical, major, minor int) {
	for key, all := range b.found {
		if who, _, _ := strings.Cut(key, " "); who != try {
			continue
		}
		for _, f := range all {
			switch f.Severity {
			case work.SeverityCritical:
				critical++
			case work.SeverityMajor:
				major++
			case work.SeverityMinor:
				minor++
			}
		}
	}
	return critical, major, minor
}

// ofTries holds that a phase goes on from a try that is proven and over, once all
// are, which a person chose where the policy wants one; that none lands that was
// not chosen; and that none is ended before it is known that it cannot win.
func (c *invariants) ofTries(s *State, p *Phase, e work.Event) error {
	b := &c.contests
	switch e.Kind {
	case work.TriesBegan:
		var d TriesBeganData
		if err := decode(e, &d); err != nil {
			return err
		}
		if len(b.tries[e.Phase]) > 0 {
			return fmt.Errorf("phase %s is tried several times, and is already", e.Phase)
		}
		var all []string
		for _, t := range d.Tries {
			if s.Phases[t.Number] != nil || slices.Contains(all, t.Number) {
				return fmt.Errorf("try %s of phase %s begins twice", t.Number, e.Phase)
			}
			all = append(all, t.Number)
		}
		if len(all) != p.Set.Tries {
			return fmt.Errorf("phase %s has %d tries, and was to have %d", e.Phase, len(all), p.Set.Tries)
		}
		note(c, b.tries, e.Phase, all)
		note(c, b.first, e.Phase, p.Set.TriesUntil == work.TriesFirst)
		note(c, b.chosen, e.Phase, "")
	case work.PhaseReopened:
		note(c, b.tries, e.Phase, nil)
		note(c, b.chosen, e.Phase, "")
	case work.PhaseRewound:
		note(c, b.tries, e.Phase, nil)
		note(c, b.chosen, e.Phase, "")
	case work.ReviewFinished:
		var d ReviewFinishedData
		if err := decode(e, &d); err != nil {
			return err
		}
		if p != nil && p.Try > 0 && d.Verdict != work.VerdictUnknown {
			note(c, b.found, e.Phase+" "+d.Specialist, d.Findings)
		}
	case work.PhaseFinished:
		var d work.PhaseFinishedData
		if err := decode(e, &d); err != nil {
			return err
		}
		note(c, b.ended, e.Phase, d)
		if d.Reason != work.ReasonTriesFailed {
			return nil
		}
		for _, n := range b.tries[e.Phase] {
			if end, over := b.ended[n]; !over || end.Outcome == work.PhaseDone {
				return fmt.Errorf("phase %s fails for its tries, and try %s is %q", e.Phase, n, end.Outcome)
			}
		}
		c.w.fault("no try proven")
	case work.TryStopped:
		return c.stopsTry(p, e)
	case work.TryChosen:
		return c.choosesTry(s, p, e)
	case work.PhaseMerged:
		if len(b.tries[e.Phase]) > 0 && b.chosen[e.Phase] == "" {
			return fmt.Errorf("phase %s lands, and none of its tries was chosen", e.Phase)
		}
	}
	return nil
}

func (c *invariants) stopsTry(p *Phase, e work.Event) error {
	b := &c.contests
	var d TryStoppedData
	if err := decode(e, &d); err != nil {
		return err
	}
	for _, id := range d.Closed {
		note(c, c.resolved, id, true)
	}
	if !b.first[p.Parent] {
		return fmt.Errorf("try %s is stopped, and the best one was to win", e.Phase)
	}
	c.w.fault("a try stopped")
	if p.Begun {
		c.w.fault("a try stopped while its agent works")
	}
	if p.Stage == StageAsked {
		c.w.fault("a try stopped while a person is asked")
	}
	for _, n := range b.tries[p.Parent] {
		x, y, z := b.worst(n)
		if b.ended[n].Outcome == work.PhaseDone && c.proven[n] != "" && x+y+z == 0 {
			return nil
		}
	}
	return fmt.Errorf("try %s is stopped, and none is proven with nothing against it", e.Phase)
}

func (c *invariants) choosesTry(s *State, p *Phase, e work.Event) error {
	b := &c.contests
	var d TryChosenData
	if err := decode(e, &d); err != nil {
		return err
	}
	switch {
	case !slices.Contains(b.tries[e.Phase], d.Number):
		return fmt.Errorf("phase %s goes on from %s, which is no try of it", e.Phase, d.Number)
	case b.chosen[e.Phase] != "":
		return fmt.Errorf("phase %s goes on from try %s, and %s was chosen before", e.Phase, d.Number, b.chosen[e.Phase])
	case b.ended[d.Number].Outcome != work.PhaseDone || b.ended[d.Number].Proof != work.ProofVerified:
		return fmt.Errorf("phase %s goes on from try %s, which is not proven", e.Phase, d.Number)
	case c.w.commits[d.Commit] != c.proven[d.Number]:
		return fmt.Errorf("phase %s goes on from %s of try %s, proven was %s", e.Phase, c.w.commits[d.Commit], d.Number, c.proven[d.Number])
	}
	proven := 0
	x, y, z := b.worst(d.Number)
	for _, n := range b.tries[e.Phase] {
		end, over := b.ended[n]
		if !over {
			return fmt.Errorf("phase %s goes on from try %s, and try %s is not over", e.Phase, d.Number, n)
		}
		if end.Outcome != work.PhaseDone {
			continue
		}
		proven++
		i, j, k := b.worst(n)
		if strings.HasPrefix(d.By, "rule:") && c.council.synthesis[e.Phase] == "" && (i < x || i == x && j < y || i == x && j == y && k < z) {
			return fmt.Errorf("phase %s goes on from try %s, and reviewers found less in %s", e.Phase, d.Number, n)
		}
	}
	if who, person := strings.CutPrefix(d.By, "person:"); person {
		c.w.fault("a try chosen by a person")
		if c.said[e.Phase] == "" || c.said[e.Phase] == work.CheckpointRejected {
			return fmt.Errorf("%s chose try %s of phase %s, which nobody said", who, d.Number, e.Phase)
		}
	} else if proven > 1 && c.policyAt(s, e.Phase).At(gates.PointTries) == gates.Human {
		return fmt.Errorf("phase %s goes on from try %s, and no person chose it", e.Phase, d.Number)
	}
	note(c, b.chosen, e.Phase, d.Number)
	note(c, c.backs.due, e.Phase, "") // it goes on from that
	note(c, c.spent, e.Phase, c.spent[d.Number])
	note(c, c.look.sure, e.Phase, c.look.sure[d.Number]) // what was said of it still stands
	if !d.Rework {
		note(c, c.stops, e.Phase, append(slices.Clone(c.stops[e.Phase]), c.stops[d.Number]...))
	}
	c.w.fault(fmt.Sprintf("chosen among %d proven", min(proven, 2)))
	return nil
}

func TestSimulationOfTries(t *testing.T) {
	pace.Slow(t, "hundreds of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.tries = true
	c := reach(t, l, 1500, func(c *coverage) []string {
		at := string(gates.PointTries) + " "
		missing := slices.Concat(
			unmet(c.kinds, "no schedule reached %s", string(work.TriesBegan), string(work.TryStopped), string(work.TryChosen)),
			unmet(c.faults, "no schedule met %q", "no try proven", "a try stopped", "a try stopped while its agent works", "a try chosen by a person", "chosen among 1 proven", "chosen among 2 proven"),
			unmet(c.gates, "no gate decided %s", at+decideAsk, at+decideGo, at+decideRework, at+decideReject),
			unmet(c.reasons, "no phase ended for the reason %s", work.ReasonTriesFailed),
		)
		if !c.stages[StageTries] {
			missing = append(missing, "no phase was tried several times")
		}
		return missing
	})
	t.Logf("%d events\nfaults %v\ngates %v", c.events, c.faults, c.gates)
}

func TestSeededBugsOfTries(t *testing.T) {
	pace.Slow(t, "many schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.tries = true
	h := newHunter(t, l, 1500)
	other := func(pick func(TryFacts) bool) func(*State, *work.Event, *TryChosenData) {
		return func(_ *State, _ *work.Event, d *TryChosenData) {
			for _, t := range d.Tries {
				if t.Number != d.Number && pick(t) {
					d.Number, d.Commit = t.Number, t.Commit
					return
				}
			}
		}
	}
	for _, tt := range []struct {
		name string
		bug  bug
		want []string
	}{
		{"a try that is not proven wins", bug{events: rewrite(work.TryChosen, other(func(t TryFacts) bool { return !t.Proven }))}, []string{"which is not proven"}},
		{"a worse try wins", bug{events: rewrite(work.TryChosen, other(func(t TryFacts) bool { return t.Proven && t.Critical > 0 }))}, []string{"reviewers found less in"}},
		{"a person's choice made by rule", bug{apply: func(s *State, e work.Event, apply func() error) error {
			s.Spec.Policy.Gates[gates.PointTries] = gates.Auto
			return apply()
		}}, []string{"and no person chose it", "the state after a replay differs"}},
		{"all others stopped at the first that is over", bug{events: rewrite(work.TriesBegan, func(s *State, e *work.Event, _ *TriesBeganData) {
			p := s.Phases[e.Phase]
			p.Set.TriesUntil = work.TriesFirst
		})}, []string{"and the best one was to win", "the state after a replay differs"}},
		{"what was chosen lands as it was proven in its try", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.TryChosen && p.Contest.Chosen != "" {
				p.Contest.Due, p.Stage, p.Proof = false, StageProven, work.ProofVerified
			}
		})}, []string{"proven was"}},
		{"tries that cost the phase nothing", bug{apply: afterApply(func(s *State, e work.Event) {
			if p := s.Phases[e.Phase]; e.Kind == work.IterationFinished && p != nil && p.Try > 0 {
				s.Phases[p.Parent].Usage.USD = 0
			}
		})}, []string{"cap phase_usd"}},
	} {
		t.Run(tt.name, func(t *testing.T) { h.hunt(t, tt.name, tt.bug, tt.want) })
	}
}
