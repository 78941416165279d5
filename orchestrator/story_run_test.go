package orchestrator

import (
	"testing"

	"forge/gates"
	"forge/internal/work"
)

func fails(st *story, n string) {
	st.t.Helper()
	for st.phase(n).Stage != StageFinished {
		st.work(n)
	}
}

func TestSkips(t *testing.T) {
	t.Run("the cause is the first failure; the rest goes on", func(t *testing.T) {
		st := tell(t, phases("01", "02 after 01", "03 after 02", "04"))
		fails(st, "01")
		for _, n := range []string{"02", "03"} {
			st.ended(n, work.PhaseSkipped, work.ReasonDependencyFailed)
			if cause := st.phase(n).Cause; cause != "01" {
				t.Errorf("phase %s is skipped because of %q, want 01", n, cause)
			}
		}
		st.isPending("04 folder")
		st.done("04")
		st.deliver()
		st.runEnded(work.RunFailed)
	})
	t.Run("of two failures the first", func(t *testing.T) {
		st := tell(t, phases("01", "02", "03 after 01,02"))
		fails(st, "02")
		fails(st, "01")
		if cause := st.phase("03").Cause; cause != "02" {
			t.Errorf("phase 03 is skipped because of %q, want 02", cause)
		}
	})
	t.Run("nothing merged, nothing delivered", func(t *testing.T) {
		st := tell(t)
		fails(st, "01")
		st.runEnded(work.RunFailed)
		if st.count(work.DeliverStarted) != 0 {
			t.Error("an empty branch was delivered")
		}
	})
}

func TestOnly(t *testing.T) {
	st := tell(t, phases("01", "02 after 01", "03 after 02"), func(sp *Spec) { sp.Only = []string{"02"} })
	st.isPending("02 folder")
	st.done("02")
	st.deliver()
	st.runEnded(work.RunCompleted)
	for _, n := range []string{"01", "03"} {
		if p := st.phase(n); p.Outcome != work.PhaseDone || p.Proof != work.ProofWaived {
			t.Errorf("phase %s, left out, is %s by %s", n, p.Outcome, p.Proof)
		}
	}
}

func TestFailFast(t *testing.T) {
	st := tell(t, phases("01", "02", "03", "04 after 03"), setting(func(s *work.Settings) { s.FailFast, s.MaxParallel = true, 2 }))
	st.folder("01")
	st.isPending("03 folder", "01 iterate") // the longest path first
	fails(st, "01")
	st.ended("02", work.PhaseCancelled, "")
	st.stands("03", StageFolder) // what is under way goes on
	st.done("03")
	st.ended("04", work.PhaseCancelled, "")
	st.deliver()
	st.runEnded(work.RunFailed)
}

func TestParallel(t *testing.T) {
	st := tell(t, phases("01", "02", "03"), setting(func(s *work.Settings) { s.MaxParallel = 2 }))
	st.isPending("01 folder", "02 folder")
	st.work("01", says("P01"))
	st.isPending("01 verify", "02 folder")
	st.verify("01", true)
	st.merge("01")
	st.isPending("01 land", "02 folder")
	st.land("01")
	st.isPending("02 folder", "03 folder")
}

