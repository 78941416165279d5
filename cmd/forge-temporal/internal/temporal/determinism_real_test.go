//go:build real

package temporal

import (
	"os"
	"os/exec"
	"testing"

	"forge/internal/pace"
)

// The workflow, and the core in it, ask for nothing that is not the same each time:
// no clock, no randomness, no order of a map. workflowcheck.yaml says what was looked
// at by a person.
func TestRealTemporalDeterminism(t *testing.T) {
	pace.Slow(t, "the whole program is type-checked")
	program := os.Getenv("FORGE_REAL_WORKFLOWCHECK")
	if program == "" {
		t.Skip("FORGE_REAL_WORKFLOWCHECK names no program: scripts/real.sh does")
	}
	cmd := exec.CommandContext(t.Context(), program, "-config", "workflowcheck.yaml", "./internal/temporal")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("workflowcheck: %v\n%s", err, out)
	}
}
