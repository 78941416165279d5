package beside

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A forge that somebody gave the other program's name does not go on as itself for
// ever: it has become it once, and says that it is not that program.
func TestBecomeOnce(t *testing.T) {
	if os.Getenv("FORGE_TEST_BECOME") != "" {
		Become([]string{"forge", "x"}, os.Environ())
		os.Exit(7) // there was none
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, Name), []byte("#!/bin/sh\n[ \"$FORGE_WENT_ON $1\" = \"1 x\" ] && exit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		more []string
		want int
	}{{nil, 3}, {[]string{mark + "=1"}, 7}} {
		cmd := exec.Command(self, "-test.run", "^TestBecomeOnce$")
		cmd.Env = slices.Concat(os.Environ(), []string{"FORGE_TEST_BECOME=1", "PATH=" + dir}, c.more)
		_ = cmd.Run()
		if got := cmd.ProcessState.ExitCode(); got != c.want {
			t.Errorf("with %v it ends with %d, want %d", c.more, got, c.want)
		}
	}
}

func TestBecameIsForgotten(t *testing.T) {
	t.Setenv(mark, "1")
	if !Became() || Became() {
		t.Error("that forge went on is told once, and not to children")
	}
}
