package warm

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forge/internal/filetree"
)

// write makes files below dir, by path.
func write(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	for p, text := range files {
		p = filepath.Join(dir, p)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// home is what a command left.
func home(t *testing.T, files map[string]string) []Left {
	t.Helper()
	return []Left{{Home, []string{write(t, t.TempDir(), files)}}}
}

func keep(t *testing.T, s *Store, loan *Loan, mark string, left []Left) {
	t.Helper()
	if err := s.Keep(t.Context(), "key", loan, mark, Known(), left); err != nil {
		t.Fatal(err)
	}
}

func lend(t *testing.T, s *Store, refill bool) *Loan {
	t.Helper()
	loan, err := s.Lend("key", refill)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(loan.Return)
	return loan
}

// holds returns the files that a loan has in a home, sorted, as path=content.
func holds(t *testing.T, loan *Loan) []string {
	t.Helper()
	if loan == nil {
		return nil
	}
	dir := t.TempDir()
	t.Cleanup(func() { _ = filetree.RemoveAll(dir) })
	if err := loan.CopyTo(t.Context(), Home, dir); err != nil {
		t.Fatal(err)
	}
	var all []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		if d.Name() == expireName {
			text = nil
		}
		all = append(all, rel+"="+string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestLayersGrowAndNothingElseIsKept(t *testing.T) {
	s := New(t.TempDir())
	if lend(t, s, false) != nil {
		t.Fatal("an empty store lends something")
	}
	keep(t, s, nil, "one", home(t, map[string]string{
		".cargo/registry/a": "1", ".cargo/registry/b": "1", ".cargo/bin/x": "program", ".ssh/id": "key",
		".cache/go-build/00/x-a": "object", ".cache/go-build/trim.txt": "1", ".cache/go-build/fuzz/x": "input",
		".m2/repository/org/far/1/far.jar": "jar", ".m2/repository/org/far/1/_remote.repositories": "#\nfar.jar>central=\n",
		".m2/repository/org/own/1/own.jar": "jar", ".m2/repository/org/own/1/_remote.repositories": "#\nown.jar>=\n",
		".m2/repository/org/old/1/old.pom": "pom",
		".nuget/packages/far/1/far.nuspec": "x", ".nuget/packages/far/1/.nupkg.metadata": `{"source":"https://api.nuget.org/v3/index.json"}`,
		".nuget/packages/own/1/own.nuspec": "x", ".nuget/packages/own/1/.nupkg.metadata": `{"source":"/src/feed"}`,
	}))
	first := lend(t, s, true)
	one := []string{
		".cache/go-build/00/x-a=object", ".cache/go-build/testexpire.txt=", ".cargo/registry/a=1", ".cargo/registry/b=1",
		".m2/repository/org/far/1/_remote.repositories=#\nfar.jar>central=\n", ".m2/repository/org/far/1/far.jar=jar",
		".nuget/packages/far/1/.nupkg.metadata={\"source\":\"https://api.nuget.org/v3/index.json\"}", ".nuget/packages/far/1/far.nuspec=x",
	}
	want(t, holds(t, first), one...)

	// The same mark once, and nothing new: no layer.
	keep(t, s, first, "one", home(t, map[string]string{".cargo/registry/c": "3"}))
	keep(t, s, first, "nothing", home(t, map[string]string{".ssh/id": "key"}))
	if l := lend(t, s, false); l.dir != first.dir {
		t.Errorf("layer %s was made of nothing", l.dir)
	}
	keep(t, s, first, "two", home(t, map[string]string{".cargo/registry/b": "2", ".cargo/registry/c": "3", ".cache/go-build/00/y-a": "more"}))
	second := lend(t, s, false)
	got := holds(t, second)
	for _, w := range []string{".cargo/registry/a=1", ".cargo/registry/b=2", ".cargo/registry/c=3", ".cache/go-build/00/x-a=object", ".cache/go-build/00/y-a=more"} {
		if !slices.Contains(got, w) {
			t.Errorf("the second layer lacks %s: %q", w, got)
		}
	}
	want(t, holds(t, first), one...) // which is what it was
}

// What an overlay took away is not there in the next layer.
func TestWhatWasRemovedOverALayerIsGone(t *testing.T) {
	s := New(t.TempDir())
	keep(t, s, nil, "one", home(t, map[string]string{".cargo/git/a": "1", ".cargo/git/d/b": "1", ".cargo/git/e/c": "1"}))
	upper := write(t, t.TempDir(), map[string]string{".cargo/git/e": "a file now", ".cargo/git/new": "1"})
	if err := syscall.Mknod(filepath.Join(upper, ".cargo/git/a"), syscall.S_IFCHR, 0); err != nil {
		t.Skip(err)
	}
	keep(t, s, lend(t, s, true), "two", []Left{{Home, []string{upper}}})
	want(t, holds(t, lend(t, s, false)), ".cargo/git/d/b=1", ".cargo/git/e=a file now", ".cargo/git/new=1")
}

// What a killed Forge left half made is never lent, and goes after a day; a
// layer that says nothing is dropped.
func TestHalfMadeIsNeverLent(t *testing.T) {
	s := New(t.TempDir())
	write(t, s.dir, map[string]string{".new-1/home/.cargo/registry/a": "half", "key-3/home/.cargo/registry/a": "half", "key-x/home/a": "1"})
	if l := lend(t, s, false); l != nil {
		t.Errorf("half a layer is lent: %s", l.dir)
	}
	if _, err := os.Stat(filepath.Join(s.dir, "key-3")); err == nil {
		t.Error("half a layer keeps its name")
	}
	keep(t, s, nil, "one", home(t, map[string]string{".cargo/registry/a": "1"}))
	want(t, holds(t, lend(t, s, false)), ".cargo/registry/a=1")
	s.now = func() time.Time { return time.Now().Add(25 * time.Hour) }
	if err := s.Prune(0, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.dir, ".new-1")); err == nil {
		t.Error("what was left half made is still there")
	}
}

func TestPruneLeavesWhatIsLent(t *testing.T) {
	s := New(t.TempDir())
	keep(t, s, nil, "one", home(t, map[string]string{".cargo/registry/a": "1"}))
	loan := lend(t, s, true)
	keep(t, s, loan, "two", home(t, map[string]string{".cargo/registry/b": "1"}))
	s.now = func() time.Time { return time.Now().Add(40 * 24 * time.Hour) }
	var said []string
	prune := func(dry bool) {
		t.Helper()
		said = nil
		if err := s.Prune(30*24*time.Hour, dry, func(dir string) { said = append(said, filepath.Base(dir)) }); err != nil {
			t.Fatal(err)
		}
	}
	prune(true)
	want(t, said, "key-1", "key-2")
	prune(false)
	want(t, holds(t, loan), ".cargo/registry/a=1")
	if _, err := os.Stat(filepath.Join(s.dir, "key-2")); err == nil {
		t.Error("a layer that nobody used for 40 days is kept")
	}
	started, err := syscall.Dup(int(loan.held.Fd())) // as by a process that is being started
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(started)
	loan.Return()
	prune(false)
	if left, _ := os.ReadDir(s.dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestOldAndLargeLayersAreBegunAnew(t *testing.T) {
	for name, change := range map[string]func(*Store){
		"old":   func(s *Store) { s.now = func() time.Time { return time.Now().Add(31 * 24 * time.Hour) } },
		"large": func(s *Store) { s.bytes = 1 },
	} {
		s := New(t.TempDir())
		keep(t, s, nil, "one", home(t, map[string]string{".cargo/registry/a": "11"}))
		change(s)
		if lend(t, s, true) != nil || lend(t, s, false) == nil {
			t.Errorf("%s: it must be lent to proofs and not to what fills", name)
		}
		s.bytes = MostBytes
		keep(t, s, nil, "two", home(t, map[string]string{".cargo/registry/b": "2"}))
		want(t, holds(t, lend(t, s, false)), ".cargo/registry/b=2")
	}
	s := New(t.TempDir())
	s.bytes = 1
	keep(t, s, nil, "one", home(t, map[string]string{".cargo/registry/a": "11"}))
	if lend(t, s, false) != nil {
		t.Error("what is too large by itself was kept")
	}
}

// What several processes keep at once is one of theirs, whole.
func TestKeptAtOnce(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			s := New(dir)
			for range 5 {
				loan, err := s.Lend("key", true)
				if err == nil {
					name := strings.Repeat("x", n+1)
					err = s.Keep(t.Context(), "key", loan, name, Known(), home(t, map[string]string{".cargo/registry/" + name + "1": name, ".cargo/registry/" + name + "2": name}))
				}
				if err != nil {
					t.Error(err)
				}
				loan.Return()
			}
		})
	}
	all.Wait()
	got := holds(t, lend(t, New(dir), false))
	if len(got) == 0 || len(got)%2 != 0 {
		t.Errorf("half of something was kept: %q", got)
	}
}

func TestKeyIsOfTheTools(t *testing.T) {
	bin := write(t, t.TempDir(), map[string]string{"go": "#!/bin/sh\n", "unknown": "#!/bin/sh\n"})
	for _, name := range []string{"go", "unknown"} {
		if err := os.Chmod(filepath.Join(bin, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"PATH=" + bin, "HOME=" + t.TempDir()}
	was := Key(env, "bubblewrap")
	write(t, bin, map[string]string{"unknown": "changed"})
	if Key(env, "bubblewrap") != was || Key(append(env, "OTHER=1"), "bubblewrap") != was {
		t.Error("another key for the same tools")
	}
	if Key(env, "none") == was {
		t.Error("the same key for another sandbox")
	}
	write(t, bin, map[string]string{"go": "another go"})
	if Key(env, "bubblewrap") == was {
		t.Error("the same key for another go")
	}
}
