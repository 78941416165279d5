package report

import (
	"strings"
	"testing"

	"forge/internal/approval"
	"forge/internal/work"
)

// Findings are told once: where the facts of a question name them, they are left
// out here.
func TestWordsText(t *testing.T) {
	w := approval.Words{Findings: []work.Finding{{Severity: work.SeverityMajor, Specialist: "security", File: "a.go", Line: 3, Issue: "unchecked", Suggestion: "check it"}}}
	text := wordsText(w, false)
	if !strings.Contains(text, "major (security) a.go:3: unchecked") || !strings.Contains(text, "check it") || strings.Contains(wordsText(w, true), "unchecked") {
		t.Errorf("got %s", text)
	}
}
