package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A landlocked child leaves no folder of its own behind.
func TestLandlockScratchIsRemoved(t *testing.T) {
	need(t, LevelLandlock)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	s := child(t, "")
	s.Sandbox = &Sandbox{Level: LevelLandlock, Write: []string{s.Dir}}
	expect(t, s, "run:mkdir -p $HOME/a/b && touch $HOME/a/b/c && chmod 500 $HOME/a/b $HOME/a && echo made", "ok made")
	if entries, _ := os.ReadDir(temp); len(entries) > 0 {
		t.Errorf("%v is left", entries)
	}
}

// A program whose main does not call SandboxChild gets an error, not a child
// that runs free.
func TestLandlockNeedsItsHelper(t *testing.T) {
	t.Parallel()
	if err := judgeLandlock(nil); !errors.Is(err, errNoSandboxChild) {
		t.Errorf("a helper that said nothing: %v", err)
	}
	if err := judgeLandlock([]byte(landlockDone + "execute x: no such file\n")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a helper that failed: %v", err)
	}
	if err := judgeLandlock([]byte(landlockDone)); err != nil {
		t.Errorf("a helper that worked: %v", err)
	}
	// Without an order it restricts nothing and starts nothing.
	c := exec.Command(self())
	c.Args[0] = landlockName
	err := c.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 126 {
		t.Errorf("a helper without an order: %v", err)
	}
}

func TestLandlockABI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		abi     int
		network bool
		want    string
	}{
		{1, true, "1fff 0 0"}, {2, true, "3fff 0 0"}, {3, true, "7fff 0 0"}, {4, true, "7fff 0 0"}, {4, false, "7fff 3 0"},
		{5, false, "ffff 3 0"}, {6, false, "ffff 3 3"}, {9, false, "1ffff 3 3"}, {10, false, "1ffff f 3"}, {99, true, "1ffff 0 3"},
	} {
		a := landlockAttr(c.abi, c.network)
		if got := fmt.Sprintf("%x %x %x", a.Handled_access_fs, a.Handled_access_net, a.Scoped); got != c.want {
			t.Errorf("ABI %d, network %t: %s, want %s", c.abi, c.network, got, c.want)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	c := Detect(t.Context())
	if !c.Bubblewrap && !strings.Contains(c.Why, "bubblewrap does not work: ") || !c.Landlock && !strings.Contains(c.Why, "landlock does not work: ") {
		t.Errorf("%+v does not say why", c)
	}
	if os.Getenv("FORGE_TEST_REQUIRE_SANDBOX") == "1" && !c.Bubblewrap {
		t.Errorf("%v: %+v", errNeeded, c)
	}
}

func TestDetectWithoutBubblewrap(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	c := Detect(t.Context())
	if c.Bubblewrap || !strings.Contains(c.Why, "bubblewrap does not work: ") || !strings.Contains(c.Why, "find bubblewrap") {
		t.Errorf("%+v", c)
	}
	if works := try(t.Context(), Sandbox{Level: LevelLandlock, Network: true}) == nil; works != c.Landlock {
		t.Errorf("landlock works: %t, and Detect says %+v", works, c)
	}
}
