package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// playForge makes the test binary behave as forge.
const playForge = "FORGE_TEST_PLAY"

func TestMain(m *testing.M) {
	if os.Getenv(playForge) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The program hands its arguments on and ends with the exit code of the
// command. Everything else is told by internal/e2e, which plays forge from its
// own test binaries.
func TestForgeIsTheProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		arg, want string
		code      int
	}{
		{"version", "forge ", 0},
		{"no-such-command", "forge: ", 2},
	} {
		cmd := exec.Command(os.Args[0], tt.arg)
		cmd.Env = append(os.Environ(), playForge+"=1")
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != tt.code || !strings.HasPrefix(string(out), tt.want) {
			t.Errorf("forge %s: exit code %d, want %d\n%s", tt.arg, code, tt.code, out)
		}
	}
}
