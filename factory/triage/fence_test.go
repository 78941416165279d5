package triage

import (
	"testing"

	"forge/gates"
	"forge/internal/text/texttest"
	"forge/internal/work"
)

// What strangers may have written stands in a question about an issue as data.
func TestForeignTextStandsInFences(t *testing.T) {
	t.Parallel()
	for _, hostile := range texttest.Prompts() {
		s := &State{Spec: Spec{
			Issue: 7, Title: hostile, Description: hostile, Criteria: []work.Criterion{{ID: "c1", Text: hostile}}, Labels: []string{hostile}, Depth: 1,
		}}
		s.Stages[0].Notes, s.Stages[0].Problem = []Note{{Text: hostile}}, hostile
		q := s.Ask(Command{Target: gates.PointIntent})
		texttest.Fenced(t, q.User)
		texttest.Outside(t, q.System)
	}
}
