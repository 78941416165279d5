package demo

import (
	"encoding/json"
	"slices"
	"testing"

	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
)

// canned are the events of a play of the demo in which all is as it must be.
type canned struct {
	t   *testing.T
	evs []work.Event
}

func (c *canned) add(kind work.EventKind, phase string, iteration, attempt int, data any) {
	c.t.Helper()
	raw, err := json.Marshal(data)
	if err != nil {
		c.t.Fatal(err)
	}
	c.evs = append(c.evs, work.Event{V: 1, Seq: int64(len(c.evs) + 1), Run: "r", Kind: kind, Phase: phase, Iteration: iteration, Attempt: attempt, Data: raw})
}

func (c *canned) iteration(phase string, n, attempt int, prompt string, claims ...string) {
	c.add(work.IterationStarted, phase, n, attempt, work.IterationStartedData{Prompt: prompt})
	c.add(work.IterationFinished, phase, n, attempt, work.IterationFinishedData{Outcome: work.OutcomeOK, Claims: claims})
}

func (c *canned) start(phases ...string) {
	for _, n := range phases {
		c.add(work.PhaseStarted, n, 0, 0, orchestrator.PhaseStartedData{Name: n})
	}
}

func (c *canned) verified(phase string, n int, on work.VerifyOn, ok bool) {
	c.add(work.VerifyFinished, phase, n, 1, work.VerifyFinishedData{On: on, OK: ok})
}

func (c *canned) done(phase string) {
	c.add(work.PhaseMerged, phase, 0, 0, orchestrator.PhaseMergedData{Commit: "c"})
	c.add(work.PhaseFinished, phase, 0, 0, work.PhaseFinishedData{Outcome: work.PhaseDone, Proof: work.ProofVerified})
}

func (c *canned) stale(phase string, n int, decision string) {
	c.add(work.GateDecided, phase, n, 0, work.GateDecidedData{Gate: "stale", Decision: decision})
}

func goodPlay(t *testing.T) *record {
	c := &canned{t: t}
	c.add(work.RunStarted, "", 0, 0, orchestrator.RunStartedData{})
	c.verified("", 0, work.OnBase, true)
	c.start("01")
	c.iteration("01", 1, 1, "full", "WORDS DONE")
	c.done("01")
	c.start("02", "03")
	c.iteration("02", 1, 1, "full", "UPPER DONE")
	c.done("02")
	c.iteration("03", 1, 1, "full", "LOWER DONE")
	c.done("03")
	c.start("04", "05", "07")
	c.iteration("04", 1, 1, "full")
	c.iteration("07", 1, 1, "full", "REVERSE DONE")
	c.verified("07", 1, work.OnSnapshot, false)
	c.add(work.IterationStarted, "07", 2, 1, work.IterationStartedData{Prompt: "feedback"})
	c.add(work.RunResumed, "", 0, 0, orchestrator.RunResumedData{})
	c.iteration("07", 2, 2, "feedback", "REVERSE DONE")
	c.done("07")
	c.iteration("04", 2, 1, "feedback")
	c.stale("04", 2, "pivot")
	c.iteration("04", 3, 1, "pivot", "COUNT DONE")
	c.done("04")
	for n := 1; n <= 4; n++ {
		c.iteration("05", n, 1, "feedback")
		if n == 2 {
			c.stale("05", n, "pivot")
		}
	}
	c.stale("05", 4, "stop")
	c.add(work.PhaseFinished, "05", 4, 0, work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonStale})
	c.add(work.PhaseFinished, "06", 0, 0, work.PhaseFinishedData{Outcome: work.PhaseSkipped, Reason: work.ReasonDependencyFailed, Cause: "05"})
	c.start("08")
	c.iteration("08", 1, 1, "full")
	c.add(work.SubPhaseSpawned, "08", 1, 0, orchestrator.SubPhaseSpawnedData{Number: "08.1"})
	c.iteration("08.1", 1, 1, "full", "JOIN TEST DONE")
	c.add(work.SubPhaseFolded, "08", 1, 0, orchestrator.SubPhaseFoldedData{Number: "08.1", Outcome: work.PhaseDone, Spent: 1})
	c.done("08")
	c.start("09")
	c.iteration("09", 1, 1, "full", "MANUAL DONE")
	c.done("09")
	c.add(work.RunFinished, "", 0, 0, work.RunFinishedData{Outcome: work.RunFailed})
	r := &record{
		Run: "r", Events: c.evs, Printed: slices.Clone(c.evs), Killed: true, Code: 1,
		Status: status{RunStanding: orchestrator.RunStanding{State: project.StateFinished, Outcome: work.RunFailed}},
		Before: "a library with one function", Commits: []string{"09", "08", "04", "07", "03", "02", "01"},
		Files: []string{
			"MANUAL.md", "README.md", "lib/count.sh", "lib/join.sh", "lib/lower.sh", "lib/reverse.sh", "lib/say.sh", "lib/upper.sh", "lib/words.sh",
			"tests/join_test.sh", "tests/run.sh", "tests/say_test.sh", "tests/words_test.sh",
		},
		Tests: "all tests pass",
	}
	for _, n := range append(donePhases(), "08.1") {
		r.Status.Phases = append(r.Status.Phases, orchestrator.PhaseStanding{Number: n, Outcome: work.PhaseDone})
	}
	r.Status.Phases = append(r.Status.Phases,
		orchestrator.PhaseStanding{Number: "05", Outcome: work.PhaseFailed, Reason: work.ReasonStale},
		orchestrator.PhaseStanding{Number: "06", Outcome: work.PhaseSkipped, Reason: work.ReasonDependencyFailed, Cause: "05"})
	return r
}