func TestResumingAFailedRun(t *testing.T) {
	begin := func(t *testing.T) *story {
		st := tell(t, phases("01", "02 after 01", "03"), ofPhaseN("01", func(ps *work.PhaseSettings) { ps.Budget = 1 }))
		st.work("01")
		st.ended("01", work.PhaseFailed, work.ReasonBudgetExhausted)
		st.done("03")
		st.deliver()
		st.runEnded(work.RunFailed)
		return st
	}
	t.Run("not without being asked to", func(t *testing.T) {
		st := begin(t)
		if evs := st.feed(Resumed{}); len(evs) > 0 {
			t.Errorf("a failed run goes on by itself: %v", evs)
		}
	})
	t.Run("failed and skipped phases open again, done ones stay", func(t *testing.T) {
		st := begin(t)
		st.dies(Resumed{Reopen: true, RunResumedData: RunResumedData{Budgets: map[string]int{"01": 3}}})
		st.isPending("01 folder")
		if p := st.phase("01"); p.Budget != 3 || p.Spent != 0 || p.Last != "c1" {
			t.Errorf("phase 01 has budget %d, spent %d, at %s; want 3, 0 and its last snapshot", p.Budget, p.Spent, p.Last)
		}
		st.ended("03", work.PhaseDone, "")
		st.folder("01")
		if c := st.begun("01", StepIterate); c.Iteration != 1 || c.Attempt != 2 {
			t.Errorf("iteration %d, attempt %d begins; want the next attempt at 1", c.Iteration, c.Attempt)
		}
		st.dies(Resumed{})
		st.work("01", says("P01"))
		st.verify("01", true)
		st.merge("01", moved())
		st.verify("01", true)
		st.land("01")
		st.done("02")
		st.deliver()
		st.runEnded(work.RunCompleted)
	})
	t.Run("the same again", func(t *testing.T) {
		st := begin(t)
		st.dies(Resumed{Reopen: true})
		st.work("01")
		st.deliver()
		st.runEnded(work.RunFailed)
	})
	t.Run("a second delivery is not the first", func(t *testing.T) {
		st := begin(t)
		old := last[EffectData](st, work.DeliverStarted).Command
		st.dies(Resumed{Reopen: true})
		st.done("01")
		st.done("02")
		c := st.begun("", StepDeliver)
		if c.ID == old {
			t.Errorf("both deliveries are called %s", old)
		}
	})
	t.Run("a completed run is over", func(t *testing.T) {
		st := tell(t)
		st.done("01")
		st.deliver()
		st.runEnded(work.RunCompleted)
		if evs := st.feed(Resumed{Reopen: true}); len(evs) > 0 {
			t.Errorf("a completed run goes on: %v", evs)
		}
	})
}

func TestStopping(t *testing.T) {
	t.Run("nothing new starts, and what ends still counts", func(t *testing.T) {
		st := tell(t, phases("01", "02"))
		st.folder("01")
		c := st.begun("01", StepIterate)
		st.feed(Stop{Outcome: work.RunInterrupted, Reason: "interrupted"})
		st.isPending()
		if evs := st.feed(Began{Command: Command{ID: "sim/02/1/0/folder", Step: StepFolder, Phase: "02", Attempt: 1}}); len(evs) > 0 {
			t.Errorf("something begins after the stop: %v", evs)
		}
		st.feed(IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{"P01"}}, Snapshot: work.Snapshot{Commit: "c1", Tree: "t1", Changed: true}})
		st.runEnded(work.RunInterrupted)
		st.dies(Resumed{})
		st.isPending("01 verify", "02 folder")
	})
	t.Run("the first stop counts", func(t *testing.T) {
		st := tell(t)
		st.feed(Stop{Outcome: work.RunLimit, Reason: "the deadline has come"})
		st.feed(Stop{Outcome: work.RunInterrupted})
		st.runEnded(work.RunLimit)
	})
	t.Run("a run that was being cancelled when it died stays cancelled", func(t *testing.T) {
		st := tell(t, human(gates.PointPhaseStart))
		st.feed(Answered{work.Answer{Checkpoint: st.asked("01", gates.PointPhaseStart).ID, Status: no, Choice: ChoiceAbort, By: "test"}})
		st.dies(Resumed{})
		st.isPending()
		st.runEnded(work.RunCancelled)
	})
	t.Run("an interrupted one is not", func(t *testing.T) {
		st := tell(t)
		st.feed(Stop{Outcome: work.RunInterrupted})
		st.dies(Resumed{})
		st.isPending("01 folder")
	})
	t.Run("a late result is recorded and ignored", func(t *testing.T) {
		st := tell(t)
		st.folder("01")
		c := st.begun("01", StepIterate)
		st.dies(Resumed{})
		st.begun("01", StepIterate)
		evs := st.feed(IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{"P01"}}})
		if len(evs) != 1 || evs[0].Kind != work.Warned {
			t.Errorf("the result of a dead process brings %v, want one warning", evs)
		}
		st.stands("01", StageIterate)
	})
}
