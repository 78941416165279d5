package gates

import (
	"slices"
	"testing"

	"forge/internal/work"

	"pgregory.net/rapid"
)

// The table of the levels: where each one stops.
func TestAtBoundary(t *testing.T) {
	boundaries := []Boundary{
		{Kind: work.KindStrategic, Number: 1}, {Kind: work.KindStrategic, Number: 3}, {Kind: work.KindTactical, Number: 2},
		{Kind: work.KindStrategic, Number: 0}, {Kind: work.KindStrategic, Number: -1}, {Kind: work.KindTactical, Number: 1},
		{Kind: work.KindTactical, Number: 4, JobComplete: true}, {Kind: work.KindStrategic, Number: 1, JobComplete: true},
	}
	const i, l, s, e = InitialStrategic, LaterStrategic, AfterTactical, AtJobEnd
	for name, want := range map[string][]FreezeContext{
		"full":             {"", "", "", "", "", "", "", ""},
		"review":           {"", "", "", "", "", "", e, e},
		"partial":          {i, "", "", i, i, "", e, e},
		"guided":           {i, l, "", i, i, "", e, e},
		"dependent":        {i, l, s, i, i, s, e, e},
		"autonomous":       {"", "", "", "", "", "", "", ""},
		"plan_then_review": {"", "", "", "", "", "", e, e},
		"manual":           {i, l, s, i, i, s, e, e},
	} {
		for n, b := range boundaries {
			d := preset(t, name).AtBoundary(b)
			status := JobProcessing
			switch {
			case want[n] != NotFrozen:
				status = JobPendingReview
			case b.JobComplete:
				status = JobCompleted
			}
			if d.Frozen != want[n] || d.Status != status || len(d.Points) == 0 {
				t.Errorf("%s at %+v: %+v, want %q and %s", name, b, d, want[n], status)
			}
		}
	}
}

// At the end of a job its last phase is judged with it, once: who wants to see
// every round of work sees the last one, too.
func TestTheLastPhaseFreezesOnce(t *testing.T) {
	p := preset(t, "full")
	p.Gates[PointTactical] = Human
	d := p.AtBoundary(Boundary{Kind: work.KindTactical, Number: 2, JobComplete: true})
	if d.Frozen != AtJobEnd || !slices.Equal(d.Points, []Point{PointFinal, PointTactical}) {
		t.Errorf("%+v", d)
	}
	if d = p.AtBoundary(Boundary{Kind: "both", Number: 2}); d.Frozen == NotFrozen {
		t.Error("a kind that is none went on")
	}
}

func TestBoundariesOfAMoreConservativePolicy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPolicy().Draw(t, "policy")
		stricter := Meet(p, anyPolicy().Draw(t, "bound"))
		b := Boundary{
			Kind:   rapid.SampledFrom([]work.PhaseKind{work.KindStrategic, work.KindTactical, ""}).Draw(t, "kind"),
			Number: rapid.IntRange(-1, 3).Draw(t, "number"), JobComplete: rapid.Bool().Draw(t, "complete"),
		}
		free, bound := p.AtBoundary(b), stricter.AtBoundary(b)
		if free.Frozen != NotFrozen && bound.Frozen != free.Frozen {
			t.Fatalf("%+v became %+v", free, bound)
		}
		if (bound.Frozen == NotFrozen) != (bound.Status != JobPendingReview) {
			t.Fatalf("%+v", bound)
		}
	})
}

func TestResumeAfter(t *testing.T) {
	const (
		yes, changes, no = work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected
		strategic        = work.KindStrategic
		tactical         = work.KindTactical
	)
	tests := map[FreezeContext]map[work.CheckpointStatus]Resumption{
		InitialStrategic: {
			yes: {FirstTactical, tactical, TodosStaged, JobProcessing, true}, changes: {ReworkStrategic, strategic, TodosResume, JobProcessing, false},
			no: {JobEnd, "", "", JobCancelled, false},
		},
		LaterStrategic: {
			yes: {NextTactical, tactical, TodosStaged, JobProcessing, true}, changes: {ReworkStrategic, strategic, TodosResume, JobProcessing, false},
			no: {JobEnd, "", "", JobCancelled, false},
		},
		AfterTactical: {
			yes: {NextStrategic, strategic, TodosTransition, JobProcessing, true}, changes: {FeedbackStrategic, strategic, TodosResume, JobProcessing, false},
			no: {JobEnd, "", "", JobCancelled, false},
		},
		AtJobEnd: {
			yes: {JobEnd, "", "", JobCompleted, true}, changes: {FeedbackStrategic, strategic, TodosResume, JobProcessing, false},
			no: {JobEnd, "", "", JobFailed, false},
		},
	}
	for _, frozen := range append(FreezeContexts(), NotFrozen, "damaged") {
		for _, answer := range []work.CheckpointStatus{yes, changes, no, work.CheckpointPending, work.CheckpointExpired, "", "yes"} {
			want, known := tests[frozen][answer]
			got, ok := ResumeAfter(frozen, answer)
			if ok != known || got != want {
				t.Errorf("%s at %q: %+v, %v, want %+v, %v", answer, frozen, got, ok, want, known)
			}
		}
	}
}

func TestStopsAt(t *testing.T) {
	semi := preset(t, "semi_supervised")
	named := preset(t, "full")
	named.Gates["ckpt.design"] = Human
	for _, tt := range []struct {
		p       Policy
		kind    string
		instead []string
		want    bool
	}{
		{semi, "deliverable", nil, true}, {semi, "intermediate", nil, false}, {semi, "Deliverable", nil, false}, {semi, "", nil, false}, {semi, "*", nil, false},
		{semi, "deliverable", []string{"report"}, false}, {semi, "phase_transition", []string{"report"}, false}, {semi, "final_output", []string{"report"}, false}, {semi, "report", []string{"report"}, true}, {semi, "other", []string{"*"}, false}, {semi, "*", []string{"*"}, true},
		{semi, "deliverable", []string{}, false}, {semi, "", []string{""}, true},
		{preset(t, "manual"), "anything at all", nil, true}, {preset(t, "manual"), "", nil, true}, {preset(t, "autonomous"), "", nil, false},
		{preset(t, "review"), "final_output", nil, true}, {preset(t, "review"), "deliverable", nil, false},
		{named, "design", nil, true}, {named, "design", []string{"x"}, true}, {named, "x", []string{"x"}, true}, {Policy{}, "x", nil, true},
	} {
		if got := tt.p.StopsAt(tt.kind, tt.instead); got != tt.want {
			t.Errorf("%s at %q with %q: %v", tt.p.Preset, tt.kind, tt.instead, got)
		}
	}
}

func TestExpertLevels(t *testing.T) {
	for _, expert := range append(Experts(), "somebody", "") {
		want := map[string]string{"debugger": "full", "validator": "review"}[expert]
		if want == "" {
			want = "partial"
		}
		if got := ExpertLevel(expert); got != want {
			t.Errorf("%s: %s, want %s", expert, got, want)
		}
	}
	if len(Experts()) != 5 {
		t.Errorf("experts %v", Experts())
	}
}
