package backtest

import (
	"bufio"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"forge/gates"
	"forge/internal/work"
	"forge/orchestrator"
)

func inline(e work.Event) (orchestrator.Spec, error) {
	var d orchestrator.RunStartedData
	err := json.Unmarshal(e.Data, &d)
	return *d.Spec, err
}

func each(evs []work.Event) iter.Seq2[work.Event, error] {
	return func(yield func(work.Event, error) bool) {
		for _, e := range evs {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func recorded(t testing.TB, file string) []work.Event {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var evs []work.Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e work.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		evs = append(evs, e)
	}
	return evs
}

// Asked again, the policy that decided decides as it did: at every boundary of
// every recorded run, and at no fewer boundaries than checkpoints opened.
func TestTheSamePolicyDecidesTheSame(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "orchestrator", "testdata", "journals", "*.jsonl"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d recorded runs, %v", len(files), err)
	}
	kinds := map[string]bool{}
	for _, file := range files {
		evs := recorded(t, file)
		story, err := Read(inline, each(evs))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		opened := 0
		for _, e := range evs {
			switch e.Kind {
			case work.CheckpointOpened:
				opened++
			case work.CheckpointOverdue: // asked again at the same boundary
				opened--
			}
		}
		asked := 0
		for _, b := range story.Boundaries {
			kinds[b.Kind] = true
			if b.Asked {
				asked++
			}
			if b.Stops(b.Policy) != b.Asked {
				t.Errorf("%s: event %d, %s of phase %q: asked %v, and asked again %v", filepath.Base(file), b.Seq, b.Kind, b.Phase, b.Asked, !b.Asked)
			}
		}
		if asked != opened {
			t.Errorf("%s: %d checkpoints opened, %d were seen", filepath.Base(file), opened, asked)
		}
	}
	for _, kind := range []string{"phase.start", "iteration", "stale", "subphase", "final", "ckpt.phase_transition", "findings", "plan.initial", "evidence"} {
		if !kinds[kind] {
			t.Errorf("no recorded run came to a decision at %s", kind)
		}
	}
}

// The freest policy asks nowhere; the most careful one everywhere that it can.
func TestReplayUnderOtherPolicies(t *testing.T) {
	full, _ := gates.Preset("full")
	handsOff, _ := gates.Preset("hands_off")
	for _, name := range []string{"v1-alone", "v1-with-a-person", "v1-reviews", "v1-job"} {
		story, err := Read(inline, each(recorded(t, filepath.Join("..", "..", "orchestrator", "testdata", "journals", name+".jsonl"))))
		if err != nil {
			t.Fatal(err)
		}
		free, careful := Replay(story, full), Replay(story, handsOff)
		if free.WouldAsk != 0 || len(free.Opened) != 0 || len(free.Passed) != free.Asked {
			t.Errorf("%s under full: %+v", name, free)
		}
		if careful.WouldAsk != careful.Decisions || len(careful.Passed) != 0 || len(careful.Opened) != careful.Decisions-careful.Asked {
			t.Errorf("%s under hands_off: %+v", name, careful)
		}
	}
}

// A person asked at eight places and said no at some: going on by itself would
// have been wrong there, and only there.
func TestWrongIsWhatAPersonOrTheRunSaidAfterwards(t *testing.T) {
	story, err := Read(inline, each(recorded(t, filepath.Join("..", "..", "orchestrator", "testdata", "journals", "v1-with-a-person.jsonl"))))
	if err != nil {
		t.Fatal(err)
	}
	full, _ := gates.Preset("full")
	r := Replay(story, full)
	for _, d := range r.Passed {
		said := d.Answer == work.CheckpointChangesRequested || d.Answer == work.CheckpointRejected
		if against := gates.DecidesAgainst(gates.Point(d.Kind)) || d.Kind == orchestrator.PointBaseline; against != (d.Instead != "") || against && d.Wrong != "" || !against && said != (d.Wrong != "") {
			t.Errorf("event %d, %s: %+v", d.Seq, d.Kind, d)
		}
	}
	if !slices.ContainsFunc(r.Passed, func(d Difference) bool { return d.Wrong != "" }) {
		t.Error("nothing was wrong")
	}
	// The result was sent back once before it was approved.
	if r.Promotion.Decision != "Done" || r.Promotion.Wrong != "it was sent back" {
		t.Errorf("promotion: %+v", r.Promotion)
	}
	review, _ := gates.Preset("review")
	if p := Replay(story, review).Promotion; p.Decision != AskedFirst || p.Wrong != "" {
		t.Errorf("promotion where a person is asked: %+v", p)
	}
}

// made is a run of events that are put together by hand.
func made(t *testing.T, spec orchestrator.Spec, steps ...any) Story {
	t.Helper()
	evs := []work.Event{{Seq: 1, Run: "r", Kind: work.RunStarted, Data: json.RawMessage(`{}`)}}
	phase := ""
	for _, s := range steps {
		kind := work.GateDecided
		switch d := s.(type) {
		case string:
			phase = d
			continue
		case orchestrator.PhaseMergedData:
			kind = work.PhaseMerged
		case work.PhaseFinishedData:
			kind = work.PhaseFinished
		case orchestrator.ArbiterDecidedData:
			kind = work.ArbiterDecided
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		evs = append(evs, work.Event{Seq: int64(len(evs) + 1), Run: "r", Kind: kind, Phase: phase, Data: raw})
	}
	story, err := Read(func(work.Event) (orchestrator.Spec, error) { return spec, nil }, each(evs))
	if err != nil {
		t.Fatal(err)
	}
	return story
}

// The facts of a boundary are those that the run had there: what dependencies
// changed, or that nobody knows, and which phases are asked about per iteration.
func TestFactsOfABoundary(t *testing.T) {
	spec := orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{{Number: "01"}, {Number: "02", DependsOn: []string{"01"}}}},
		Settings: work.Settings{AutoApproveThreshold: 5, Phases: map[string]work.PhaseSettings{
			"01": {Permission: work.PermissionStandard}, "02": {Permission: work.PermissionStandard, AskIteration: true},
		}},
	}
	start := work.GateDecidedData{Gate: "phase.start", Decision: "go", By: "strategy:autonomous"}
	iterate := work.GateDecidedData{Gate: "iteration", Decision: "go", By: "strategy:autonomous"}
	interactive, _ := gates.Preset("interactive")
	for _, tt := range []struct {
		name   string
		merged []any
		stops  bool
	}{
		{"few files", []any{"01", orchestrator.PhaseMergedData{Files: 3}}, false},
		{"too many", []any{"01", orchestrator.PhaseMergedData{Files: 6}}, true},
		{"nobody knows", nil, true},
	} {
		story := made(t, spec, append(tt.merged, "02", start, iterate)...)
		if len(story.Boundaries) != 2 {
			t.Fatalf("%s: %+v", tt.name, story.Boundaries)
		}
		if got := interactive.Stops(story.Boundaries[0].Moment); got != tt.stops {
			t.Errorf("%s: asked about the start: %v", tt.name, got)
		}
		if !interactive.Stops(story.Boundaries[1].Moment) {
			t.Errorf("%s: not asked about an iteration of a phase that is marked", tt.name)
		}
	}
	story := made(t, spec, "01", start, iterate)
	if interactive.Stops(story.Boundaries[1].Moment) {
		t.Error("asked about an iteration of a phase that is not marked")
	}
}

