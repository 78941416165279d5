package runlog

import (
	"testing"

	"forge/internal/effect"
	"forge/internal/work"
)

// An iteration whose process died is over; done again, it writes its log anew.
func TestLogListAfterACrash(t *testing.T) {
	l := &list{layout: effect.Layout{State: "/state"}}
	began := func(iteration, attempt int) work.Event {
		return work.Event{Kind: work.IterationStarted, Run: "r", Phase: "01", Iteration: iteration, Attempt: attempt}
	}
	l.see(began(1, 1))
	if l.logs[0].over {
		t.Error("a running iteration is over")
	}
	l.see(work.Event{Kind: work.RunResumed, Run: "r"})
	if !l.logs[0].over {
		t.Error("the iteration of a dead process is not over")
	}
	l.see(began(1, 2))
	l.see(began(1, 2))
	if len(l.logs) != 2 || l.logs[1].over || l.logs[1].path != "/state/runs/r/logs/01-1-2.log" {
		t.Errorf("logs: %+v", l.logs)
	}
}
