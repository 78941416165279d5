package evidence

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forge/internal/git"
	"forge/internal/work"
)

// TestRunsThatBeginTogether: the trusted state is brought up once for all of them, and
// what was accepted before is not read again. Each would else do it for itself, as often
// as another is done before it: the more begin and land at once, the longer each takes.
func TestRunsThatBeginTogether(t *testing.T) {
	b := newBed(t, project())
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	calls := filepath.Join(bin, "calls")
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho \"$1\" >>'"+calls+"'\nexec '"+real+"' \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(filepath.Dir(b.dir), "state")
	if b.repo, err = git.Open(b.ctx, git.Config{StateDir: state, Root: b.dir, Environ: append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))}); err != nil {
		t.Fatal(err)
	}
	b.Store = New(b.repo, t.TempDir())
	b.trustedOf("main", b.base)

	gits := func(runs int) (n int) {
		t.Helper()
		from := b.git("rev-parse", "HEAD")
		const results = 4
		want := files{}
		for i := range results {
			path := fmt.Sprintf("tests/of%d-%d.sh", runs, i)
			want[path] = "accepted\n"
			to := b.forge(files{path: want[path]})
			if err := b.Accept(b.ctx, fmt.Sprintf("r%d-%d", runs, i), []work.TrustMove{{From: from, To: to, Paths: []string{path}}}); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		if err := os.Remove(calls); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range runs {
			all.Go(func() { b.want(b.trustedOf("main", from), want) })
		}
		all.Wait()
		said, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(said), "\n")
	}
	one, eight := gits(1), gits(8)
	// Each asks where the state is, and reads the files that are held against it here.
	if most := one + 7*12; eight > most {
		t.Errorf("%d gits for one run that begins, and %d for eight at once: want at most %d", one, eight, most)
	}
}
