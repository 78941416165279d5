package orchestrator

import (
	"slices"
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// What a person edited by hand is what the phase goes on from, and it is proven
// again before anything of it is merged; edits of something else change nothing.
func TestEditsAreGoneOnFrom(t *testing.T) {
	requests := func(st *story, n string, at gates.Point, base string) {
		cp := st.asked(n, at)
		st.feed(Answered{work.Answer{
			Checkpoint: cp.ID, Revision: cp.Revision, Status: changes, Comment: "as I wrote it", By: "me",
			Edited: &work.Edited{Base: base, Commit: "by-hand", Files: []string{"a.go"}, Sum: "s"},
		}})
	}
	transition := func(t *testing.T) *story {
		st := tell(t, phases("01"), human(gates.PointPhaseTransition))
		st.work("01", says("P01"))
		st.verify("01", true)
		return st
	}
	t.Run("at the end of a phase", func(t *testing.T) {
		st := transition(t)
		judged, ok := st.s.TakesEdits(*st.asked("01", gates.PointPhaseTransition))
		if !ok || judged != st.phase("01").Last {
			t.Fatalf("edits are of %q, %v", judged, ok)
		}
		requests(st, "01", gates.PointPhaseTransition, judged)
		if p := st.phase("01"); p.Last != "by-hand" || !p.Reset {
			t.Errorf("the phase goes on from %s, reset %v", p.Last, p.Reset)
		}
		st.work("01", changesNothing)
		st.verify("01", true)
		st.asked("01", gates.PointPhaseTransition)
	})
	t.Run("of something else", func(t *testing.T) {
		st := transition(t)
		last := st.phase("01").Last
		requests(st, "01", gates.PointPhaseTransition, "another")
		if p := st.phase("01"); p.Last != last || st.count(work.Warned) == 0 {
			t.Errorf("the phase goes on from %s, want %s, and a word about it", p.Last, last)
		}
		st.isPending("01 iterate")
	})
	t.Run("at the end of the run", func(t *testing.T) {
		st := tell(t, phases("01"), human(gates.PointFinal))
		st.done("01")
		head := st.s.Head
		requests(st, "", gates.PointFinal, head)
		if p := st.phase("01"); p.Last != "by-hand" || p.Base != head {
			t.Errorf("the phase goes on from %s on %s", p.Last, p.Base)
		}
		if i := slices.IndexFunc(st.events, func(e work.Event) bool { return e.Kind == work.PhaseReopened }); i < 0 {
			t.Error("the phase was not opened again")
		}
	})
	t.Run("not with an approval", func(t *testing.T) {
		st := transition(t)
		cp, last := st.asked("01", gates.PointPhaseTransition), st.phase("01").Last
		st.feed(Answered{work.Answer{Checkpoint: cp.ID, Revision: cp.Revision, Status: yes, By: "me", Edited: &work.Edited{Base: last, Commit: "by-hand"}}})
		if got := st.phase("01").Last; got != last {
			t.Errorf("approved, it goes on from %s", got)
		}
	})
}

// Where a job is frozen, what a person edited is what its next phase goes on from:
// the same phase again, or the one that the comments are about.
func TestEditsOfAJobAreGoneOnFrom(t *testing.T) {
	asked := func(st *story, n string, at gates.Point) work.Answer {
		cp := st.asked(n, at)
		judged, ok := st.s.TakesEdits(*cp)
		if !ok || judged != st.phase(n).Last {
			t.Fatalf("at %s edits are of %q, %v", at, judged, ok)
		}
		return work.Answer{
			Checkpoint: cp.ID, Revision: cp.Revision, Status: changes, Comment: "as I wrote it", By: "me",
			Edited: &work.Edited{Base: judged, Commit: "by-hand", Files: []string{"forge-job/plan.md"}, Sum: "s"},
		}
	}
	begins := func(st *story, n string) {
		t.Helper()
		p := st.phase(n)
		if p.Last != "by-hand" {
			t.Errorf("phase %s goes on from %s", n, p.Last)
		}
	}
	st := aJob(t, "guided")
	st.plans("1")
	st.feed(Answered{asked(st, "1", gates.PointPlanInitial)})
	begins(st, "1")
	st.plans("1")
	st.approve("1", gates.PointPlanInitial)
	st.joins("1")

	st = aJob(t, "dependent")
	st.plans("1")
	st.approve("1", gates.PointPlanInitial)
	st.joins("1")
	st.does("2")
	st.feed(Answered{asked(st, "2", gates.PointTactical)})
	if got := last[PhaseAddedData](st, work.PhaseAdded); got.Carry != "2" {
		t.Fatalf("the next phase goes on from phase %q", got.Carry)
	}
	begins(st, "3")
}
