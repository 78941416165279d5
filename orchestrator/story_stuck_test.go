package orchestrator

import (
	"fmt"
	"strings"
	"testing"

	"forge/gates"
	"forge/internal/stuck"
	"forge/internal/work"
)

// traced gives an iteration a trace: the tests that failed, as the agent ran them.
func traced(failing ...string) func(*IterationDone) {
	return func(d *IterationDone) {
		d.Report.Trace = &stuck.Trace{Tested: true, Failing: failing}
		if d.Snapshot.Changed {
			d.Snapshot.Shape = "shape of " + d.Snapshot.Tree
		}
	}
}

// calledOnce gives it a trace with one call of a tool.
func calledOnce(result string) func(*IterationDone) {
	return func(d *IterationDone) {
		d.Report.Trace = &stuck.Trace{Calls: []stuck.Call{stuck.Called("Bash", "make", result, false)}}
	}
}

func waitsFor(kind stuck.WaitKind, alive bool) func(*IterationDone) {
	return func(d *IterationDone) {
		d.Report.Trace = &stuck.Trace{Wait: &stuck.Wait{Kind: kind, Alive: alive}}
	}
}

func TestStuck(t *testing.T) {
	threshold := func(n int) func(*Spec) {
		return setting(func(s *work.Settings) { s.Stale.Threshold = n })
	}
	const evidence = "T1 and T2 failed in each of the 5 iterations that ran the tests, 1 to 5, whatever was changed."
	fail := func(st *story, n int) {
		for range n {
			st.work("01", traced("T2", "T1"))
		}
	}
	t.Run("the same tests fail whatever changes: the pivot names them, then the phase fails", func(t *testing.T) {
		st := tell(t, threshold(3), budget(30))
		fail(st, 4)
		if st.phase("01").Pivot != "" {
			t.Error("the pivot comes before its time")
		}
		fail(st, 1)
		if prompt := st.prompt("01"); !strings.Contains(prompt, evidence) || !strings.Contains(prompt, "Stop working on the current approach") {
			t.Errorf("the pivot does not name what was seen:\n%s", prompt)
		}
		fail(st, 4)
		st.stands("01", StageIterate)
		fail(st, 1)
		st.ended("01", work.PhaseFailed, work.ReasonStale)
		if d := st.phase("01").Detail; !strings.Contains(d, "stuck again after the pivot; ") || !strings.Contains(d, "; T1 and T2 failed") {
			t.Errorf("detail %q", d)
		}
	})
	t.Run("what the decision says", func(t *testing.T) {
		st := tell(t, threshold(3), budget(30))
		fail(st, 4)
		for _, e := range st.work("01", traced("T1", "T2")) {
			if e.Kind == work.GateDecided && strings.Contains(string(e.Data), `"stale"`) {
				for _, want := range []string{evidence, "stuck (same failing): the next one gets the pivot prompt"} {
					if !strings.Contains(string(e.Data), want) {
						t.Errorf("%q is not in %s", want, e.Data)
					}
				}
				return
			}
		}
		t.Error("nothing was decided")
	})
	t.Run("a person is asked with what was seen", func(t *testing.T) {
		st := tell(t, threshold(3), budget(30), human(gates.PointStale))
		fail(st, 5)
		cp := st.asked("01", gates.PointStale)
		if !strings.Contains(cp.Question, "is stuck") || !strings.Contains(cp.Facts, evidence) {
			t.Errorf("asked %q with %q", cp.Question, cp.Facts)
		}
	})
	t.Run("off", func(t *testing.T) {
		st := tell(t, threshold(0), budget(30))
		fail(st, 20)
		st.stands("01", StageIterate)
	})
	t.Run("who learns is not stuck, who does not is", func(t *testing.T) {
		st := tell(t, threshold(3), budget(30))
		for i := range 6 {
			st.work("01", changesNothing, calledOnce(fmt.Sprint("result ", i)))
		}
		if st.phase("01").Stale.Pivoted {
			t.Error("a phase that learns pivots")
		}
		st.work("01", changesNothing, calledOnce("result 1"))
		st.work("01", changesNothing, calledOnce("result 2"))
		if !st.phase("01").Stale.Pivoted {
			t.Error("a phase that learns nothing does not pivot")
		}
	})
	t.Run("who waits is not stuck while it lives", func(t *testing.T) {
		st := tell(t, threshold(2), budget(30))
		for range 15 {
			st.work("01", changesNothing, waitsFor(stuck.WaitCI, true))
		}
		if st.phase("01").Stale.Pivoted {
			t.Error("a phase that waits pivots")
		}
		for range 2 {
			st.work("01", changesNothing, waitsFor(stuck.WaitCI, false))
		}
		if p := st.phase("01"); !p.Stale.Pivoted || !strings.Contains(p.Pivot, "waited for something that is gone (ci)") {
			t.Errorf("what it waits for is gone, and the pivot is %q", p.Pivot)
		}
	})
	t.Run("who says that it waits is believed for a while", func(t *testing.T) {
		st := tell(t, threshold(2), budget(30))
		says := func(d *IterationDone) {
			d.Report.Trace, d.Report.Signals.Waiting = &stuck.Trace{}, []string{"process: the import"}
		}
		for range 6 {
			st.work("01", changesNothing, says)
		}
		if st.phase("01").Stale.Pivoted {
			t.Error("a phase that waits pivots")
		}
		st.work("01", changesNothing, says)
		if p := st.phase("01"); !strings.Contains(p.Pivot, "The last 7 iterations only said that they wait") {
			t.Errorf("the pivot is %q", p.Pivot)
		}
	})
	t.Run("an iteration without a trace is counted as before", func(t *testing.T) {
		st := tell(t, threshold(2), budget(30))
		st.work("01", changesNothing, waitsFor(stuck.WaitCI, true))
		st.work("01", changesNothing)
		if !st.phase("01").Stale.Pivoted {
			t.Error("two without a change, and no pivot")
		}
	})
	t.Run("the next attempt begins anew", func(t *testing.T) {
		st := tell(t, threshold(3), budget(30))
		fail(st, 10)
		st.ended("01", work.PhaseFailed, work.ReasonStale)
		st.feed(Resumed{Reopen: true})
		fail(st, 4)
		st.stands("01", StageIterate)
	})
	t.Run("a verify that is red in the same way", func(t *testing.T) {
		st := tell(t, threshold(3), budget(30))
		for range 5 {
			st.work("01", says("P01"), func(d *IterationDone) { d.Report.Trace = &stuck.Trace{} })
			st.verify("01", false)
		}
		if p := st.phase("01"); !p.Stale.Pivoted || !strings.Contains(p.Pivot, "red in the same way") {
			t.Errorf("pivot %q", p.Pivot)
		}
	})
}
