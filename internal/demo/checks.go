package demo

import (
	"fmt"
	"slices"
	"strings"

	"forge/internal/work"
	"forge/orchestrator"
)

// killedPhase is the phase in whose second iteration forge is killed.
const killedPhase = "07"

// record is what is known of one play of the demo.
type record struct {
	Run     string
	Events  []work.Event // while forge runs those it printed, then the journal's
	Printed []work.Event
	Killed  bool // the first process was ended by SIGKILL
	Code    int  // exit code of the second
	Status  status
	Before  string   // subject of the user's branch and its changes, before the result was merged
	Merge   string   // the command that forge prints for it
	Commits []string // phases by the trailers of the result's commits
	Files   []string // of the user's branch afterwards
	Tests   string   // what the project's tests print there
}

// status is what is read of forge status --output json.
type status struct {
	orchestrator.RunStanding
	Phases []orchestrator.PhaseStanding `json:"phases"`
}

// check is one thing that must be so.
type check struct {
	name  string
	where string
	says  string
	live  bool // decided by the events and the kill, so that it can be told as it happens
	judge func(*record) string
}

// expectations are all expectations of the demo, in the order of the story.
func expectations() []check {
	return []check{
		{"baseline", "", "the project's own tests pass on the base, before anything is spent", true, checkBaseline},
		{"parallel", "02 + 03", "two phases are at work at the same time", true, checkParallel},
		{"pivot", phaseName("04"), "two iterations without progress: the next one is told to change its ways", true, checkPivot},
		{"pivoted", phaseName("04"), "after the pivot it did its work: verified and merged", true, func(r *record) string { return r.merged("04") }},
		{"lie", phaseName("07"), "it promised what is not so: verify caught it, and it has to go on", true, checkLie},
		{"stale", phaseName("05"), "stalled again after its pivot: this phase failed, the others go on", true, checkStale},
		{"skipped", phaseName("06"), "depends on it, so it is skipped, and 05 is named as the cause", true, checkSkipped},
		{"subphase", phaseName("08"), "its sub-phase 08.1 did its part, inside the budget of 08", true, checkSubPhase},
		{"killed", "forge", "is dead; the journal holds each step up to here", true, checkKilled},
		{"resumed", phaseName("07"), "the cut iteration runs again, under the same number", true, checkResumed},
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
func each[T any](r *record, kind work.EventKind, phase string, fn func(work.Event, T)) {
	for _, e := range r.Events {
		var d T
		if e.Kind == kind && (phase == "" || e.Phase == phase) && work.Decode(e, &d) == nil {
			fn(e, d)
		}
	}
}

// count counts events of a kind whose payload is as wanted.
func count[T any](r *record, kind work.EventKind, phase string, wanted func(work.Event, T) bool) int {
	n := 0
	each(r, kind, phase, func(e work.Event, d T) {
		if wanted(e, d) {
			n++
		}
	})
	return n
}

// seq is the sequence number of the first event of a kind, 0 = there is none.
func (r *record) seq(kind work.EventKind, phase string) int64 {
	for _, e := range r.Events {
		if e.Kind == kind && (phase == "" || e.Phase == phase) {
			return e.Seq
		}
	}
	return 0
}

// finished is how a phase ended last, in words.
func (r *record) finished(phase string) string {
	got := "it has not ended"
	each(r, work.PhaseFinished, phase, func(_ work.Event, d work.PhaseFinishedData) {
		got = strings.Join(slices.DeleteFunc([]string{string(d.Outcome), string(d.Reason), d.Cause, string(d.Proof)}, func(s string) bool { return s == "" }), " ")
	})
	return got
}

func (r *record) ended(phase, want string) string {
	if got := r.finished(phase); got != want {
		return fmt.Sprintf("phase %s: %s, not %s", phase, got, want)
	}
	return ""
}

// merged says that a phase is done, proven, and part of the result.
func (r *record) merged(phase string) string {
	if r.seq(work.PhaseMerged, phase) == 0 {
		return fmt.Sprintf("phase %s was not merged", phase)
	}
	return r.ended(phase, "done verified")
}
