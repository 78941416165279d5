package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

var errStuck = errors.New("the schedule does not end")

// feed puts a fact through the core, event by event, under the invariants.
func (w *world) feed(f Fact) error {
	in := Input{Now: w.now, Fact: f}
	for evs := Decide(w.s, in); len(evs) > 0; evs = Decide(w.s, Input{Now: w.now, Fact: settled{}}) {
		if w.bug.events != nil {
			evs = w.bug.events(w.s, evs)
			for i := range evs {
				evs[i].Seq = w.s.Seq + int64(i) + 1
			}
		}
		for _, e := range evs {
			w.journal = append(w.journal, e)
			if len(e.Data) > work.MaxEventBytes {
				return fmt.Errorf("event %d (%s) has %d bytes", e.Seq, e.Kind, len(e.Data))
			}
			if err := w.check.before(w.s, e); err != nil {
				return err
			}
			if err := Apply(w.s, e); err != nil {
				return err
			}
			if w.bug.state != nil {
				w.bug.state(w.s)
			}
			if err := w.check.after(w.s); err != nil {
				return err
			}
		}
		if len(w.journal) > 20000 {
			return errStuck
		}
	}
	return nil
}

// run plays one schedule to its end.
func (w *world) run() error {
	if err := w.feed(Opened{Inline: &w.spec}); err != nil {
		return err
	}
	for step := 0; step < 4000; step++ {
		if !w.s.Live {
			again, err := w.afterwards()
			if err != nil || !again {
				return err
			}
			continue
		}
		if err := w.step(); err != nil {
			return err
		}
	}
	return errStuck
}

// step lets one thing happen.
func (w *world) step() error {
	w.now = w.now.Add(time.Duration(w.rng.IntN(60)) * time.Second)
	for _, c := range Pending(w.s) {
		if _, ok := w.under[c.ID]; ok || c.Step == StepWait {
			continue
		}
		if err := w.feed(Began{Command: c}); err != nil {
			return err
		}
		w.under[c.ID] = c
	}
	switch x := w.rng.IntN(100); {
	case x < 3:
		return w.crash()
	case x < 5 && len(w.late) > 0:
		w.faults["duplicate"]++
		return w.feed(w.late[w.rng.IntN(len(w.late))])
	case x < 6 && w.s.Stopping == nil:
		w.faults["stop"]++
		return w.feed(Stop{Outcome: work.RunInterrupted, Reason: "interrupted"})
	case x < 15:
		return w.feed(Tick{})
	case x < 35 && len(w.s.Open) > 0:
		return w.answer()
	}
	ids := make([]string, 0, len(w.under))
	for id := range w.under {
		ids = append(ids, string(id))
	}
	if len(ids) == 0 {
		if len(w.s.Open) > 0 && w.s.Stopping == nil && w.chance(50) {
			return w.answer()
		}
		waits := false
		for _, c := range Pending(w.s) {
			waits = waits || c.Step == StepWait
		}
		if waits {
			w.now = w.now.Add(time.Minute)
			return w.feed(Tick{})
		}
		before := w.s.Seq
		if err := w.feed(Drained{}); err != nil {
			return err
		}
		if w.s.Seq == before {
			return fmt.Errorf("%w: nothing is pending at event %d", errStuck, before)
		}
		return nil
	}
	sort.Strings(ids)
	id := work.CommandID(ids[w.rng.IntN(len(ids))])
	c := w.under[id]
	delete(w.under, id)
	if w.s.Stopping != nil && w.chance(50) {
		w.faults["cancelled"]++
		if c.Step == StepIterate {
			return w.feed(IterationDone{Command: c, Report: work.IterationReport{Outcome: work.OutcomeInterrupted}})
		}
		return nil
	}
	f := w.outcome(c)
	w.late = append(w.late, f)
	return w.feed(f)
}

// crash kills the process: what was under way is lost or half done, and the
// state is rebuilt from the journal, which may have lost nothing.
func (w *world) crash() error {
	w.faults["crash"]++
	s, err := NewState("sim", w.spec)
	if err != nil {
		return err
	}
	for _, e := range w.journal {
		if err := Apply(s, e); err != nil {
			return err
		}
	}
	if w.bug.state == nil {
		if got, want := picture(s), picture(w.s); got != want {
			return fmt.Errorf("the state after a replay differs:\n%s\n%s", got, want)
		}
	}
	w.s = s
	w.under = map[work.CommandID]Command{}
	return w.feed(Resumed{})
}

