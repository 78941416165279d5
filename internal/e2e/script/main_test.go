package script

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"forge/internal/agent"
	"forge/internal/cli"
	"forge/internal/proc"
)

// TestMain lets the test binary play forge, which scripts find in their PATH.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	testscript.Main(m, map[string]func(){"forge": func() { os.Exit(cli.Main(cli.Extras{})) }})
}
