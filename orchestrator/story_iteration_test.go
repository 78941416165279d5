package orchestrator

import (
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

func TestFailuresInARow(t *testing.T) {
	const (
		failed = work.OutcomeAgentFailed
		idle   = work.OutcomeIdleTimeout
		ok     = work.OutcomeOK
	)
	tests := []struct {
		name     string
		outcomes []work.Outcome
		want     work.Reason // "" = goes on
	}{
		{"three failures", []work.Outcome{failed, failed, failed}, work.ReasonAgentFailed},
		{"two failures", []work.Outcome{failed, failed}, ""},
		{"an ok between", []work.Outcome{failed, failed, ok, failed, failed}, ""},
		{"a timeout between", []work.Outcome{failed, failed, idle, failed, failed}, ""},
		{"an unknown outcome is a failure", []work.Outcome{failed, "", failed}, work.ReasonAgentFailed},
		{"two hung", []work.Outcome{idle, idle}, work.ReasonAgentHung},
		{"hung in different ways", []work.Outcome{work.OutcomeStartTimeout, work.OutcomeIterationTimeout}, work.ReasonAgentHung},
		{"one hung", []work.Outcome{idle}, ""},
		{"hung, ok, hung", []work.Outcome{idle, ok, idle}, ""},
		{"ended after its result is not hung", []work.Outcome{work.OutcomePostResult, work.OutcomePostResult}, ""},
		{"an interruption neither counts nor resets", []work.Outcome{failed, failed, work.OutcomeInterrupted, failed}, work.ReasonAgentFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st := tell(t, budget(9))
			for _, o := range tt.outcomes {
				st.work("01", ends(o))
			}
			if tt.want == "" {
				st.stands("01", StageIterate)
				return
			}
			st.ended("01", work.PhaseFailed, tt.want)
		})
	}
}

// An outage is not an iteration: it neither counts nor resets what is counted.
func TestAnOutageIsNoIteration(t *testing.T) {
	st := tell(t, setting(func(s *work.Settings) { s.Stale.Threshold = 2 }))
	st.work("01", ends(work.OutcomeAgentFailed))
	st.work("01", ends(work.OutcomeAgentFailed))
	st.work("01", ends(work.OutcomeRateLimited), changesNothing)
	p := st.phase("01")
	if p.Spent != 2 || p.Iteration != 2 || p.FailedRow != 2 || p.Stale.Count != 0 {
		t.Errorf("spent %d, iteration %d, failed in a row %d, without progress %d; want 2, 2, 2, 0", p.Spent, p.Iteration, p.FailedRow, p.Stale.Count)
	}
	st.isPending("01 wait")
	st.later(time.Minute)
	st.feed(Tick{})
	c := st.begun("01", StepIterate)
	if c.Iteration != 3 || c.Attempt != 2 {
		t.Errorf("after the outage iteration %d, attempt %d begins; want 3 and 2", c.Iteration, c.Attempt)
	}
}

