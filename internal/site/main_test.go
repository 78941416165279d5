package site

import (
	"os"
	"testing"

	"forge/internal/agent"
	"forge/internal/proc"
)

// TestMain lets the test binary play scripted agents.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	os.Exit(m.Run())
}
