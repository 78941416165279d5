package project

import (
	"testing"

	"forge/internal/work"
)

// What is suggested in the place of an unknown phase is the same each time, and
// never the phase itself.
func TestSuggestedPhase(t *testing.T) {
	t.Parallel()
	plan := work.Plan{Phases: []work.Phase{{Number: "01"}, {Number: "02", DependsOn: []string{"09"}}, {Number: "03"}, {Number: "04"}}}
	for range 50 {
		got := CheckGraph(plan)
		if len(got) != 1 || got[0].Fix != `did you mean "01"?` {
			t.Fatalf("%+v", got)
		}
	}
	plan.Phases = plan.Phases[1:2]
	if got := CheckGraph(plan); len(got) != 1 || got[0].Fix != "name a phase of this plan" {
		t.Fatalf("of itself alone: %+v", got)
	}
}
