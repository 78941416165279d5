package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

// demoKilled is the phase in whose second iteration forge is killed.
const demoKilled = "07"

// demoRecord is what is known of one play of the demo.
type demoRecord struct {
	Run     string
	Events  []work.Event // while forge runs those it printed, then the journal's
	Printed []work.Event
	Killed  bool // the first process was ended by SIGKILL
	Code    int  // exit code of the second
	Status  runStatus
	Before  string   // subject of the user's branch and its changes, before the result was merged
	Merge   string   // the command that forge prints for it
	Commits []string // phases by the trailers of the result's commits
	Files   []string // of the user's branch afterwards
	Tests   string   // what the project's tests print there
}

// demoCheck is one thing that must be so.
type demoCheck struct {
	name  string
	where string
	says  string
	live  bool // decided by the events and the kill, so that it can be told as it happens
	judge func(*demoRecord) string
}

// demoChecks are all expectations of the demo, in the order of the story.
func demoChecks() []demoCheck {
	return []demoCheck{
		{"baseline", "", "the project's own tests pass on the base, before anything is spent", true, checkBaseline},
		{"parallel", "02 + 03", "two phases are at work at the same time", true, checkParallel},
		{"pivot", demoPhase("04"), "two iterations without progress: the next one is told to change its ways", true, checkPivot},
		{"pivoted", demoPhase("04"), "after the pivot it did its work: verified and merged", true, func(r *demoRecord) string { return r.merged("04") }},
		{"lie", demoPhase("07"), "it promised what is not so: verify caught it, and it has to go on", true, checkLie},
		{"stale", demoPhase("05"), "stalled again after its pivot: this phase failed, the others go on", true, checkStale},
		{"skipped", demoPhase("06"), "depends on it, so it is skipped, and 05 is named as the cause", true, checkSkipped},
		{"subphase", demoPhase("08"), "its sub-phase 08.1 did its part, inside the budget of 08", true, checkSubPhase},
		{"killed", "forge", "is dead; the journal holds each step up to here", true, checkKilled},
		{"resumed", demoPhase("07"), "the cut iteration runs again, under the same number", true, checkResumed},
		{"once", "journal", "one unbroken chain over both processes; no iteration was done twice", false, checkOnce},
		{"rest", "plan", "all but 05 and 06 are done, proven by verify", false, checkRest},
		{"exit", "forge", "exit code 1, run failed: one phase did, by design", false, checkExit},
		{"status", "forge status", "tells the same", false, checkStatus},
		{"untouched", "git", "main was left alone, as not everything is done", false, checkUntouched},
		{"result", "git", "the result is a branch of one commit per phase, signed with its number", false, checkResult},
		{"tests", "git", "merged with the command that forge prints: all is there, all tests pass", false, checkTests},
	}
}

// each calls fn for the events of a kind, with their payload.
func each[T any](r *demoRecord, kind work.EventKind, phase string, fn func(work.Event, T)) {
	for _, e := range r.Events {
		var d T
		if e.Kind == kind && (phase == "" || e.Phase == phase) && decode(e, &d) == nil {
			fn(e, d)
		}
	}
}

// count counts events of a kind whose payload is as wanted.
func count[T any](r *demoRecord, kind work.EventKind, phase string, wanted func(work.Event, T) bool) int {
	n := 0
	each(r, kind, phase, func(e work.Event, d T) {
		if wanted(e, d) {
			n++
		}
	})
	return n
}

// seq is the sequence number of the first event of a kind, 0 = there is none.
func (r *demoRecord) seq(kind work.EventKind, phase string) int64 {
	for _, e := range r.Events {
		if e.Kind == kind && (phase == "" || e.Phase == phase) {
			return e.Seq
		}
	}
	return 0
}

// finished is how a phase ended last, in words.
func (r *demoRecord) finished(phase string) string {
	got := "it has not ended"
	each(r, work.PhaseFinished, phase, func(_ work.Event, d work.PhaseFinishedData) {
		got = strings.Join(slices.DeleteFunc([]string{string(d.Outcome), string(d.Reason), d.Cause, string(d.Proof)}, func(s string) bool { return s == "" }), " ")
	})
	return got
}

func (r *demoRecord) ended(phase, want string) string {
	if got := r.finished(phase); got != want {
		return fmt.Sprintf("phase %s: %s, not %s", phase, got, want)
	}
	return ""
}

