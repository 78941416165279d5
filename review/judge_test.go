package review

import (
	"errors"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestJudge(t *testing.T) {
	tests := []struct {
		answer, verdict, why string
		confidence           float64 // -1 = unknown
		fixPath              string
	}{
		{`{"verdict":"Fix","confidence":0.9,"fix_path":true,"reason":"r","instructions":"i"}`, "Fix", "", 0.9, "true"},
		{`{"verdict":"Proceed","confidence":null,"fix_path":null}`, "Proceed", "", -1, "nil"},
		{`{"verdict":"FailPhase","fix_path":false}`, "FailPhase", "", -1, "false"},
		{`{"verdict":"AskHuman","confidence":1}`, "", "verdict is \"AskHuman\"", -1, "nil"},
		{`{"verdict":"proceed","confidence":1}`, "", "verdict", -1, "nil"},
		{`{"verdict":"Proceed","confidence":2}`, "", "confidence", -1, "nil"},
		{`{"verdict":"Proceed","confidence":1,"fix_path":"yes"}`, "", "fix_path", -1, "nil"},
		{`{"verdict":"FailPhase","verdict":"Proceed"}`, "", "twice", -1, "nil"},
		{``, "", "no usable answer", -1, "nil"},
		{`{}`, "", "verdict is missing", -1, "nil"},
	}
	for _, tt := range tests {
		a := Judge(t.Context(), saying(tt.answer), JudgeInput{Keep: func(data []byte) string { return "blob of " + string(data) }})
		confidence, fixPath := -1.0, "nil"
		if a.Confidence != nil {
			confidence = *a.Confidence
		}
		if a.FixPath != nil {
			fixPath = map[bool]string{true: "true", false: "false"}[*a.FixPath]
		}
		if a.Verdict != tt.verdict || !strings.Contains(a.Why, tt.why) || (a.Why == "") != (tt.why == "") || confidence != tt.confidence || fixPath != tt.fixPath {
			t.Errorf("%s: %+v, confidence %v, fix path %s", tt.answer, a, confidence, fixPath)
		}
		if a.Model != "fake-1" || a.Request != "blob of request 1" || *a.Usage.InputTokens != 100 || tt.answer != "" && a.Answer != "blob of "+tt.answer {
			t.Errorf("%+v", a)
		}
	}
	a := Judge(t.Context(), &fakeModel{answer: func(int, Question) (string, error) { return `{"verdict":"Proceed"}`, errors.New("cut") }}, JudgeInput{})
	if a.Verdict != "" || a.Why != "no usable answer: cut" {
		t.Errorf("beside an error: %+v", a)
	}
}

func TestJudgeText(t *testing.T) {
	c := Change{Files: []File{added("a.go", strings.Fields(strings.Repeat("line ", 100))...)}}
	c.Files[0].Hunks[0].Body = []byte(strings.Replace(string(c.Files[0].Hunks[0].Body), "+line\n", "+faraway\n", 1))
	text := judgeText(JudgeInput{Request: work.ArbiterRequest{PhaseName: "login", Attempts: 1, Most: 2, Summary: "Let users in.", Findings: []work.Finding{
		{Specialist: "security", Also: []string{"simplicity"}, Severity: work.SeverityCritical, File: "a.go", Line: 50, EndLine: 52, Issue: "i", Failure: "f", Suggestion: "s", Repro: "r"},
		{Specialist: "forge", Severity: work.SeverityMajor, Issue: "a test is gone"},
	}}, Change: c})
	for _, want := range []string{
		"fixed 1 time so far; 2 are allowed", "Let users in.", "1. critical, by security and simplicity, a.go:50\n   issue: i\n   leads to: f\n   suggestion: s\n   shown by: r\n",
		"2. major, by forge\n   issue: a test is gone\n", "\n=== a.go\nnew file\n35     + line\n", "\n67     + line\n~~~end-",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "faraway") {
		t.Error("lines far from the findings are shown")
	}
}
