package orchestrator

import (
	"fmt"
	"slices"
	"testing"

	"forge/internal/pace"
	"forge/internal/work"
)

// atOnce lets phases run side by side, so that they wait for each other's merge.
// Most of the time nobody is asked, and nothing is scarce.
func (l *lab) atOnce(d dice, sp *Spec) {
	if sp.Job != nil {
		return
	}
	set := &sp.Settings
	set.Decomposition = work.DecompositionSettings{} // it has schedules of its own
	if d.rails.IntN(100) < 80 {
		sp.Policy, sp.Bound, sp.Levels, sp.Only, set.Cost = l.autonomous, nil, nil, nil, work.Cost{}
		set.Stale.Threshold, set.FailFast = 0, false
		set.Proof.NoControls = d.rails.IntN(100) < 20
		set.Verify.Commands, set.Verify.None = []string{"make test"}, false
		for n, ps := range set.Phases {
			ps.Verify, ps.Permission = set.Verify.Commands, work.PermissionStandard
			ps.Budget += 2
			set.Phases[n] = ps
		}
	}
	set.MaxParallel, set.MergeBatch = 3+d.rails.IntN(5), 2+d.rails.IntN(6)
	first := set.Phases[sp.Plan.Phases[0].Number]
	for len(sp.Plan.Phases) < 4+d.rails.IntN(4) {
		n := len(sp.Plan.Phases) + 1
		ph := work.Phase{Number: fmt.Sprintf("%02d", n), Name: fmt.Sprintf("phase %d", n), Promise: fmt.Sprintf("P%d", n)}
		sp.Plan.Phases = append(sp.Plan.Phases, ph)
		set.Phases[ph.Number] = first
	}
	for i := range sp.Plan.Phases {
		if d.rails.IntN(100) < 85 {
			sp.Plan.Phases[i].DependsOn = nil
		}
	}
}

// train merges the members of a train onto each other.
func (w *world) train(c Command) Fact {
	done, head := TrainDone{Command: c}, w.s.Head
	for _, n := range w.s.Train.Members {
		p := w.s.Phases[n]
		res := w.onto(c, p, head)
		done.Links = append(done.Links, TrainLink{Phase: n, Result: res})
		if len(res.Conflicts) == 0 && !(w.s.reviews(p) && len(res.Differs) > 0) {
			head = w.commit(res.Tree)
		}
	}
	return done
}

// arrive lands the members of a train.
func (w *world) arrive(c Command, p *Phase) Fact {
	done, head := LandDone{Command: c}, w.s.Head
	land := func(tree string) (commit string, empty bool) {
		if w.commits[head] == tree {
			return head, true
		}
		head = w.commit(tree)
		return head, false
	}
	for _, one := range w.s.landFirst(p, Head{}) {
		commit, empty := land(one.Tree)
		done.Before = append(done.Before, Landed{Phase: one.Phase, Commit: commit, Empty: empty})
	}
	done.Commit, done.Empty = land(p.Merge.Tree)
	if w.rails.IntN(100) < 2 && len(done.Before) > 0 {
		w.fault("a batch that landed otherwise")
		done.Before = done.Before[1:]
	}
	return done
}

// ride is what a member is asked for which another verify stands.
func (w *world) ride(c Command, t *tree, id work.CommandID) Fact {
	d := VerifyDone{Command: c, Report: work.CommandsReport{OK: true}, Rides: id, Evidence: w.evidence(c, t)}
	switch x := w.rails.IntN(100); {
	case x < 2:
		w.fault("nobody held a member against the evidence")
		d.Evidence = nil
	case x < 4:
		w.fault("another verify stands for a member")
		d.Rides += "-of-yesterday"
	}
	return d
}

// trainBooks are about phases that are merged together.
type trainBooks struct {
	lined map[string]int64  // phase → event with which it came to its turn
	held  map[string]string // phase → merged tree that it was held against the evidence with
	last  map[string]string // "" → phase that landed before the last one of a batch
	was   map[string]string // phase → tree that was proven when it boarded
}

func newTrainBooks() trainBooks {
	return trainBooks{lined: map[string]int64{}, held: map[string]string{}, last: map[string]string{}, was: map[string]string{}}
}

