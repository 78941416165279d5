package orchestrator

import (
	"fmt"
	"math/rand/v2"
	"time"

	"forge/gates"
	"forge/internal/work"
)

// world is everything outside the core, made of values: the journal, the git
// repository, the agent, the people. It is seeded, so that a schedule can be
// run again.
type world struct {
	rng     *rand.Rand
	spec    Spec
	s       *State
	now     time.Time
	journal []work.Event
	under   map[work.CommandID]Command // begun in this process
	late    []Fact                     // results that were delivered already, to be doubled
	trees   map[string]string          // commit → tree
	green   map[string]bool            // tree → its verify is green (the truth)
	evil    map[string]bool            // tree → its tests were tampered with
	proven  map[string]bool            // trees that a verify said yes to
	commits int
	runs    map[string]int // iterations started, by phase/iteration/attempt
	faults  map[string]int
	bug     bug
	check   *invariants
	trail   []string
}

// bug breaks the core on purpose: it changes events before they are applied,
// or the state after.
type bug struct {
	name   string
	events func(s *State, evs []work.Event) []work.Event
	state  func(s *State)
}

func newWorld(seed uint64, b bug) (*world, error) {
	w := &world{
		rng: rand.New(rand.NewPCG(seed, 0x5eed)), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), bug: b,
		under: map[work.CommandID]Command{}, trees: map[string]string{}, green: map[string]bool{}, evil: map[string]bool{},
		proven: map[string]bool{}, runs: map[string]int{}, faults: map[string]int{},
	}
	w.spec = w.randomSpec()
	w.trees[w.spec.Base.Commit] = "t0"
	w.green["t0"] = w.rng.IntN(20) > 0
	s, err := NewState("sim", w.spec)
	if err != nil {
		return nil, err
	}
	w.s = s
	w.check = newInvariants(w)
	return w, nil
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

func (w *world) randomSpec() Spec {
	preset := gates.PresetAutonomous
	if w.chance(40) {
		preset = gates.PresetInteractive
	}
	policy, _ := gates.Preset(preset)
	n := 1 + w.rng.IntN(7)
	sp := Spec{Policy: policy, Branch: "forge/run-sim", Base: work.Base{Commit: "c0", Branch: "main"}}
	set := work.Settings{
		MaxParallel: 1 + w.rng.IntN(3), FailFast: w.chance(10), AutoApproveThreshold: 5, OutageWaitSecs: 1800,
		Stale:  work.StaleSettings{Threshold: w.rng.IntN(4)},
		Agents: map[string]work.AgentSettings{"a": {Name: "a", Continues: w.chance(50)}},
		Phases: map[string]work.PhaseSettings{},
	}
	if w.chance(70) {
		set.Verify.Commands = []string{"make test"}
	}
	if w.chance(30) {
		usd, per := 0.5+w.rng.Float64()*4, 0.25
		set.Cost.RunUSD, set.Cost.IterationUSD = &usd, &per
	}
	sp.AnswerYes = w.chance(20)
	for i := range n {
		ph := work.Phase{Number: fmt.Sprintf("%02d", i+1), Name: fmt.Sprintf("phase %d", i+1), Promise: fmt.Sprintf("P%d", i+1)}
		for j := range i {
			if w.chance(30) {
				ph.DependsOn = append(ph.DependsOn, fmt.Sprintf("%02d", j+1))
			}
		}
		ps := work.PhaseSettings{Budget: 1 + w.rng.IntN(5), Agent: "a", Permission: work.PermissionStandard, AskIteration: w.chance(5), Verify: set.Verify.Commands}
		if w.chance(5) {
			ps.Permission = work.PermissionReadonly
		}
		sp.Plan.Phases = append(sp.Plan.Phases, ph)
		set.Phases[ph.Number] = ps
	}
	sp.Settings = set
	return sp
}

func (w *world) commit(tree string) string {
	w.commits++
	c := fmt.Sprintf("c%d", w.commits)
	w.trees[c] = tree
	return c
}

func (w *world) newTree(parent string) string {
	w.commits++
	t := fmt.Sprintf("t%d", w.commits)
	w.green[t] = w.chance(60)
	w.evil[t] = w.chance(5)
	_ = parent
	return t
}

