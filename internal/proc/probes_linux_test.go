package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is left of a try whose Forge is dead is ended by the next one; a try of a
// living one, or of one elsewhere, is left alone.
func TestLeftoversOfATryAreEnded(t *testing.T) {
	dir := t.TempDir()
	lock := func(name string) string { return filepath.Join(dir, name) }
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	space := pidNamespace()
	if space == "" {
		t.Fatal("the pid namespace has no name")
	}
	marks := map[string]string{
		"dead":      fmt.Sprintf("probe-%s-%d-1-aa", space, gone.Process.Pid),
		"reused":    fmt.Sprintf("probe-%s-%d-1-bb", space, os.Getpid()),
		"living":    probeMark(),
		"elsewhere": fmt.Sprintf("probe-1-%d-1-cc", gone.Process.Pid),
		"odd":       fmt.Sprintf("probe-%s-x-1-dd", space),
	}
	for name, mark := range marks {
		c := exec.Command(self(), "child:hold-deaf", lock(name))
		c.Env = []string{MarkVariable + "=" + mark}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	}
	for name := range marks {
		waitHeld(lock(name))
	}
	Detect(t.Context())
	for _, name := range []string{"dead", "reused"} {
		wantFree(t, lock(name))
	}
	for _, name := range []string{"living", "elsewhere", "odd"} {
		if free(lock(name)) {
			t.Errorf("the %s try was ended, too", name)
		}
	}
}

// A try says by its mark whose it is.
func TestTriesAreMarked(t *testing.T) {
	if mark := probeMark(); !strings.HasPrefix(mark, "probe-"+pidNamespace()+"-"+fmt.Sprint(os.Getpid())+"-") || !proberLives(strings.TrimPrefix(mark, "probe-"+pidNamespace()+"-")) {
		t.Errorf("mark %q", mark)
	}
}
