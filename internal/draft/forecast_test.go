package draft

import (
	"slices"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// Each try is forecast as work of its own, side by side as far as there are places.
func TestForecastsCountTries(t *testing.T) {
	spec := orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{{Number: "1"}, {Number: "2"}}},
		Settings: work.Settings{MaxParallel: 2, Phases: map[string]work.PhaseSettings{
			"1": {Budget: 4}, "2": {Budget: 6, Tries: 3},
		}},
	}
	if got := budgetsOf(spec); !slices.Equal(got, []int{4, 6, 6, 6}) {
		t.Errorf("the budgets are %v", got)
	}
	if one, two := turnsOf(spec, "1"), turnsOf(spec, "2"); one != 1 || two != 2 {
		t.Errorf("phase 1 takes %d turns, phase 2 %d, want 1 and 2", one, two)
	}
}
