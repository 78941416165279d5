package orchestrator

import (
	"testing"

	"forge/internal/work"
)

// A phase that its run never worked on says why it counts as done.
func TestNotRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		phase Phase
		want  string
	}{
		{Phase{View: View{Ending: Ending{Outcome: work.PhaseDone, Reason: work.ReasonUser, Proof: work.ProofWaived}}}, "left out of this run: taken as done, unproven"},
		{Phase{View: View{Ending: Ending{Outcome: work.PhaseDone, Reason: work.ReasonUser, Proof: work.ProofVerified}}}, "done before, in the run that this one goes on from"},
		{Phase{View: View{Ending: Ending{Outcome: work.PhaseDone, Reason: work.ReasonUser, Proof: work.ProofClaim}}}, "done before by its word alone, in the run that this one goes on from"},
		{Phase{View: View{Ending: Ending{Outcome: work.PhaseSkipped, Reason: work.ReasonUser}}}, ""},
		{Phase{View: View{Ending: Ending{Outcome: work.PhaseDone, Proof: work.ProofVerified}}}, ""},
	} {
		if got := c.phase.NotRun(); got != c.want {
			t.Errorf("%s, %s, %s: %q, want %q", c.phase.Outcome, c.phase.Reason, c.phase.Proof, got, c.want)
		}
	}
}
