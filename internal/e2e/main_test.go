package e2e

import (
	"os"
	"testing"

	"forge/internal/agent"
	"forge/internal/cli"
	"forge/internal/proc"
)

// TestMain lets the test binary play forge, since a whole process is needed to
// be killed.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	if os.Getenv(playForge) != "" {
		os.Exit(cli.Main(cli.Extras{}))
	}
	os.Exit(m.Run())
}

// playForge makes the test binary behave as forge.
const playForge = "FORGE_TEST_PLAY"
