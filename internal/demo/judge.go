package demo

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"forge/gates"
	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// Each function here judges one expectation: "" when it holds, else what was
// found instead.

func checkBaseline(r *record) string {
	green := int64(0)
	each(r, work.VerifyFinished, "", func(e work.Event, d work.VerifyFinishedData) {
		if d.On == work.OnBase && d.OK && green == 0 {
			green = e.Seq
		}
	})
	first := r.seq(work.IterationStarted, "")
	switch {
	case green == 0:
		return "verify did not pass on the base"
	case first != 0 && first < green:
		return "an iteration began before"
	}
	return ""
}

func checkParallel(r *record) string {
	left, right := r.seq(work.PhaseStarted, "02"), r.seq(work.PhaseStarted, "03")
	if left == 0 || right == 0 {
		return "they did not both start"
	}
	for _, n := range []string{"02", "03"} {
		if end := r.seq(work.PhaseFinished, n); end != 0 && end < max(left, right) {
			return "one ended before the other started"
		}
	}
	return ""
}

func isStale(decision string) func(work.Event, work.GateDecidedData) bool {
	return func(_ work.Event, d work.GateDecidedData) bool {
		return d.Gate == string(gates.PointStale) && d.Decision == decision
	}
}

func checkPivot(r *record) string {
	if n := count(r, work.GateDecided, "04", isStale("pivot")); n != 1 {
		return fmt.Sprintf("the stale gate decided pivot %d times", n)
	}
	told := count(r, work.IterationStarted, "04", func(e work.Event, d work.IterationStartedData) bool {
		return e.Iteration == 3 && d.Prompt == "pivot"
	})
	if told == 0 {
		return "the third iteration did not get the pivot prompt"
	}
	return ""
}

func checkLie(r *record) string {
	claimed := count(r, work.IterationFinished, "07", func(e work.Event, d work.IterationFinishedData) bool {
		return e.Iteration == 1 && slices.Equal(d.Claims, []string{"REVERSE DONE"})
	})
	red := count(r, work.VerifyFinished, "07", func(e work.Event, d work.VerifyFinishedData) bool {
		return e.Iteration == 1 && d.On == work.OnSnapshot && !d.OK
	})
	switch second := r.seq(work.PhaseMerged, "07"); {
	case claimed != 1:
		return "the first iteration did not claim to be done"
	case red == 0:
		return "verify did not fail on it"
	case second != 0 && count(r, work.IterationStarted, "07", func(e work.Event, _ struct{}) bool { return e.Iteration == 2 && e.Seq < second }) == 0:
		return "it was merged without another iteration"
	}
	return ""
}

func checkStale(r *record) string {
	if n := count(r, work.GateDecided, "05", isStale("pivot")); n != 1 {
		return fmt.Sprintf("it got %d pivots", n)
	}
	if n := count(r, work.GateDecided, "05", isStale("stop")); n != 1 {
		return "the stale gate did not stop it"
	}
	return r.ended("05", "failed stale")
}

func checkSkipped(r *record) string {
	if r.seq(work.IterationStarted, "06") != 0 {
		return "phase 06 ran"
	}
	return r.ended("06", "skipped dependency_failed 05")
}

func checkSubPhase(r *record) string {
	folded := count(r, work.SubPhaseFolded, "", func(_ work.Event, d orchestrator.SubPhaseFoldedData) bool {
		return d.Number == "08.1" && d.Outcome == work.PhaseDone && d.Spent == 1
	})
	if r.seq(work.SubPhaseSpawned, "08") == 0 || folded == 0 {
		return "no sub-phase 08.1 was spawned, done and folded into 08"
	}
	return ""
}

// cut is the journal up to where the second process took over.
func (r *record) cut() []work.Event {
	at := r.seq(work.RunResumed, "")
	return slices.DeleteFunc(slices.Clone(r.Events), func(e work.Event) bool { return at != 0 && e.Seq >= at })
}

// cutIteration says that e is of the iteration in which forge is killed.
func cutIteration(e work.Event, kind work.EventKind) bool {
	return e.Kind == kind && e.Phase == killedPhase && e.Iteration == 2
}

// atKill is the moment of the kill: the agent has just been started.
func atKill(e work.Event) bool { return cutIteration(e, work.IterationStarted) }

func checkKilled(r *record) string {
	before := r.cut()
	switch {
	case !r.Killed:
		return "the first process was not ended by SIGKILL"
	case !slices.ContainsFunc(before, atKill):
		return "no iteration was being worked on"
	case slices.ContainsFunc(before, func(e work.Event) bool { return cutIteration(e, work.IterationFinished) }):
		return "the iteration had ended before"
	}
	return ""
}