func TestOutages(t *testing.T) {
	out := ends(work.OutcomeRateLimited)
	until := func(st *story) time.Duration { return last[OutageData](st, work.OutageBegan).Until.Sub(st.now) }
	over := func(st *story) {
		st.later(until(st))
		st.feed(Tick{})
	}
	t.Run("backoff", func(t *testing.T) {
		st := tell(t)
		for _, want := range []time.Duration{30, 60, 120, 240, 300, 300} {
			st.work("01", out)
			if got := until(st); got != want*time.Second {
				t.Fatalf("Forge waits %s, want %s", got, want*time.Second)
			}
			over(st)
		}
	})
	t.Run("a tick before the time ends nothing", func(t *testing.T) {
		st := tell(t)
		st.work("01", out)
		st.later(29 * time.Second)
		st.feed(Tick{})
		st.isPending("01 wait")
	})
	resetIn := func(st *story, d time.Duration) func(*IterationDone) {
		at := st.now.Add(d)
		return func(done *IterationDone) { done.Report.Outcome, done.Report.ResetAt = work.OutcomeRateLimited, &at }
	}
	t.Run("until the reset time", func(t *testing.T) {
		st := tell(t)
		st.work("01", resetIn(st, 20*time.Minute))
		if got := until(st); got != 20*time.Minute {
			t.Errorf("Forge waits %s, want 20m", got)
		}
	})
	t.Run("a reset time that is over", func(t *testing.T) {
		st := tell(t)
		st.work("01", resetIn(st, -time.Hour))
		if got := until(st); got != 30*time.Second {
			t.Errorf("Forge waits %s, want 30s", got)
		}
	})
	t.Run("a reset time beyond the limit", func(t *testing.T) {
		st := tell(t)
		st.work("01", resetIn(st, 31*time.Minute))
		st.stopped(work.RunLimit, "outage_wait")
		st.runEnded(work.RunLimit)
		st.dies(Resumed{})
		st.isPending("01 iterate")
	})
	t.Run("longer than the limit, all in all", func(t *testing.T) {
		st := tell(t)
		for n := 0; st.s.Stopping == nil; n++ {
			if n > 20 {
				t.Fatal("Forge waits for ever")
			}
			st.work("01", out)
			if st.s.Stopping == nil {
				over(st)
			}
		}
		st.runEnded(work.RunLimit)
	})
	t.Run("an outage after a good iteration is a new one", func(t *testing.T) {
		st := tell(t)
		st.work("01", out)
		over(st)
		st.work("01")
		st.later(2 * time.Hour)
		st.work("01", out)
		if st.s.Stopping != nil {
			t.Fatalf("the run is stopping: %s", st.s.Stopping.Reason)
		}
		if got := until(st); got != 30*time.Second {
			t.Errorf("Forge waits %s, want 30s", got)
		}
	})
	t.Run("it holds its own phase only", func(t *testing.T) {
		st := tell(t, phases("01", "02"))
		st.work("01", out)
		st.isPending("01 wait", "02 folder")
	})
}

func TestReadonly(t *testing.T) {
	readonly := ofPhase01(func(ps *work.PhaseSettings) { ps.Permission = work.PermissionReadonly })
	t.Run("a change fails the phase and is dropped", func(t *testing.T) {
		st := tell(t, readonly)
		st.work("01", says("P01"))
		st.ended("01", work.PhaseFailed, work.ReasonReadonlyViolation)
		if p := st.phase("01"); p.Last != "c0" {
			t.Errorf("the phase stands at %s, want its base", p.Last)
		}
	})
	t.Run("no change", func(t *testing.T) {
		st := tell(t, readonly)
		st.work("01", says("P01"), changesNothing)
		st.stands("01", StageVerify)
		if !strings.Contains(st.s.Phases["01"].describe(), "readonly") {
			t.Error("the question about its start does not say that it is readonly")
		}
	})
}

func TestOtherEnds(t *testing.T) {
	t.Run("cancelled", func(t *testing.T) {
		st := tell(t)
		st.work("01", ends(work.OutcomeCancelled))
		if p := st.phase("01"); p.Outcome != work.PhaseCancelled {
			t.Errorf("the phase is %s, want cancelled", p.Outcome)
		}
	})
	t.Run("setup is red: no iteration is spent", func(t *testing.T) {
		st := tell(t)
		st.feed(FolderDone{Command: st.begun("01", StepFolder), Setup: work.CommandsReport{Problem: "npm ci failed"}})
		st.ended("01", work.PhaseFailed, work.ReasonSetupFailed)
		if n := st.count(work.IterationStarted); n != 0 {
			t.Errorf("%d iterations were spent", n)
		}
	})
	t.Run("the budget is used up", func(t *testing.T) {
		st := tell(t, budget(2))
		st.work("01")
		st.work("01")
		st.ended("01", work.PhaseFailed, work.ReasonBudgetExhausted)
	})
	t.Run("an interrupted iteration runs again under its number", func(t *testing.T) {
		st := tell(t)
		st.work("01")
		st.work("01", ends(work.OutcomeInterrupted))
		c := st.begun("01", StepIterate)
		if c.Iteration != 2 || c.Attempt != 2 || !st.phase("01").Reset || st.phase("01").Spent != 1 {
			t.Errorf("iteration %d, attempt %d begins (folder set back: %v, spent %d), want 2, 2, true and 1", c.Iteration, c.Attempt, st.phase("01").Reset, st.phase("01").Spent)
		}
	})
	t.Run("a new session after context_limit", func(t *testing.T) {
		st := tell(t, ofPhase01(func(ps *work.PhaseSettings) { ps.ContextTokens = 100 }))
		st.work("01", uses(0, 100))
		if got := st.s.sessionOf(st.phase("01")); got != "session" {
			t.Errorf("below the limit the session is %q", got)
		}
		st.work("01", uses(0, 101))
		if got := st.s.sessionOf(st.phase("01")); got != "" {
			t.Errorf("above the limit the session %q is continued", got)
		}
	})
}