// ofTrains: members land in the order in which they were proven, each asked about its
// own change, all of them or none.
func (c *invariants) ofTrains(s *State, p *Phase, e work.Event) error {
	switch e.Kind {
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.To == string(StageTurn) {
			note(c, c.trains.lined, e.Phase, e.Seq)
		}
	case work.IterationStarted:
		note(c, c.trains.was, e.Phase, "")
	case work.MergeFinished:
		var d MergeFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if d.Train > 0 {
			note(c, c.trains.was, e.Phase, c.proven[e.Phase])
		}
	case work.VerifyFinished:
		var d work.VerifyFinishedData
		if err := read(c, e, &d); err != nil || p == nil || p.Merge == nil || d.On != work.OnMerged || !d.OK || !d.Held {
			return err
		}
		if d.Rides != "" && (!s.Train.has(e.Phase) || d.Rides != s.Train.Stands) {
			return fmt.Errorf("%s stands for the verify of phase %s, which is none of its batch", d.Rides, e.Phase)
		}
		note(c, c.trains.held, e.Phase, p.Merge.Tree)
	case work.PhaseMerged:
		return c.landsTogether(s, p, e)
	}
	return nil
}

func (c *invariants) landsTogether(s *State, p *Phase, e work.Event) error {
	var d PhaseMergedData
	if err := read(c, e, &d); err != nil {
		return err
	}
	if !s.Train.has(e.Phase) {
		if d.Train > 0 {
			return fmt.Errorf("phase %s lands in a batch that it is not in", e.Phase)
		}
		return nil
	}
	before := c.trains.last[""]
	switch {
	case before != "" && c.trains.lined[before] > c.trains.lined[e.Phase]:
		return fmt.Errorf("phase %s lands before phase %s, which came to its turn earlier", before, e.Phase)
	case s.controlled("") && c.trains.held[e.Phase] != p.Merge.Tree:
		return fmt.Errorf("phase %s lands in a batch, and nobody held its change against the evidence", e.Phase)
	case p.Merge.Tree != c.w.commits[d.Commit]:
		return fmt.Errorf("phase %s lands tree %s, merged was %s", e.Phase, c.w.commits[d.Commit], p.Merge.Tree)
	}
	if d.Train == 0 {
		note(c, c.trains.last, "", "")
		c.w.fault("a batch has landed")
		return nil
	}
	note(c, c.trains.last, "", e.Phase)
	return nil
}

// together: whoever is merged beside others is in the same batch.
func (c *invariants) together(s *State, merging int) error {
	for _, n := range s.Turns {
		// What was proven with others is proven no more where they go their own ways.
		if was := c.trains.was[n]; was != "" {
			note(c, c.proven, n, was)
			note(c, c.trains.was, n, "")
		}
	}
	if s.Train == nil {
		return nil
	}
	in := 0
	for _, p := range s.Phases {
		switch {
		case p.Merge != nil && p.Stage != StageFinished && p.Stage != StageLanded && s.Train.has(p.Number):
			in++
		case slices.Contains(s.Turns, p.Number) && s.Train.has(p.Number):
			return fmt.Errorf("phase %s waits for its turn, and is in a batch", p.Number)
		}
	}
	if in != merging {
		return fmt.Errorf("%d phases merge at once, %d of them in the batch", merging, in)
	}
	if s.Merger != "" {
		return fmt.Errorf("phase %s has the turn, and a batch has", s.Merger)
	}
	return nil
}

// holds: at no moment at which anything is written does the run hold a tree of which
// no verify said yes, and no phase of a batch has landed without the others.
func (c *invariants) holds(s *State) error {
	if before := c.trains.last[""]; before != "" {
		return fmt.Errorf("phase %s has landed, and the last one of its batch has not", before)
	}
	for _, p := range s.Phases {
		if p.Stage == StageTurn && !slices.Contains(s.Turns, p.Number) && s.Merger != p.Number && !s.Train.has(p.Number) {
			return fmt.Errorf("phase %s is lost: nobody merges it", p.Number)
		}
	}
	return nil
}

const trainSchedules = 2500

