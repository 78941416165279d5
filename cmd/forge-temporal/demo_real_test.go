//go:build real

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/pace"
)

// A day on several machines is played, and one of each is killed in it; without the
// programs that it takes it says which.
func TestRealForgeDemoMachines(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "six issues; a worker's death is noticed after 30 seconds")
	m := newMachine(t, "")
	m.forge(2, "make forge-temporal builds it", "demo", "--machines")
	m.install("forge-temporal")
	if _, err := exec.LookPath("temporal"); err != nil {
		m.forge(2, "the program temporal is not on the PATH", "demo", "--machines")
	}
	temporal := os.Getenv("FORGE_REAL_TEMPORAL")
	if temporal == "" {
		t.Skip("FORGE_REAL_TEMPORAL names no server: scripts/real.sh does")
	}
	keep := filepath.Join(t.TempDir(), "kept")
	cmd := exec.Command(filepath.Join(m.bin, "forge"), "demo", "--machines", "--keep", keep)
	cmd.Dir, cmd.Env = m.root, append(m.env, "PATH="+m.bin+":"+filepath.Dir(temporal)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Count(string(out), "✓") != 3 || strings.Contains(string(out), "✗") {
		logs, _ := filepath.Glob(filepath.Join(keep, "log", "*"))
		for _, log := range logs {
			text, _ := os.ReadFile(log)
			t.Logf("%s:\n%.3000s", filepath.Base(log), text)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	for _, what := range []string{"a worker", "Temporal's server", "the factory"} {
		if !strings.Contains(string(out), ": "+what+"\n") {
			t.Errorf("nothing is said of the end of %s:\n%s", what, out)
		}
	}
	if left, err := exec.Command("pgrep", "-f", keep).Output(); err == nil {
		t.Errorf("processes are left: %s", left)
	}
}