func TestStale(t *testing.T) {
	threshold := func(n int) func(*Spec) {
		return setting(func(s *work.Settings) { s.Stale.Threshold = n })
	}
	const pivot = "Stop working on the current approach"
	t.Run("off", func(t *testing.T) {
		st := tell(t, threshold(0), budget(9))
		for range 8 {
			st.work("01", changesNothing)
		}
		st.stands("01", StageIterate)
	})
	t.Run("first the pivot, in the next prompt only; then the phase fails", func(t *testing.T) {
		st := tell(t, threshold(2), budget(9))
		st.work("01", changesNothing)
		if strings.Contains(st.prompt("01"), pivot) {
			t.Error("the pivot comes before its time")
		}
		st.work("01", changesNothing)
		if p := st.phase("01"); !strings.Contains(st.prompt("01"), pivot) || st.s.sessionOf(p) != "" {
			t.Errorf("the pivot is not in the next prompt, or its session is the old one:\n%s", st.prompt("01"))
		}
		st.work("01", changesNothing)
		if strings.Contains(st.prompt("01"), pivot) {
			t.Error("the pivot is in the prompt after the next, too")
		}
		st.work("01", changesNothing)
		st.ended("01", work.PhaseFailed, work.ReasonStale)
	})
	t.Run("the pivot outlives an interruption", func(t *testing.T) {
		st := tell(t, threshold(1), budget(9))
		st.work("01", changesNothing)
		st.work("01", changesNothing, ends(work.OutcomeInterrupted))
		if !strings.Contains(st.prompt("01"), pivot) {
			t.Error("the iteration that runs again has lost the pivot")
		}
	})
	t.Run("progress in between does not take the pivot back", func(t *testing.T) {
		st := tell(t, threshold(2), budget(9))
		for _, told := range [][]func(*IterationDone){{changesNothing}, {changesNothing}, nil, {changesNothing}, {changesNothing}} {
			st.work("01", told...)
		}
		st.ended("01", work.PhaseFailed, work.ReasonStale)
	})
	t.Run("a percentage above the best is progress", func(t *testing.T) {
		st := tell(t, threshold(2), budget(9))
		for _, percent := range []float64{10, 10, 20, 15, 30, 30} {
			st.work("01", changesNothing, reports(percent))
		}
		if n := st.phase("01").Stale.Count; n != 1 {
			t.Errorf("%d iterations without progress are counted, want 1", n)
		}
	})
	t.Run("the same blocker twice without progress", func(t *testing.T) {
		for name, tt := range map[string]struct {
			off  int
			told [][]func(*IterationDone)
			ends bool
		}{
			"said the same way":               {3, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing, blocks("no API key")}}, true},
			"said a little differently":       {3, [][]func(*IterationDone){{changesNothing, blocks("Try 1: no API key.")}, {changesNothing, blocks("other", "try 2:  no API KEY")}}, true},
			"with the stale check off":        {0, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing, blocks("no API key")}}, true},
			"where the stale check is due":    {2, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing, blocks("no API key")}}, true},
			"a failed iteration between them": {3, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing, ends(work.OutcomeAgentFailed)}, {changesNothing, blocks("no API key")}}, true},
			"another blocker":                 {3, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing, blocks("no network")}}, false},
			"the tree changes":                {3, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {blocks("no API key")}}, false},
			"a percentage rises":              {3, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing, reports(10), blocks("no API key")}}, false},
			"none in between":                 {4, [][]func(*IterationDone){{changesNothing, blocks("no API key")}, {changesNothing}, {changesNothing, blocks("no API key")}}, false},
		} {
			st := tell(t, threshold(tt.off), budget(9))
			for _, told := range tt.told {
				st.work("01", told...)
			}
			if !tt.ends {
				st.stands("01", StageIterate)
				continue
			}
			st.ended("01", work.PhaseFailed, work.ReasonBlocked)
			if p := st.phase("01"); !strings.Contains(strings.ToLower(p.Detail), "no api key") || p.Iteration != len(tt.told) {
				t.Errorf("%s: %q after %d iterations", name, p.Detail, p.Iteration)
			}
		}
	})
	t.Run("a claim that is proven comes before the blocker", func(t *testing.T) {
		st := tell(t, threshold(3), budget(9))
		st.work("01", changesNothing, blocks("no API key"))
		st.work("01", changesNothing, blocks("no API key"), says(st.phase("01").Plan.Promise))
		st.verify("01", true)
		st.isPending("01 merge")
	})
	t.Run("the next attempt at the phase begins anew", func(t *testing.T) {
		st := tell(t, threshold(3), budget(9))
		st.work("01", changesNothing, blocks("no API key"))
		st.work("01", changesNothing, blocks("no API key"))
		st.ended("01", work.PhaseFailed, work.ReasonBlocked)
		st.feed(Resumed{Reopen: true})
		if !strings.Contains(st.prompt("01"), "no API key") {
			t.Error("the next attempt is not told what stopped the last one")
		}
		st.work("01", changesNothing, blocks("no API key"))
		st.stands("01", StageIterate)
	})
	t.Run("failed iterations are not no progress", func(t *testing.T) {
		st := tell(t, threshold(1), budget(9))
		st.work("01", changesNothing, ends(work.OutcomeAgentFailed))
		st.work("01", changesNothing, ends(work.OutcomeIdleTimeout))
		if n := st.phase("01").Stale.Count; n != 0 {
			t.Errorf("%d iterations without progress are counted, want none", n)
		}
	})
	t.Run("each phase has its own", func(t *testing.T) {
		st := tell(t, phases("01", "02"), threshold(2))
		st.work("01", changesNothing)
		st.work("02", changesNothing)
		for _, n := range []string{"01", "02"} {
			if strings.Contains(st.prompt(n), pivot) {
				t.Errorf("phase %s pivots after one iteration", n)
			}
		}
		st.work("01", changesNothing)
		if !strings.Contains(st.prompt("01"), pivot) || strings.Contains(st.prompt("02"), pivot) {
			t.Error("the pivot of 01 is not its own")
		}
	})
	t.Run("a claim comes before the stale check", func(t *testing.T) {
		st := tell(t, threshold(1))
		st.work("01", changesNothing, says("P01"))
		st.stands("01", StageVerify)
		st.verify("01", false)
		if !strings.Contains(st.prompt("01"), pivot) {
			t.Error("a red claim without progress does not pivot")
		}
	})
	t.Run("the owner's own pivot prompt", func(t *testing.T) {
		st := tell(t, threshold(1), setting(func(s *work.Settings) { s.Stale.PivotPrompt = "try the other door" }))
		st.work("01", changesNothing)
		if prompt := st.prompt("01"); !strings.Contains(prompt, "try the other door") || strings.Contains(prompt, pivot) {
			t.Errorf("the prompt has another pivot:\n%s", prompt)
		}
	})
}
