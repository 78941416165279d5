package verify

import (
	"os"
	"path/filepath"
	"testing"

	"forge/internal/work"
)

// A folder in which nothing ran is not written again; one in which something may
// have run is.
func TestControlWritesAFolderOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, files{"a": "1"})
	b.commits.all["c2"] = files{"a": "2"}
	out, err := openTranscript("", b.red)
	if err != nil {
		t.Fatal(err)
	}
	c := &control{Bench: b.Bench, out: out, req: work.ControlRequest{Dir: filepath.Join(b.state, "control"), Sandbox: work.SandboxSettings{Mode: "off"}}}
	defer c.tidy()

	look := func(commit, want string, made int) {
		t.Helper()
		tree, err := c.files(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tree.Read("a")
		if err != nil || string(got) != want || len(tree.paths) != 1 || b.commits.made != made {
			t.Errorf("%s: %q of %q, written %d times, %v; want %q of one file, written %d times", commit, got, tree.paths, b.commits.made, err, want, made)
		}
	}
	run := func(commit, want string, made int) {
		t.Helper()
		if _, err := c.ready(t.Context(), commit, false); err != nil {
			t.Fatal(err)
		}
		if got := read(t, c.req.Dir, "a"); got != want || b.commits.made != made {
			t.Errorf("%s: %q, written %d times; want %q, %d times", commit, got, b.commits.made, want, made)
		}
		for _, name := range []string{"a", "left"} {
			if err := os.WriteFile(filepath.Join(c.req.Dir, name), []byte("by a run"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	look("c1", "1", 1)
	look("c1", "1", 1)
	run("c1", "1", 1)
	run("c1", "1", 2)
	look("c1", "1", 3)
	look("c2", "2", 4)
	run("c1", "1", 5)
}
