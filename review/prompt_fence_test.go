package review

import (
	"testing"

	"forge/internal/text/texttest"
	"forge/internal/work"
)

// What strangers may have written stands in a reviewer's and in the arbiter's
// question as data.
func TestForeignTextStandsInFences(t *testing.T) {
	t.Parallel()
	for _, hostile := range texttest.Prompts() {
		change := Change{Files: []File{{Path: hostile, Status: Added}}}
		in := Input{
			Specialist: work.Specialist{Name: Security}, PhaseName: hostile, Summary: hostile, Change: change, Intent: hostile,
			Criteria: []work.Criterion{{ID: "c1", Text: hostile}},
		}
		r := reviewer{in: in}
		texttest.Fenced(t, r.question(part{text: []byte(hostile)}, 1, 2, []byte(hostile)).User)
		found := []work.Finding{{Severity: work.SeverityMajor, Specialist: "s", File: hostile, Line: 1, Issue: hostile, Failure: hostile, Suggestion: hostile, Repro: hostile}}
		texttest.Fenced(t, judgeText(JudgeInput{Change: change, Request: work.ArbiterRequest{PhaseName: hostile, Summary: hostile, Findings: found}}))
	}
}
