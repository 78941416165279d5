package orchestrator

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/stuck"
	"forge/internal/work"
)

// traced gives an iteration of some runs a trace. What is in it follows from the
// iteration's own names: one throw more would make another schedule of every seed.
func (w *world) traced(done *IterationDone) {
	if w.spec.Settings.OutageWaitSecs%4 != 1 {
		return
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, done.Command.ID, done.Snapshot.Commit, done.Snapshot.Tree)
	n := h.Sum64()
	pick := func(of uint64) uint64 {
		got := n % of
		n /= of
		return got
	}

	t := &stuck.Trace{Tested: pick(3) > 0, SilenceSecs: int(pick(100))}
	for i := range pick(3) {
		t.Failing = append(t.Failing, fmt.Sprint("T", i))
	}
	for range pick(3) {
		t.Calls = append(t.Calls, stuck.Called("Bash", fmt.Sprint("make ", pick(3)), fmt.Sprint("result ", pick(5)), false))
	}
	if done.Snapshot.Changed {
		done.Snapshot.Shape = fmt.Sprint("s", pick(6))
	}
	if pick(4) == 0 {
		t.Wait = &stuck.Wait{Kind: stuck.WaitKinds()[pick(5)], Alive: pick(3) > 0}
		w.fault("an agent that waits")
	}
	done.Report.Trace = t
}

// waitBook is what the last iteration of work showed: that it waits for what
// lives, and whether the phase got a pivot since it began.
type waitBook struct{ waits, steered bool }

// waits holds that nobody is stopped, steered or asked about for waiting, and
// that no phase is stopped as stale that was not steered first.
func (c *invariants) waits(p *Phase, e work.Event) error {
	book := c.waiting[e.Phase]
	switch e.Kind {
	case work.IterationFinished:
		var d work.IterationFinishedData
		if err := read(c, e, &d); err != nil {
			return err
		}
		if p.Kind == IterationWork && d.Outcome != work.OutcomeInterrupted && d.Outcome != work.OutcomeRateLimited {
			book.waits = d.Trace != nil && d.Trace.Wait != nil && d.Trace.Wait.Alive
		}
	case work.PhaseReopened:
		book = waitBook{}
	case work.GateDecided:
		var d work.GateDecidedData
		if err := read(c, e, &d); err != nil || d.Gate != string(gates.PointStale) {
			return err
		}
		// What a blocker leads to is held by c.blocked.
		blocked := c.blockers[e.Phase].due != "" || slices.Contains(d.Failed, "blocker")
		switch {
		case strings.HasPrefix(d.By, "person:"):
		case book.waits && !blocked && (d.Decision == decidePivot || d.Decision == decideStop || d.Decision == decideAsk):
			return fmt.Errorf("phase %s waits for what lives, and is taken for stuck: %s", e.Phase, d.Decision)
		case d.Decision == decideStop && !blocked && !book.steered && c.policyAt(c.w.s, e.Phase).StaleResponse() == gates.PivotThenFail:
			return fmt.Errorf("phase %s is stopped as stuck, and was never steered", e.Phase)
		}
		book.steered = book.steered || d.Decision == decidePivot
	default:
		return nil
	}
	note(c, c.waiting, e.Phase, book)
	return nil
}
