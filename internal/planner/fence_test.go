package planner

import (
	"testing"

	"forge/internal/text/texttest"
	"forge/internal/work"
)

// What strangers may have written stands in the author's prompt as data.
func TestForeignTextStandsInFences(t *testing.T) {
	t.Parallel()
	for _, hostile := range texttest.Prompts() {
		texttest.Fenced(t, prompt(Request{
			Spec: hostile, Verify: []string{hostile}, Existing: &work.Plan{Phases: []work.Phase{{Number: "01", Name: hostile, Promise: hostile}}},
		}))
		texttest.Fenced(t, repair([]string{hostile}))
	}
}
