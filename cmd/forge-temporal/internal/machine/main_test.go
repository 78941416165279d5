//go:build !real

package machine

import (
	"os"
	"testing"

	"forge/internal/agent"
	"forge/internal/proc"
)

// TestMain lets this test binary be what Forge starts itself as.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	os.Exit(m.Run())
}
