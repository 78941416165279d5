package approval

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// What was doubted of an earlier iteration is not said of the next one.
func TestWords(t *testing.T) {
	event := func(kind work.EventKind, data any) work.Event {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return work.Event{Kind: kind, Data: raw}
	}
	sure := 0.4
	var w Words
	for _, step := range []struct {
		event   work.Event
		summary string
		doubts  []string
	}{
		{event(work.IterationFinished, work.IterationFinishedData{Message: "I could not", Signals: work.Signals{Blockers: []string{"no network"}}}),
			"I could not", []string{"the agent was blocked: no network"}},
		{event(work.IterationFinished, work.IterationFinishedData{Message: "done"}), "done", nil},
		{event(work.ArbiterDecided, orchestrator.ArbiterDecidedData{
			Verdict: review.AskHuman, Reason: review.ReasonExhausted, Confidence: &sure, Why: "it is risky", Unknown: []string{"security"}, Said: "Proceed", Overruled: true,
		}), "done", []string{"arbiter: AskHuman (attempts_exhausted), confidence 0.4: it is risky", "no usable answer of security", "the arbiter's model said Proceed and was overruled"}},
		{event(work.ArbiterDecided, orchestrator.ArbiterDecidedData{Verdict: review.Proceed, Reason: review.ReasonNoFindings}), "done", nil},
	} {
		if err := w.hear(step.event); err != nil {
			t.Fatal(err)
		}
		if w.Summary != step.summary || strings.Join(w.Doubts, "|") != strings.Join(step.doubts, "|") {
			t.Errorf("after %s: %q, doubts %q", step.event.Data, w.Summary, w.Doubts)
		}
	}
	w.stand(&orchestrator.View{
		Judging: orchestrator.Judging{Review: orchestrator.Review{Of: map[string]*orchestrator.Opinion{
			"security": {Findings: []work.Finding{{Severity: work.SeverityMajor, File: "a.go", Line: 3, Issue: "unchecked", Suggestion: "check it"}}},
		}}},
	})
	want := work.Finding{Severity: work.SeverityMajor, Specialist: "security", File: "a.go", Line: 3, Issue: "unchecked", Suggestion: "check it"}
	if len(w.Findings) != 1 || !reflect.DeepEqual(w.Findings[0], want) {
		t.Errorf("the findings that stand: %+v, want %+v", w.Findings, want)
	}
}