func picture(s *State) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// answer answers an open checkpoint, sometimes for another revision, sometimes
// twice.
func (w *world) answer() error {
	ids := make([]string, 0, len(w.s.Open))
	for id := range w.s.Open {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	id := ids[w.rng.IntN(len(ids))]
	a := work.Answer{Checkpoint: id, Status: work.CheckpointApproved, By: "test", Door: "cli", At: w.now}
	switch x := w.rng.IntN(20); {
	case x < 2:
		a.Status = work.CheckpointRejected
	case x < 5:
		a.Status, a.Comment = work.CheckpointChangesRequested, "please"
	case x == 5:
		a.Revision = 99
		w.faults["outdated answer"]++
	case x == 6 && w.chance(20):
		a.Status, a.Choice = work.CheckpointRejected, ChoiceAbort
	}
	if err := w.feed(Answered{a}); err != nil {
		return err
	}
	if w.chance(10) {
		w.faults["double answer"]++
		return w.feed(Answered{a})
	}
	return nil
}

// afterwards decides whether the run is taken up again.
func (w *world) afterwards() (bool, error) {
	w.under = map[work.CommandID]Command{}
	switch w.s.Outcome {
	case work.RunCompleted, work.RunCancelled:
		return false, nil
	case work.RunFailed:
		if w.chance(70) {
			return false, nil
		}
		w.faults["reopened"]++
		return true, w.feed(Resumed{Reopen: true})
	case work.RunLimit:
		if w.chance(50) {
			return false, nil
		}
		usd := 1000.0
		cost := w.s.Spec.Settings.Cost
		if cost.RunUSD != nil {
			cost.RunUSD = &usd
		}
		return true, w.feed(Resumed{RunResumedData: RunResumedData{Cost: &cost, AcceptUnknown: true}})
	}
	w.faults["resumed"]++
	return true, w.feed(Resumed{})
}

type coverage struct {
	stages, kinds, faults, outcomes map[string]int
}

func (c *coverage) add(w *world) {
	for _, e := range w.journal {
		c.kinds[string(e.Kind)]++
	}
	for f, n := range w.faults {
		c.faults[f] += n
	}
	c.outcomes[string(w.s.Outcome)]++
}

func simulate(t *testing.T, schedules int, first uint64) *coverage {
	t.Helper()
	c := &coverage{stages: map[string]int{}, kinds: map[string]int{}, faults: map[string]int{}, outcomes: map[string]int{}}
	watch := bug{state: nil}
	for seed := first; seed < first+uint64(schedules); seed++ {
		w, err := newWorld(seed, watch)
		if err != nil {
			t.Fatal(err)
		}
		err = w.run()
		c.add(w)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, tail(w.journal, 25))
		}
	}
	return c
}

func tail(evs []work.Event, n int) string {
	var b strings.Builder
	for _, e := range evs[max(len(evs)-n, 0):] {
		fmt.Fprintf(&b, "%d %s %s %d/%d %s\n", e.Seq, e.Kind, e.Phase, e.Iteration, e.Attempt, clipText(string(e.Data), 300))
	}
	return b.String()
}

func TestSimulation(t *testing.T) {
	schedules := 3000
	if n, err := strconv.Atoi(os.Getenv("FORGE_SCHEDULES")); err == nil {
		schedules = n
	}
	begin := time.Now()
	c := simulate(t, schedules, 1)
	t.Logf("%d schedules, %.0f a second; kinds %v; faults %v; outcomes %v", schedules, float64(schedules)/time.Since(begin).Seconds(), c.kinds, c.faults, c.outcomes)
	for _, k := range []work.EventKind{
		work.RunStarted, work.RunResumed, work.RunStopping, work.RunFinished, work.PhaseStarted, work.PhaseReopened, work.PhaseFinished, work.PhaseMerged,
		work.GateDecided, work.FolderStarted, work.FolderFinished, work.IterationStarted, work.IterationFinished, work.VerifyStarted, work.VerifyFinished,
		work.MergeStarted, work.MergeFinished, work.LandStarted, work.SubPhaseSpawned, work.SubPhaseFolded, work.CheckpointOpened, work.CheckpointAnswered,
		work.OutageBegan, work.OutageEnded, work.DeliverStarted, work.DeliverFinished, work.Warned,
	} {
		if c.kinds[string(k)] == 0 {
			t.Errorf("no schedule reached %s", k)
		}
	}
	for _, f := range []string{"crash", "duplicate", "stop", "cancelled", "broke", "silence", "outdated answer", "double answer", "reopened", "resumed"} {
		if c.faults[f] == 0 {
			t.Errorf("no schedule met the fault %q", f)
		}
	}
	for _, o := range []work.RunOutcome{work.RunCompleted, work.RunFailed, work.RunCancelled, work.RunLimit} {
		if c.outcomes[string(o)] == 0 {
			t.Errorf("no schedule ended %s", o)
		}
	}
}
