package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repository of the past has what its commit grew from, merges too, and no object
// of what came later or stands beside it.
func TestPast(t *testing.T) {
	b := newBed(t, files{"a.txt": "a\n"})
	change := func(message string, content files) string {
		b.write(b.user, content)
		b.run("add", "-A")
		b.run("commit", "-q", "-m", message)
		return b.run("rev-parse", "HEAD")
	}
	b.run("checkout", "-q", "-b", "side")
	side := change("side", files{"side.txt": "s\n"})
	b.run("checkout", "-q", "main")
	b.run("merge", "-q", "--no-ff", "-m", "merge", "side")
	past := b.run("rev-parse", "HEAD")
	later := change("later", files{"a.txt": "the solution\n"})
	b.run("checkout", "-q", "-b", "beside", past)
	beside := change("beside", files{"b.txt": "b\n"})
	b.run("checkout", "-q", "main")

	commits, parents, err := b.Mainline(b.ctx, later, 10)
	if err != nil || len(commits) != 3 || commits[0].ID != later || commits[1].ID != past || commits[2].ID != b.base || len(parents[1]) != 2 || parents[1][1] != side {
		t.Errorf("the main line is %v with %v: %v", commits, parents, err)
	}

	dir := filepath.Join(t.TempDir(), "past")
	if err := b.Past(b.ctx, dir, "main", past); err != nil {
		t.Fatal(err)
	}
	in := func(args ...string) string {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "failed: " + err.Error()
		}
		return strings.TrimSpace(string(out))
	}
	if at, all := in("rev-parse", "main"), in("rev-list", "--count", "--all"); at != past || all != "3" || in("status", "--short") != "" {
		t.Errorf("main is at %s, of %s commits: %s", at, all, in("status", "--short"))
	}
	solution := b.run("rev-parse", later+":a.txt")
	for _, of := range []string{later, beside, solution} {
		if got := in("cat-file", "-e", of); !strings.HasPrefix(got, "failed") {
			t.Errorf("%s is there", of)
		}
	}
	if has := in("cat-file", "-e", side); has != "" {
		t.Errorf("the merged commit is not there: %s", has)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "side.txt")); err != nil || string(text) != "s\n" {
		t.Errorf("the files are not out: %q, %v", text, err)
	}
	if err := b.Past(b.ctx, dir, "main", past); err == nil {
		t.Error("a folder that is there was taken")
	}
}

// Of a shallow clone the past ends where the clone does.
func TestPastOfAShallowClone(t *testing.T) {
	b := newBed(t, files{"a.txt": "a\n"})
	for _, text := range []string{"1\n", "2\n", "3\n"} {
		b.write(b.user, files{"a.txt": text})
		b.run("commit", "-q", "-a", "-m", text)
	}
	shallow := filepath.Join(t.TempDir(), "shallow")
	runGit(t, t.TempDir(), "clone", "-q", "--depth=2", "file://"+b.user, shallow)
	s, err := Open(b.ctx, Config{StateDir: t.TempDir(), Root: shallow, Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	commits, _, err := s.Mainline(b.ctx, b.run("rev-parse", "HEAD"), 10)
	if err != nil || len(commits) != 2 {
		t.Fatalf("the main line is %v, %v", commits, err)
	}
	if err := s.Past(b.ctx, filepath.Join(t.TempDir(), "past"), "main", commits[1].ID); err != nil {
		t.Error(err)
	}
}