// outcome carries a command out: the truth of the world, as a fact.
func (w *world) outcome(c Command) Fact {
	if w.chance(1) {
		w.faults["broke"]++
		return Broke{Command: c, Problem: "no space left"}
	}
	p := w.s.Phases[c.Phase]
	switch c.Step {
	case StepFolder:
		return FolderDone{Command: c, Setup: work.CommandsReport{OK: w.chance(97), Problem: "setup is red"}}
	case StepIterate:
		return w.iterate(c, p)
	case StepBase, StepVerify:
		return w.verify(c)
	case StepMerge:
		return w.merge(c, p)
	case StepLand:
		tree := p.Merge.Tree
		if w.trees[w.s.Head] == tree {
			return LandDone{Command: c, Commit: w.s.Head, Empty: true}
		}
		return LandDone{Command: c, Commit: w.commit(tree)}
	case StepDeliver:
		return DeliverDone{Command: c, Delivery: work.Delivery{Branch: w.spec.Branch, Commit: c.Commit}}
	}
	return nil
}

func (w *world) iterate(c Command, p *Phase) Fact {
	rep := work.IterationReport{Outcome: work.OutcomeOK, Session: "s1", Sandbox: "none", Signals: work.Signals{}}
	one, cost := int64(100), w.rng.Float64()*0.25
	rep.Usage = work.Usage{InputTokens: &one, OutputTokens: &one, CostUSD: &cost}
	if w.chance(15) {
		rep.Usage = work.Usage{}
		w.faults["silence"]++
	}
	switch x := w.rng.IntN(100); {
	case x < 6:
		rep.Outcome = work.OutcomeAgentFailed
	case x < 10:
		rep.Outcome = work.OutcomeIdleTimeout
	case x < 13:
		rep.Outcome = work.OutcomeRateLimited
	case x < 14:
		rep.Outcome = work.OutcomePostResult
	case x < 15:
		rep.Outcome = "" // nobody knows
	}
	if w.chance(35) {
		rep.Claims = []string{p.Plan.Promise}
	} else if w.chance(5) {
		rep.Claims = []string{p.Plan.Promise, "something else"}
	}
	if w.chance(8) {
		rep.Signals.SubPhases = append(rep.Signals.SubPhases, work.SubPhaseRequest{
			Name: "part", Promise: fmt.Sprintf("S%d", w.rng.IntN(1000)), Budget: 1 + w.rng.IntN(3),
		})
	}
	done := IterationDone{Command: c, Report: rep}
	parent := c.Commit
	if p.Kind == IterationResolve {
		parent = p.Merge.Commit
		if w.chance(20) {
			done.Markers = []string{"a.txt"}
		}
	}
	tree := w.trees[parent]
	done.Snapshot = work.Snapshot{Commit: parent, Tree: tree}
	if w.chance(60) {
		tree = w.newTree(tree)
		done.Snapshot = work.Snapshot{Commit: w.commit(tree), Tree: tree, Changed: true, Files: []work.FileChange{{Path: "a.txt", Status: "M"}}}
	}
	return done
}

func (w *world) verify(c Command) Fact {
	tree := w.trees[c.Commit]
	d := VerifyDone{Command: c, Report: work.CommandsReport{OK: w.green[tree], Problem: "red", Ran: []work.CommandReport{{Command: "make test", OK: w.green[tree]}}}}
	switch {
	case c.On == work.OnProtected:
		d.Report.OK = w.green[tree] && !w.evil[tree]
		d.Report.Ran[0].OK = d.Report.OK
		if d.Report.OK {
			w.proven[tree+"/protected"] = true
		}
	case d.Report.OK && c.On != work.OnBase:
		w.proven[tree] = true
		if w.evil[tree] {
			d.Touched = []string{"Makefile"}
		}
	}
	return d
}

func (w *world) merge(c Command, p *Phase) Fact {
	res := MergeFinishedData{Command: c.ID, Head: w.s.Head, Moved: w.s.Head != p.Base, Commit: p.Last, Tree: w.trees[p.Last], Files: 1}
	if res.Moved {
		res.Tree = w.newTree(res.Tree)
		if w.chance(25) {
			res.Conflicts = []string{"a.txt"}
		}
		res.Commit = w.commit(res.Tree)
	}
	return MergeDone{Command: c, Result: res}
}