// TestSimulationOfTrains plays schedules in which phases are merged together.
func TestSimulationOfTrains(t *testing.T) {
	pace.Slow(t, "thousands of schedules")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.trains = true
	c := reach(t, l, trainSchedules, func(c *coverage) []string {
		return slices.Concat(
			unmet(c.kinds, "no schedule reached %s", string(work.TrainStarted), string(work.TrainFinished), string(work.TrainDecided)),
			unmet(c.faults, "no schedule met %q", "a batch has landed", "a batch that landed otherwise", "nobody held a member against the evidence", "another verify stands for a member", "proven before"),
			unmet(c.gates, "no tree that a batch found red was known to be: %s", gateMerge+" "+decideRed),
		)
	})
	t.Logf("%d events\nfaults %v\nkinds %v\nended %v", c.events, c.faults, c.kinds, c.outcomes)
	checkStates(t, c.edges, false)
}

// Each of these lets something land that should not, or loses somebody, and is found.
func TestSeededBugsOfTrains(t *testing.T) {
	pace.Slow(t, "schedules until each bug is found")
	pace.Sequential(t, "schedules of a pure core, in one goroutine")
	l := newLab(t)
	l.trains = true
	h := newHunter(t, l, 3000)
	for name, tt := range map[string]struct {
		bug  bug
		want []string
	}{
		"a red batch lands": {bug{apply: afterApply(func(s *State, e work.Event) {
			if t := s.Train; t != nil && e.Kind == work.VerifyFinished && t.Stands == "" && t.Span.Bad <= t.Span.Of {
				t.Span.Good, t.Span.Bad = t.Span.Of, t.Span.Of+1
				t.Green.ID = work.CommandID("sim/" + e.Phase)
			}
		})}, []string{"proven false", "green false", "proven was"}},
		"members behind the red one land with the others": {bug{events: rewrite(work.TrainDecided, func(s *State, _ *work.Event, d *TrainDecidedData) {
			if d.Decision == TrainStands && d.Culprit != "" {
				d.Members, d.Culprit = s.Train.Members, ""
			}
		})}, []string{"proven false", "green false", "proven was"}},
		"a member is not asked about its own change": {bug{apply: afterApply(func(s *State, e work.Event) {
			if t := s.Train; t != nil && e.Kind == work.TrainDecided {
				for _, n := range t.Members {
					if p := s.Phases[n]; p.Stage == StageTrain {
						p.Stage = StageLand
					}
				}
			}
		})}, []string{"proven was", "nobody held its change", "whose protected files nobody checked"}},
		"what stands against a member is passed over": {bug{events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			if d.Rides != "" {
				d.Floors, d.Touched, d.Gone, d.OK, d.Held = nil, nil, nil, true, true
			}
		})}, []string{"whose protected files nobody checked", "which nobody held against the trusted evidence", "with tampered tests", "whose trusted evidence is red"}},
		"a member lands that its test runners spoke against": {bug{events: rewrite(work.ControlFinished, func(s *State, e *work.Event, d *work.ControlFinishedData) {
			if s.Train.has(e.Phase) {
				d.Deaf, d.Replaced, d.Lost, d.Problem = nil, nil, nil, ""
			}
		})}, []string{"on which no test can fail", "on which tests are lost"}},
		"the order is turned": {bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.TrainStarted {
				slices.Reverse(s.Train.Members)
			}
		})}, []string{"which came to its turn earlier"}},
		"who leaves is lost": {bug{apply: afterApply(func(s *State, e work.Event) {
			if e.Kind == work.TrainDecided {
				s.Turns = nil
			}
		})}, []string{"is lost"}},
		"a batch lands in part": {bug{events: func(s *State, _ Fact, evs []work.Event) []work.Event {
			if n := len(evs); n > 1 && evs[n-1].Kind == work.PhaseMerged && s.Train != nil {
				return evs[:n-1]
			}
			return evs
		}}, []string{"the last one of its batch has not"}},
		"a verify of yesterday stands": {bug{fact: func(s *State, f Fact) Fact {
			if v, ok := f.(VerifyDone); ok && v.Rides != "" {
				v.Rides = s.rides(s.Phases[v.Command.Phase])
				return v
			}
			return f
		}, events: rewrite(work.VerifyFinished, func(_ *State, _ *work.Event, d *work.VerifyFinishedData) {
			if d.Rides != "" {
				d.Rides = "sim/01/1/1/verify-snapshot"
			}
		})}, []string{"which is none of its batch"}},
	} {
		h.hunt(t, name, tt.bug, tt.want)
	}
}