func checkResumed(r *record) string {
	at := r.seq(work.RunResumed, "")
	if at == 0 {
		return "the run was not resumed"
	}
	if count(r, work.IterationStarted, killedPhase, func(e work.Event, _ struct{}) bool { return e.Seq > at && e.Iteration == 2 && e.Attempt > 1 }) == 0 {
		return "its second iteration was not tried again"
	}
	return ""
}

func checkOnce(r *record) string {
	known := map[int64]work.Event{}
	done := map[string]bool{}
	twice := ""
	for i, e := range r.Events {
		if e.Seq != int64(i+1) {
			return fmt.Sprintf("event %d stands at place %d", e.Seq, i+1)
		}
		known[e.Seq] = e
	}
	each(r, work.IterationFinished, "", func(e work.Event, d work.IterationFinishedData) {
		id := fmt.Sprintf("%s/%d", e.Phase, e.Iteration)
		if d.Outcome != work.OutcomeInterrupted && done[id] {
			twice = "iteration " + id + " came to a result twice"
		}
		done[id] = done[id] || d.Outcome != work.OutcomeInterrupted
	})
	if twice != "" {
		return twice
	}
	if len(done) == 0 {
		return "there are no iterations"
	}
	for _, e := range r.Printed {
		if !sameEvent(known[e.Seq], e) {
			return fmt.Sprintf("event %d (%s) was printed and is not in the journal", e.Seq, e.Kind)
		}
	}
	return ""
}

// sameEvent compares what two events say, however their JSON is written.
func sameEvent(a, b work.Event) bool {
	var one, two any
	if json.Unmarshal(a.Data, &one) != nil || json.Unmarshal(b.Data, &two) != nil {
		return false
	}
	return a.Kind == b.Kind && a.Phase == b.Phase && a.Iteration == b.Iteration && a.Attempt == b.Attempt && reflect.DeepEqual(one, two)
}

// donePhases are the phases that must be merged.
func donePhases() []string { return []string{"01", "02", "03", "04", "07", "08", "09"} }

func checkRest(r *record) string {
	for _, n := range donePhases() {
		if why := r.merged(n); why != "" {
			return why
		}
	}
	return ""
}

// failedCode is the exit code of a forge whose run failed (docs/cli.md).
const failedCode = 1

func checkExit(r *record) string {
	outcome := work.RunOutcome("never")
	each(r, work.RunFinished, "", func(_ work.Event, d work.RunFinishedData) { outcome = d.Outcome })
	if r.Code != failedCode || outcome != work.RunFailed {
		return fmt.Sprintf("the exit code is %d and the run %s", r.Code, outcome)
	}
	return ""
}

func checkStatus(r *record) string {
	want := map[string]string{"05": "failed stale ", "06": "skipped dependency_failed 05", "08.1": "done  "}
	for _, n := range donePhases() {
		want[n] = "done  "
	}
	got := map[string]string{}
	for _, p := range r.Status.Phases {
		got[p.Number] = fmt.Sprintf("%s %s %s", p.Outcome, p.Reason, p.Cause)
	}
	if r.Status.State != project.StateFinished || r.Status.Outcome != work.RunFailed || !maps.Equal(got, want) {
		return fmt.Sprintf("it says %s %s %v", r.Status.State, r.Status.Outcome, got)
	}
	return ""
}

func checkUntouched(r *record) string {
	if r.Before != "a library with one function" {
		return fmt.Sprintf("it was at %q", r.Before)
	}
	return ""
}

func checkResult(r *record) string {
	got := slices.Sorted(slices.Values(r.Commits))
	if !slices.Equal(got, donePhases()) {
		return fmt.Sprintf("its commits are of the phases %v", got)
	}
	return ""
}

func checkTests(r *record) string {
	want := []string{
		"MANUAL.md", "README.md", "lib/count.sh", "lib/join.sh", "lib/lower.sh", "lib/reverse.sh", "lib/say.sh", "lib/upper.sh", "lib/words.sh",
		"tests/join_test.sh", "tests/run.sh", "tests/say_test.sh", "tests/words_test.sh",
	}
	if got := slices.Sorted(slices.Values(r.Files)); !slices.Equal(got, want) {
		return fmt.Sprintf("the files are %v", got)
	}
	if r.Tests != "all tests pass" {
		return fmt.Sprintf("the tests print %q", r.Tests)
	}
	return ""
}
