package orchestrator

import (
	"slices"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// tried lets phase 01 be tried so often.
func tried(n int, change ...func(*work.PhaseSettings)) func(*Spec) {
	return ofPhase01(func(ps *work.PhaseSettings) {
		ps.Tries = n
		for _, c := range change {
			c(ps)
		}
	})
}

func untilFirst(ps *work.PhaseSettings) { ps.TriesUntil = work.TriesFirst }

// measuring says how many lines a try has changed.
func measuring(n int) func(*IterationDone) {
	return func(d *IterationDone) { d.Size = lines(n) }
}

// proves lets a try claim, and be proven.
func (st *story) proves(n string, told ...func(*IterationDone)) {
	st.t.Helper()
	st.work(n, append([]func(*IterationDone){says("P01"), uses(0.1, 10)}, told...)...)
	st.verify(n, true)
}

// gives lets a try use up its budget.
func (st *story) givesUp(n string) {
	st.t.Helper()
	for range st.phase(n).Budget {
		st.work(n, uses(0.1, 10))
	}
}

func TestAPhaseIsTriedSeveralTimes(t *testing.T) {
	st := tell(t, tried(3, func(ps *work.PhaseSettings) { ps.TryAgents = []work.TryAgent{{Agent: "a"}, {Agent: "b", Model: "big"}} }), budget(2))
	st.isPending("01.1 folder", "01.2 folder", "01.3 folder")
	for n, agent := range map[string]string{"01.1": "a", "01.2": "b", "01.3": "a"} {
		p := st.phase(n)
		if p.Set.Agent != agent || p.Base != "c0" || p.Plan.Promise != "P01" || p.Budget != 2 || p.Parent != "01" {
			t.Errorf("try %s is %+v by %s at %s", n, p.Plan, p.Set.Agent, p.Base)
		}
	}
	if m := st.phase("01.2").Set.Model; m != "big" {
		t.Errorf("the second try is made by model %q", m)
	}
	st.givesUp("01.1")
	st.proves("01.2", measuring(9))
	if c := st.phase("01").Contest; c.Chosen != "" {
		t.Fatalf("try %s is chosen before all are over", c.Chosen)
	}
	st.proves("01.3", measuring(4))
	d := last[TryChosenData](st, work.TryChosen)
	if d.Number != "01.3" || d.By != "rule:tries" || len(d.Tries) != 3 || d.Tries[0].Proven || !strings.Contains(d.Tries[0].Why, "budget_exhausted") || d.Tries[1].Why != "as good, with more lines changed" {
		t.Errorf("chosen is %+v", d)
	}
	// It is proven as the phase's own, and goes on as any phase does.
	p := st.phase("01")
	if p.Last != st.phase("01.3").Last || p.Proof == work.ProofVerified || p.Spent != 1 {
		t.Errorf("the phase goes on from %s with proof %q and %d spent", p.Last, p.Proof, p.Spent)
	}
	st.isPending("01 folder")
	st.folder("01")
	st.isPending("01 verify")
	st.verify("01", true)
	st.isPending("01 merge")
	if usd := p.Usage.USD; usd < 0.399 || usd > 0.401 || st.phase("01.1").Usage.USD > 0.201 {
		t.Errorf("the phase spent %v, its first try %v: all tries are to count together", usd, st.phase("01.1").Usage.USD)
	}
}

func TestTriesShareThePlaces(t *testing.T) {
	st := tell(t, tried(3), setting(func(set *work.Settings) { set.MaxParallel = 2 }))
	st.isPending("01.1 folder", "01.2 folder")
	if got := st.phase("01.3").Stage; got != StageReady {
		t.Errorf("the third try stands at %s without a place", got)
	}
	st.proves("01.1")
	st.isPending("01.2 folder", "01.3 folder")
}

func TestNoTryIsProven(t *testing.T) {
	st := tell(t, tried(2), budget(1))
	st.givesUp("01.1")
	st.work("01.2", ends(work.OutcomeReadonlyViolation))
	p := st.phase("01")
	if p.Outcome != work.PhaseFailed || p.Reason != work.ReasonTriesFailed || !strings.Contains(p.Detail, "01.1 budget_exhausted") || !strings.Contains(p.Detail, "01.2 readonly_violation") {
		t.Errorf("the phase is %s: %s %s", p.Outcome, p.Reason, p.Detail)
	}
	if st.count(work.TryChosen) > 0 {
		t.Error("a try that is not proven was chosen")
	}
}

// A try that crashed, and one whose proof nobody saw the end of, never win.
func TestWhatNobodyKnowsTheEndOfNeverWins(t *testing.T) {
	st := tell(t, tried(2), budget(1))
	st.work("01.1", says("P01"))
	st.feed(Broke{Command: st.begun("01.1", StepVerify), Problem: "the machine is gone"})
	st.proves("01.2")
	if d := last[TryChosenData](st, work.TryChosen); d.Number != "01.2" || d.Tries[0].Proven {
		t.Errorf("chosen is %+v", d)
	}
}

func TestTheFirstGoodTryEndsTheOthers(t *testing.T) {
	st := tell(t, tried(3, untilFirst), setting(func(set *work.Settings) { set.MaxParallel = 2 }))
	st.folder("01.1")
	st.folder("01.2")
	working := st.begun("01.2", StepIterate)
	st.proves("01.1")
	// One that never began is over at once; of one at work what it costs is awaited.
	if p := st.phase("01.3"); p.Outcome != work.PhaseCancelled || p.Last != "c0" {
		t.Errorf("the third try is %s", p.Outcome)
	}
	p := st.phase("01.2")
	if p.Stage != StageIterate || p.Stopped == "" || st.count(work.TryChosen) > 0 {
		t.Fatalf("the second try stands at %s, stopped %q", p.Stage, p.Stopped)
	}
	d := IterationDone{Command: working, Report: work.IterationReport{Outcome: work.OutcomeTold}}
	uses(0.3, 10)(&d)
	st.feed(d)
	if p.Outcome != work.PhaseCancelled || st.s.Ledger.UnknownUSD > 0 || p.Usage.USD != 0.3 {
		t.Errorf("the second try is %s with %v spent, %d unknown", p.Outcome, p.Usage.USD, st.s.Ledger.UnknownUSD)
	}
	if d := last[TryChosenData](st, work.TryChosen); d.Number != "01.1" {
		t.Errorf("chosen is %s", d.Number)
	}
}

func TestAPersonChoosesATry(t *testing.T) {
	begin := func(t *testing.T) (*story, *work.Checkpoint) {
		st := tell(t, tried(3), human(gates.PointTries))
		st.proves("01.1", measuring(9))
		st.proves("01.2", measuring(4))
		st.work("01.3", ends(work.OutcomeReadonlyViolation))
		for _, cp := range st.s.Open {
			return st, cp
		}
		t.Fatal("nobody is asked")
		return nil, nil
	}
	names := func(cp *work.Checkpoint) (out []string) {
		for _, c := range cp.Choices {
			out = append(out, c.Name)
		}
		return out
	}
	st, cp := begin(t)
	if got := names(cp); !slices.Equal(got, []string{"try-01.1", "try-01.2", "changes", "none", ChoiceAbort}) {
		t.Errorf("the choices are %q", got)
	}
	if !strings.Contains(cp.Facts, "try 01.2 by a: proven, no findings, 4 lines in 1 file, $0.10 (proposed)") || !strings.Contains(cp.Facts, "forge diff --run sim NUMBER") {
		t.Errorf("a person is told\n%s", cp.Facts)
	}
	answer := func(st *story, cp *work.Checkpoint, status work.CheckpointStatus, choice, comment string) {
		st.feed(Answered{Answer: work.Answer{Checkpoint: cp.ID, Status: status, Choice: choice, Comment: comment, By: "ann", Door: "cli", At: st.now}})
	}
	answer(st, cp, work.CheckpointApproved, "try-01.3", "") // not proven
	if got := last[CheckpointAnsweredData](st, work.CheckpointAnswered); got.Refused == "" {
		t.Error("a try that is not proven could be chosen")
	}
	answer(st, cp, work.CheckpointApproved, "try-01.1", "simpler")
	if d := last[TryChosenData](st, work.TryChosen); d.Number != "01.1" || d.By != "person:ann" || !strings.Contains(d.Why, "simpler") || !strings.Contains(d.Tries[1].Why, "not chosen") {
		t.Errorf("chosen is %+v", d)
	}
	st.folder("01")
	st.isPending("01 verify")

	st, cp = begin(t)
	answer(st, cp, work.CheckpointChangesRequested, "", "shorter names")
	st.folder("01")
	if p := st.phase("01"); p.Last != st.phase("01.2").Last || !strings.Contains(st.prompt("01"), "shorter names") {
		t.Errorf("the phase goes on from %s", p.Last)
	}
	st.isPending("01 iterate")

	st, cp = begin(t)
	answer(st, cp, work.CheckpointRejected, "", "none of it")
	if p := st.phase("01"); p.Outcome != work.PhaseFailed || p.Reason != work.ReasonRejected {
		t.Errorf("the phase is %s %s", p.Outcome, p.Reason)
	}
}

// What is proven in a try is not believed of the phase: red there, and it goes on
// from that work.
func TestWhatWasChosenIsProvenAnew(t *testing.T) {
	st := tell(t, tried(2), budget(3))
	st.proves("01.1", measuring(1))
	st.proves("01.2", measuring(2))
	st.folder("01")
	st.verify("01", false)
	st.isPending("01 iterate")
	if p := st.phase("01"); p.Spent != 1 || !strings.Contains(st.prompt("01"), "Verify failed") || !strings.Contains(st.prompt("01"), "chosen among several") {
		t.Errorf("after a red proof %d are spent, and the prompt is\n%s", p.Spent, st.prompt("01"))
	}
}

func TestATryIsNotSplitAndHasNoParts(t *testing.T) {
	st := tell(t, splits(), tried(2), budget(12))
	st.work("01.1", wantsSplit)
	if sp := st.phase("01.1").Split; sp.Ask || sp.Why != "" {
		t.Errorf("a try is split: %+v", sp)
	}
	st.work("01.2", asksFor(part("X", 1)))
	if d := last[work.GateDecidedData](st, work.GateDecided); st.count(work.SubPhaseSpawned) > 0 {
		t.Errorf("a try has a sub-phase: %+v", d)
	}
}