// What no policy has a say in is no boundary; points of one boundary that were
// decided one after another are one.
func TestWhatIsABoundary(t *testing.T) {
	rule := func(gate, decision string) work.GateDecidedData {
		return work.GateDecidedData{Gate: gate, Decision: decision, By: "rule:" + gate}
	}
	story := made(t, orchestrator.Spec{},
		"01", rule("claim", "claimed"), rule("merge", "land"), rule("iteration", "go"), rule("phase.start", "go"), rule("subphase", "reject"),
		work.GateDecidedData{Gate: "phase.start", Decision: "go", By: "flag:--yes"},
		work.GateDecidedData{Gate: "stale", Decision: "continue", By: "strategy:autonomous"},
		rule("ckpt.deliverable", "go"), rule("ckpt.phase_transition", "go"),
		work.GateDecidedData{Gate: "stale", Decision: "pivot", By: "strategy:autonomous"},
		orchestrator.ArbiterDecidedData{Verdict: "FailPhase"}, orchestrator.ArbiterDecidedData{Verdict: "Proceed"},
		work.PhaseFinishedData{Outcome: work.PhaseFailed, Reason: work.ReasonStale},
		"", rule("final", "go"),
	)
	var got []string
	for _, b := range story.Boundaries {
		text := ""
		for _, pt := range b.Points {
			text += string(pt) + " "
		}
		got = append(got, text+b.Ended)
	}
	want := []string{"ckpt.deliverable ckpt.phase_transition failed (stale)", "stale failed (stale)", "findings failed (stale)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A result whose proof is in doubt is a boundary of its own, at which the
// result is judged; an owner's policy may let it pass.
func TestEvidenceInDoubtIsABoundary(t *testing.T) {
	story, err := Read(inline, each(recorded(t, filepath.Join("..", "..", "orchestrator", "testdata", "journals", "v2-doubts.jsonl"))))
	if err != nil {
		t.Fatal(err)
	}
	last := story.Boundaries[len(story.Boundaries)-1]
	if !story.Judged || last.Kind != "evidence" || !last.Asked || last.Answer != work.CheckpointApproved {
		t.Errorf("judged %v, the last boundary is %+v", story.Judged, last)
	}
	full, _ := gates.Preset("full")
	if !last.Stops(full) {
		t.Error("full lets a proof pass that is in doubt")
	}
	full.Gates[gates.PointEvidence] = gates.Auto
	if last.Stops(full) {
		t.Error("a policy that lets it pass stops")
	}
}

// The level of a phase asks whatever policy the run has, and forge why says so.
func TestALevelOfAPhaseAsksUnderEveryPolicy(t *testing.T) {
	full, _ := gates.Preset("full")
	manual, _ := gates.Preset("manual")
	spec := orchestrator.Spec{
		Plan:     work.Plan{Phases: []work.Phase{{Number: "01", Name: "a"}, {Number: "02", Name: "b"}}},
		Settings: work.Settings{Phases: map[string]work.PhaseSettings{"01": {}, "02": {Levels: []string{"manual"}}}},
		Policy:   full, Levels: map[string]gates.Policy{"manual": manual},
	}
	start := work.GateDecidedData{Gate: "phase.start", Decision: "go", By: "strategy:autonomous"}
	story := made(t, spec, "01", start, "02", start)
	if story.Boundaries[0].Stops(full) || !story.Boundaries[1].Stops(full) {
		t.Errorf("under full phase 01 asks: %v, phase 02 asks: %v", story.Boundaries[0].Stops(full), story.Boundaries[1].Stops(full))
	}
	asked := story.Boundaries[1]
	changes, _ := asked.Policy.Least(asked.Moment)
	least := Least{Changes: changes, Own: asked.Levels}
	if got := least.Text(); got != "the level of a phase or an agent asks here: manual" {
		t.Errorf("forge why says %q", got)
	}
}