// broken are the checks that do not hold.
func broken(r *record) (names []string) {
	for _, c := range expectations() {
		if c.judge(r) != "" {
			names = append(names, c.name)
		}
	}
	return names
}

// without removes the events for which gone says so, and numbers the others anew.
func (r *record) without(gone func(work.Event) bool) {
	r.Events = slices.DeleteFunc(r.Events, gone)
	for i := range r.Events {
		r.Events[i].Seq = int64(i + 1)
	}
	r.Printed = slices.Clone(r.Events)
}

// change rewrites the payload of the events for which that says so.
func change[T any](t *testing.T, r *record, kind work.EventKind, phase string, how func(*T)) {
	t.Helper()
	n := 0
	for i, e := range r.Events {
		var d T
		if e.Kind != kind || e.Phase != phase {
			continue
		}
		if err := work.Decode(e, &d); err != nil {
			t.Fatal(err)
		}
		how(&d)
		raw, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		r.Events[i].Data = raw
		n++
	}
	if n == 0 {
		t.Fatalf("no event %s of %s to change", kind, phase)
	}
	r.Printed = slices.Clone(r.Events)
}

func is(kind work.EventKind, phase string, iteration int) func(work.Event) bool {
	return func(e work.Event) bool {
		return e.Kind == kind && e.Phase == phase && (iteration == 0 || e.Iteration == iteration)
	}
}

func staleOf(phase, decision string) func(work.Event) bool {
	return func(e work.Event) bool {
		var d work.GateDecidedData
		return e.Kind == work.GateDecided && e.Phase == phase && work.Decode(e, &d) == nil && d.Decision == decision
	}
}

func TestDemoChecksHoldForAGoodPlay(t *testing.T) {
	if got := broken(goodPlay(t)); len(got) > 0 {
		t.Fatalf("broken: %v", got)
	}
}

