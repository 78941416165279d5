package orchestrator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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

// An aborted run asks a host that is away once, ends, and says what it left.
func TestStoryAbortAndTheHostIsAway(t *testing.T) {
	st := shownThere(t)
	st.says(work.CheckpointRejected, ChoiceAbort)
	st.feed(Drained{})
	st.isPending("01 close")
	st.feed(CloseDone{Command: st.begun("01", StepClose), Trouble: isAway()})
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
		st.feed(CloseDone{Command: st.begun("01", StepClose), Trouble: isAway()})
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

// deaf is a host that answers nothing.
type deaf struct{ Host }

func (deaf) Close(ctx context.Context, _ PullClose) (*work.PullTrouble, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// What ends at once does not wait for its host, nor what is told to end while it
// waits already.
func TestClosingDoesNotWaitForLong(t *testing.T) {
	took := func(t *testing.T, st *story, ctx context.Context) time.Duration {
		t.Helper()
		begin, c := time.Now(), st.begun("01", StepClose)
		fact := (&session{Driver: &Driver{Host: deaf{}}, s: st.s}).closeJob(c)(ctx)
		if done := fact.(CloseDone); done.Trouble == nil || !done.Trouble.Passes {
			t.Errorf("%+v", done)
		}
		return time.Since(begin)
	}
	t.Run("Aborted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := shownThere(t)
			st.says(work.CheckpointRejected, ChoiceAbort)
			st.feed(Drained{})
			if got := took(t, st, t.Context()); got != CloseWait {
				t.Errorf("it took %v", got)
			}
		})
	})
	t.Run("Interrupted", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			st := shownThere(t)
			st.says(work.CheckpointRejected, "")
			st.feed(ReadDone{Command: st.begun("01", StepPull), Reading: PullReading{Head: "c1"}})
			const before = time.Hour
			ctx, cancel := context.WithTimeout(t.Context(), before)
			defer cancel()
			if got := took(t, st, ctx); got != before+CloseWait {
				t.Errorf("it took %v", got)
			}
		})
	})
}