// merged says that a phase is done, proven, and part of the result.
func (r *demoRecord) merged(phase string) string {
	if r.seq(work.PhaseMerged, phase) == 0 {
		return fmt.Sprintf("phase %s was not merged", phase)
	}
	return r.ended(phase, "done verified")
}

func checkBaseline(r *demoRecord) string {
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

func checkParallel(r *demoRecord) string {
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

func checkPivot(r *demoRecord) string {
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

func checkLie(r *demoRecord) string {
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

func checkStale(r *demoRecord) string {
	if n := count(r, work.GateDecided, "05", isStale("pivot")); n != 1 {
		return fmt.Sprintf("it got %d pivots", n)
	}
	if n := count(r, work.GateDecided, "05", isStale("stop")); n != 1 {
		return "the stale gate did not stop it"
	}
	return r.ended("05", "failed stale")
}

func checkSkipped(r *demoRecord) string {
	if r.seq(work.IterationStarted, "06") != 0 {
		return "phase 06 ran"
	}
	return r.ended("06", "skipped dependency_failed 05")
}

func checkSubPhase(r *demoRecord) string {
	folded := count(r, work.SubPhaseFolded, "", func(_ work.Event, d orchestrator.SubPhaseFoldedData) bool {
		return d.Number == "08.1" && d.Outcome == work.PhaseDone && d.Spent == 1
	})
	if r.seq(work.SubPhaseSpawned, "08") == 0 || folded == 0 {
		return "no sub-phase 08.1 was spawned, done and folded into 08"
	}
	return ""
}

// cut is the journal up to where the second process took over.
func (r *demoRecord) cut() []work.Event {
	at := r.seq(work.RunResumed, "")
	return slices.DeleteFunc(slices.Clone(r.Events), func(e work.Event) bool { return at != 0 && e.Seq >= at })
}

// cutIteration says that e is of the iteration in which forge is killed.
func cutIteration(e work.Event, kind work.EventKind) bool {
	return e.Kind == kind && e.Phase == demoKilled && e.Iteration == 2
}

// atKill is the moment of the kill: the agent has just been started.
func atKill(e work.Event) bool { return cutIteration(e, work.IterationStarted) }

func checkKilled(r *demoRecord) string {
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

func checkResumed(r *demoRecord) string {
	at := r.seq(work.RunResumed, "")
	if at == 0 {
		return "the run was not resumed"
	}
	if count(r, work.IterationStarted, demoKilled, func(e work.Event, _ struct{}) bool { return e.Seq > at && e.Iteration == 2 && e.Attempt > 1 }) == 0 {
		return "its second iteration was not tried again"
	}
	return ""
}

func checkOnce(r *demoRecord) string {
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

// demoDone are the phases that must be merged.
func demoDone() []string { return []string{"01", "02", "03", "04", "07", "08", "09"} }

func checkRest(r *demoRecord) string {
	for _, n := range demoDone() {
		if why := r.merged(n); why != "" {
			return why
		}
	}
	return ""
}

func checkExit(r *demoRecord) string {
	outcome := work.RunOutcome("never")
	each(r, work.RunFinished, "", func(_ work.Event, d work.RunFinishedData) { outcome = d.Outcome })
	if r.Code != exitFailed || outcome != work.RunFailed {
		return fmt.Sprintf("the exit code is %d and the run %s", r.Code, outcome)
	}
	return ""
}

func checkStatus(r *demoRecord) string {
	want := map[string]string{"05": "failed stale ", "06": "skipped dependency_failed 05", "08.1": "done  "}
	for _, n := range demoDone() {
		want[n] = "done  "
	}
	got := map[string]string{}
	for _, p := range r.Status.Phases {
		got[p.Number] = fmt.Sprintf("%s %s %s", p.Outcome, p.Reason, p.Cause)
	}
	if r.Status.State != stateFinished || r.Status.Outcome != work.RunFailed || !maps.Equal(got, want) {
		return fmt.Sprintf("it says %s %s %v", r.Status.State, r.Status.Outcome, got)
	}
	return ""
}

func checkUntouched(r *demoRecord) string {
	if r.Before != "a library with one function" {
		return fmt.Sprintf("it was at %q", r.Before)
	}
	return ""
}

func checkResult(r *demoRecord) string {
	got := slices.Sorted(slices.Values(r.Commits))
	if !slices.Equal(got, demoDone()) {
		return fmt.Sprintf("its commits are of the phases %v", got)
	}
	return ""
}

func checkTests(r *demoRecord) string {
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
