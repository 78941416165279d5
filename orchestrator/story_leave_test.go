package orchestrator

import (
	"testing"

	"forge/gates"
	"forge/internal/work"
)

// shownThere takes phase 01 to a pull request that waits for a person.
func shownThere(t *testing.T) *story {
	t.Helper()
	st := tell(t, func(sp *Spec) {
		sp.Pulls = &work.PullSettings{Kind: "gitea", URL: "https://git.test", Repo: "o/r"}
	}, human(gates.PointPhaseTransition))
	st.work("01", says("P01"))
	st.verify("01", true)
	st.feed(PublishDone{Command: st.begun("01", StepPublish), Result: PullPublished{Number: 4, URL: "https://git.test/4"}})
	return st
}

func (st *story) says(status work.CheckpointStatus, choice string) {
	st.t.Helper()
	st.feed(Answered{work.Answer{Checkpoint: st.asked("01", gates.PointPhaseTransition).ID, Status: status, Choice: choice, By: "test", Door: "cli"}})
}

func isAway() *work.PullTrouble {
	return &work.PullTrouble{Kind: work.HostUnreachable, What: "no answer", Passes: true}
}

// closes wants the effect of c to wait for its host no longer than the end of the
// run allows.
func (st *story) closes(c Command, ending bool) {
	st.t.Helper()
	e, err := EffectOf(st.s, c, Known{})
	if err != nil {
		st.t.Fatal(err)
	}
	if e := e.(CloseEffect); e.Ending != ending || e.Request.Number != 4 {
		st.t.Errorf("it is closed by %+v; ending: want %v", e, ending)
	}
}

// An aborted run asks a host that is away once, ends, and says what it left.
func TestStoryAbortAndTheHostIsAway(t *testing.T) {
	st := shownThere(t)
	st.says(work.CheckpointRejected, ChoiceAbort)
	st.feed(Drained{})
	st.isPending("01 close")
	c := st.begun("01", StepClose)
	st.closes(c, true)
	st.feed(CloseDone{Command: c, Trouble: isAway()})
	st.isPending()
	st.feed(Drained{})
	if left := st.s.Leaving; st.s.Outcome != work.RunCancelled || len(left) != 1 || left[0].Left == nil || left[0].Number != 4 {
		t.Errorf("the run is %q, and left %+v", st.s.Outcome, left)
	}
}

// A run that ends by itself asks three times; when somebody goes on with it, it
// is tried again.
func TestStoryLeavesAndTheHostIsAway(t *testing.T) {
	st := shownThere(t)
	st.says(work.CheckpointRejected, "")
	st.feed(ReadDone{Command: st.begun("01", StepPull), Reading: PullReading{Head: "c1"}})
	for range mostCloses {
		if st.s.Outcome != "" {
			t.Fatalf("it ended %s before", st.s.Outcome)
		}
		c := st.begun("01", StepClose)
		st.closes(c, false)
		st.feed(CloseDone{Command: c, Trouble: isAway()})
	}
	if left := st.s.Leaving; st.s.Outcome != work.RunFailed || len(left) != 1 || left[0].Left == nil {
		t.Fatalf("the run is %q, and left %+v", st.s.Outcome, left)
	}
	st.feed(Resumed{RunResumedData: RunResumedData{By: "test"}, Reopen: true})
	st.feed(CloseDone{Command: st.begun("01", StepClose), Trouble: &work.PullTrouble{Kind: work.HostNoPull, What: "it is gone"}})
	if len(st.s.Leaving) != 0 {
		t.Errorf("it still leaves %+v", st.s.Leaving)
	}
}