// Each expectation is broken in the ways it is there for, and nothing passes
// for a play that did not happen.
func TestDemoChecksFindWhatIsWrong(t *testing.T) {
	tests := []struct {
		name string
		how  func(t *testing.T, r *record)
		want []string
	}{
		{"verify was red on the base", func(t *testing.T, r *record) {
			change(t, r, work.VerifyFinished, "", func(d *work.VerifyFinishedData) { d.OK = false })
		}, []string{"baseline"}},
		{"verify on the base came late", func(_ *testing.T, r *record) {
			r.without(is(work.VerifyFinished, "", 0))
			e := r.Events[1]
			e.Kind, e.Phase, e.Data = work.VerifyFinished, "", json.RawMessage(`{"on":"base","ok":true}`)
			r.Events = slices.Insert(r.Events, 4, e)
			r.without(func(work.Event) bool { return false })
		}, []string{"baseline"}},
		{"one after the other", func(_ *testing.T, r *record) {
			from := slices.IndexFunc(r.Events, is(work.PhaseStarted, "03", 0))
			e := r.Events[from]
			r.Events = slices.Delete(r.Events, from, from+1)
			to := slices.IndexFunc(r.Events, is(work.PhaseFinished, "02", 0))
			r.Events = slices.Insert(r.Events, to+1, e)
			r.without(func(work.Event) bool { return false })
		}, []string{"parallel"}},
		{"no pivot", func(_ *testing.T, r *record) { r.without(staleOf("04", "pivot")) }, []string{"pivot"}},
		{"the pivot prompt was not given", func(t *testing.T, r *record) {
			change(t, r, work.IterationStarted, "04", func(d *work.IterationStartedData) { d.Prompt = "feedback" })
		}, []string{"pivot"}},
		{"failed in spite of the pivot", func(t *testing.T, r *record) {
			change(t, r, work.PhaseFinished, "04", func(d *work.PhaseFinishedData) {
				*d = work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonStale}
			})
		}, []string{"pivoted", "rest"}},
		{"the lie was believed", func(t *testing.T, r *record) {
			change(t, r, work.VerifyFinished, "07", func(d *work.VerifyFinishedData) { d.OK = true })
		}, []string{"lie"}},
		{"there was no lie", func(t *testing.T, r *record) {
			r.Events[slices.IndexFunc(r.Events, is(work.IterationFinished, "07", 1))].Data = json.RawMessage(`{"outcome":"ok"}`)
			r.without(func(work.Event) bool { return false })
		}, []string{"lie"}},
		{"never stopped", func(_ *testing.T, r *record) { r.without(staleOf("05", "stop")) }, []string{"stale"}},
		{"stopped without a pivot", func(_ *testing.T, r *record) { r.without(staleOf("05", "pivot")) }, []string{"stale"}},
		{"failed for another reason", func(t *testing.T, r *record) {
			change(t, r, work.PhaseFinished, "05", func(d *work.PhaseFinishedData) { d.Reason = work.ReasonBudgetExhausted })
		}, []string{"stale"}},
		{"the dependent ran", func(_ *testing.T, r *record) {
			e := r.Events[slices.IndexFunc(r.Events, is(work.IterationStarted, "09", 1))]
			e.Phase = "06"
			r.Events = append(r.Events, e)
			r.without(func(work.Event) bool { return false })
		}, []string{"skipped"}},
		{"skipped without its cause", func(t *testing.T, r *record) {
			change(t, r, work.PhaseFinished, "06", func(d *work.PhaseFinishedData) { d.Cause = "" })
		}, []string{"skipped"}},
		{"no sub-phase", func(_ *testing.T, r *record) { r.without(is(work.SubPhaseSpawned, "08", 0)) }, []string{"subphase"}},
		{"the sub-phase failed", func(t *testing.T, r *record) {
			change(t, r, work.SubPhaseFolded, "08", func(d *orchestrator.SubPhaseFoldedData) { d.Outcome = work.PhaseFailed })
		}, []string{"subphase"}},
		{"ended by itself", func(_ *testing.T, r *record) { r.Killed = false }, []string{"killed"}},
		{"killed between iterations", func(_ *testing.T, r *record) {
			e := r.Events[slices.IndexFunc(r.Events, is(work.IterationFinished, "07", 2))]
			e.Data = json.RawMessage(`{"outcome":"interrupted"}`)
			r.Events = slices.Insert(r.Events, slices.IndexFunc(r.Events, is(work.RunResumed, "", 0)), e)
			r.without(func(work.Event) bool { return false })
		}, []string{"killed"}},
		{"not resumed", func(_ *testing.T, r *record) { r.without(is(work.RunResumed, "", 0)) }, []string{"killed", "resumed"}},
		{"went on with the next iteration", func(_ *testing.T, r *record) {
			for i, e := range r.Events {
				if e.Phase == "07" && e.Iteration == 2 && e.Attempt == 2 {
					r.Events[i].Iteration = 3
				}
			}
			r.without(func(work.Event) bool { return false })
		}, []string{"resumed"}},
		{"an iteration twice", func(_ *testing.T, r *record) {
			r.Events = append(r.Events, r.Events[slices.IndexFunc(r.Events, is(work.IterationFinished, "08", 1))])
			r.without(func(work.Event) bool { return false })
		}, []string{"once"}},
		{"a gap", func(_ *testing.T, r *record) { r.Events[5].Seq++ }, []string{"once"}},
		{"a printed event was lost", func(_ *testing.T, r *record) {
			e := r.Events[3]
			e.Data = json.RawMessage(`{"prompt":"another"}`)
			r.Printed = append(r.Printed, e)
		}, []string{"once"}},
		{"not merged", func(_ *testing.T, r *record) { r.without(is(work.PhaseMerged, "09", 0)) }, []string{"rest"}},
		{"not proven", func(t *testing.T, r *record) {
			change(t, r, work.PhaseFinished, "02", func(d *work.PhaseFinishedData) { d.Proof = work.ProofClaim })
		}, []string{"rest"}},
		{"exit code 0", func(_ *testing.T, r *record) { r.Code = 0 }, []string{"exit"}},
		{"the run is called completed", func(t *testing.T, r *record) {
			change(t, r, work.RunFinished, "", func(d *work.RunFinishedData) { d.Outcome = work.RunCompleted })
		}, []string{"exit"}},
		{"status tells otherwise", func(_ *testing.T, r *record) { r.Status.Phases[0].Outcome = work.PhaseFailed }, []string{"status"}},
		{"status lacks a phase", func(_ *testing.T, r *record) { r.Status.Phases = r.Status.Phases[1:] }, []string{"status"}},
		{"the branch was moved", func(_ *testing.T, r *record) { r.Before = "manual" }, []string{"untouched"}},
		{"the checkout was changed", func(_ *testing.T, r *record) { r.Before += "\n?? lib/count.sh" }, []string{"untouched"}},
		{"a commit is missing", func(_ *testing.T, r *record) { r.Commits = r.Commits[1:] }, []string{"result"}},
		{"failed work was delivered", func(_ *testing.T, r *record) { r.Files = append(r.Files, "lib/translate.sh") }, []string{"tests"}},
		{"the tests fail", func(_ *testing.T, r *record) { r.Tests = "FAILED" }, []string{"tests"}},
	}
	seen := map[string]bool{}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := goodPlay(t)
			tt.how(t, r)
			if got := broken(r); !slices.Equal(got, tt.want) {
				t.Errorf("broken: %v, want %v", got, tt.want)
			}
		})
		for _, name := range tt.want {
			seen[name] = true
		}
	}
	for _, c := range expectations() {
		if !seen[c.name] {
			t.Errorf("no case breaks %q", c.name)
		}
	}
	if got := broken(&record{}); len(got) != len(expectations()) {
		t.Errorf("of an empty play only %v are broken", got)
	}
}
