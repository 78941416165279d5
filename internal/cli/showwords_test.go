package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"forge/internal/project"
	"forge/internal/work"
	"forge/orchestrator"
	"forge/review"
)

// What was doubted of an earlier iteration is not said of the next one.
func TestWordsShown(t *testing.T) {
	event := func(kind work.EventKind, data any) work.Event {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		return work.Event{Kind: kind, Data: raw}
	}
	sure := 0.4
	var w wordsShown
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
	w.stand(&orchestrator.Phase{Review: orchestrator.Review{Of: map[string]*orchestrator.Opinion{
		"security": {Findings: []work.Finding{{Severity: work.SeverityMajor, File: "a.go", Line: 3, Issue: "unchecked", Suggestion: "check it"}}},
	}}})
	text := w.text(false)
	if !strings.Contains(text, "major (security) a.go:3: unchecked") || !strings.Contains(text, "check it") || strings.Contains(w.text(true), "unchecked") {
		t.Errorf("got %s", text)
	}
}

// A checkpoint whose time is over is shown as what it is: held.
func TestExpiredIsListedAsHeld(t *testing.T) {
	var out strings.Builder
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := &checkout{&project.Checkout{Env: project.Env{Now: func() time.Time { return now }}}, &App{Stdout: &out}}
	later := now.Add(time.Second)
	list := []work.Checkpoint{
		{ID: "r.1", Kind: "final", Question: "Land it?", Status: work.CheckpointPending, ExpiresAt: &now, OpenedAt: now},
		{ID: "r.2", Kind: "final", Question: "Land it?", Status: work.CheckpointPending, ExpiresAt: &later, OpenedAt: now},
	}
	if err := p.checkpointTable(list, true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if !strings.Contains(lines[1], "expired") || !strings.Contains(lines[1], "(expired, held) Land it?") || strings.Contains(lines[2], "expired") {
		t.Errorf("got\n%s", out.String())
	}
}
