package runlog

import (
	"fmt"
	"strings"
	"testing"

	charm "charm.land/log/v2"

	"forge/internal/effect"
	"forge/internal/project"
	"forge/internal/work"
)

// An iteration whose process died is over; done again, it writes its log anew.
func TestLogListAfterACrash(t *testing.T) {
	l := &list{layout: effect.Layout{State: "/state"}}
	began := func(iteration, attempt int) work.Event {
		data := fmt.Appendf(nil, `{"command":"r/01/%d/%d/iterate"}`, attempt, iteration)
		return work.Event{Kind: work.IterationStarted, Run: "r", Phase: "01", Iteration: iteration, Attempt: attempt, Data: data}
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

// A verify that an earlier proof stands for wrote no log: the proof is named.
func TestLogOfWhatWasProvenBefore(t *testing.T) {
	l := &list{layout: effect.Layout{State: t.TempDir()}, filter: Filter{Verify: true}}
	l.see(work.Event{Kind: work.VerifyStarted, Run: "r", Phase: "01", Iteration: 1, Data: []byte(`{"command":"c","on":"trusted"}`)})
	l.see(work.Event{Kind: work.VerifyFinished, Run: "r", Phase: "01", Iteration: 1, Data: []byte(`{"id":"c","on":"trusted","ok":true,"before":{"run":"older"}}`)})
	var out, warned strings.Builder
	if err := printLog(&project.Checkout{Env: project.Env{Log: charm.New(&warned)}}, &out, l.logs[0]); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "proven before: run older, ") || warned.Len() > 0 {
		t.Errorf("it says %q, and warns %q", got, warned.String())
	}
}

// With verify commands stand the questions to test runners, of the claim and of the
// end of the run, each with its end.
func TestLogListOfControls(t *testing.T) {
	l := &list{layout: effect.Layout{State: "/state"}, filter: Filter{Verify: true}}
	for _, step := range []string{"verify", "control", "rest"} {
		began := fmt.Appendf(nil, `{"command":"r/01/1/2/%s-snapshot-abc","on":"snapshot","commit":"c"}`, step)
		l.see(work.Event{Kind: work.EventKind(step + ".started"), Run: "r", Phase: "01", Iteration: 2, Attempt: 1, Data: began})
		one := l.logs[len(l.logs)-1]
		if one.over || one.path != "/state/runs/r/logs/01-2-"+step+"-snapshot.log" {
			t.Errorf("%s: %+v", step, one)
		}
		l.see(work.Event{Kind: work.EventKind(step + ".finished"), Run: "r", Phase: "01", Iteration: 2, Attempt: 1, Data: fmt.Appendf(nil, `{"id":"r/01/1/2/%s-snapshot-abc"}`, step)})
		if !one.over {
			t.Errorf("%s is not over", step)
		}
	}
	if len(l.logs) != 3 {
		t.Errorf("%d logs", len(l.logs))
	}
}
