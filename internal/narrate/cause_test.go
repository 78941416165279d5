package narrate

import (
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// What a person can mend comes first; that a budget is used up is no cause.
func TestCause(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase orchestrator.View
		want  string
	}{
		{orchestrator.View{Ending: orchestrator.Ending{Reason: work.ReasonBudgetExhausted, Detail: "2 of 2 iterations used; verify is red: make test: exit 1\nmore"}}, "verify is red: make test: exit 1 (budget_exhausted: 2 of 2 iterations used)"},
		{orchestrator.View{Ending: orchestrator.Ending{Reason: work.ReasonBudgetExhausted}}, "budget_exhausted"},
		{orchestrator.View{Ending: orchestrator.Ending{Reason: work.ReasonVerifyFailed, Detail: "make test: exit 1; twice"}}, "verify_failed: make test: exit 1; twice"},
		{orchestrator.View{Ending: orchestrator.Ending{Reason: work.ReasonDependencyFailed, Cause: "01"}}, "dependency_failed of 01"},
	} {
		if got := Cause(&c.phase); got != c.want {
			t.Errorf("%s, %q: %q, want %q", c.phase.Reason, c.phase.Detail, got, c.want)
		}
	}
}
