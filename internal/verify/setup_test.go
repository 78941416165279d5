package verify

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/filetree"
	"forge/internal/work"
)

var locked = files{"lock": "1", "src/a": "a"}

func cached(commands ...string) work.Worktree {
	return work.Worktree{Setup: commands, CacheKey: []string{"lock"}}
}

func TestSetupRunsInOrderAndReportsFailure(t *testing.T) {
	b := newBench(t, nil)
	dir, rep := b.setup(locked, "", work.Worktree{Setup: []string{"echo 1 >out", "cat out; echo broken >&2; exit 4", b.mark("never")}, TimeoutSecs: 30})
	if f := rep.Failed(); rep.OK || f == nil || f.Output != "1\nbroken\n" || b.marks("never") != 0 {
		t.Fatalf("got %+v, never ran %d times", rep, b.marks("never"))
	}
	if want := "setup command failed with exit code 4: cat out; echo broken >&2; exit 4"; rep.Problem != want {
		t.Errorf("problem %q, want %q", rep.Problem, want)
	}
	if exists(homeOf(dir)) {
		t.Error("the home of setup is still there")
	}
	_, rep = b.setup(locked, "", work.Worktree{Setup: []string{"sleep 300"}, TimeoutSecs: 1})
	if rep.OK || !rep.Ran[0].TimedOut || rep.Problem != "setup command timed out after 1s: sleep 300" {
		t.Errorf("hanging setup: %+v", rep)
	}
	if _, rep = b.setup(locked, "", work.Worktree{}); !rep.OK || len(rep.Ran) != 0 {
		t.Errorf("nothing to set up: %+v", rep)
	}
}

func TestSetupCacheHit(t *testing.T) {
	b := newBench(t, nil)
	w := cached(b.mark("ran"), "mkdir -p deps/bin && echo prog >deps/bin/p && chmod 751 deps/bin/p && ln -s bin/p deps/p && touch -d 2001-02-03T04:05:06Z deps/bin/p && chmod 555 deps/bin && mkdir src/gen && echo g >src/gen/g && echo changed >src/a")
	b.mustSetup(files{"lock": "1", "src/a": "a", "src/gone": "of another commit"}, "", w)
	dir := b.mustSetup(files{"lock": "1", "src/a": "other", "src/b": "b"}, "", w)
	if b.marks("ran") != 1 {
		t.Fatalf("setup ran %d times, want once", b.marks("ran"))
	}
	info, err := os.Lstat(filepath.Join(dir, "deps/bin/p"))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o751 || !info.ModTime().Equal(time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)) {
		t.Errorf("restored file has mode %v, time %v", info.Mode(), info.ModTime())
	}
	if info, err := os.Stat(filepath.Join(dir, "deps/bin")); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("restored folder: %v, %v", info.Mode(), err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "deps/p")); err != nil || target != "bin/p" {
		t.Errorf("restored link leads to %q, %v", target, err)
	}
	if got := read(t, dir, "deps/p") + read(t, dir, "src/gen/g"); got != "prog\ng\n" {
		t.Errorf("restored content %q", got)
	}
	if exists(dir, "src/gone") {
		t.Error("a file of another commit came with what setup made")
	}
	if got := read(t, dir, "src/a"); got != "other" {
		t.Errorf("a file of the commit became %q", got)
	}
	for _, made := range []string{dir, filepath.Join(b.state, "phases", "1")} {
		if err := filetree.RemoveAll(made); err != nil {
			t.Errorf("remove a folder with a read-only one: %v", err)
		}
	}
	if err := os.RemoveAll(filepath.Join(b.state, "cache")); err != nil {
		t.Errorf("the cache cannot simply be removed: %v", err)
	}
}

func TestSetupCacheMiss(t *testing.T) {
	user := checkout(t, files{".gitignore": ".env\n"}, files{".env": "A=1"})
	tests := []struct {
		name string
		edit func(tree files, w *work.Worktree)
		ran  int
	}{
		{"nothing changed", func(files, *work.Worktree) {}, 1},
		{"another file changed", func(f files, _ *work.Worktree) { f["src/a"] = "b" }, 1},
		{"key file changed", func(f files, _ *work.Worktree) { f["lock"] = "2" }, 2},
		{"key file is gone", func(f files, _ *work.Worktree) { delete(f, "lock") }, 2},
		{"key file is executable", func(f files, _ *work.Worktree) { f["lock"] = "!1" }, 2},
		{"commands changed", func(_ files, w *work.Worktree) { w.Setup = append(w.Setup, "true") }, 2},
		{"further key", func(_ files, w *work.Worktree) { w.CacheKey = append(w.CacheKey, "src/*") }, 2},
		{"copied file changed", func(files, *work.Worktree) {
			if err := os.WriteFile(filepath.Join(user, ".env"), []byte("A=2"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 2},
		{"no key", func(_ files, w *work.Worktree) { w.CacheKey = nil }, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil)
			tree, w := files{"lock": "1", "src/a": "a"}, cached(b.mark("ran"), "cat lock src/a >made")
			w.Copy = []string{".env"}
			b.mustSetup(tree, user, w)
			tt.edit(tree, &w)
			if tree["lock"] == "" {
				w.Setup[1] = "cat lock src/a >made"
				_, rep := b.setup(tree, user, w)
				if rep.OK {
					t.Error("the command cannot have worked: the cache was used")
				}
			} else {
				b.mustSetup(tree, user, w)
			}
			if b.marks("ran") != tt.ran {
				t.Errorf("setup ran %d times, want %d", b.marks("ran"), tt.ran)
			}
		})
	}
}

func TestSetupThatFailedIsNotKept(t *testing.T) {
	b := newBench(t, nil)
	w := cached(b.mark("ran"), "echo half >half; test -e "+filepath.Join(b.outside, "go"))
	if _, rep := b.setup(locked, "", w); rep.OK {
		t.Fatal("setup is OK")
	}
	if err := os.WriteFile(filepath.Join(b.outside, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b.mustSetup(locked, "", w)
	if b.marks("ran") != 2 {
		t.Errorf("setup ran %d times, want 2", b.marks("ran"))
	}
}

func TestSetupNeverUsesADamagedEntry(t *testing.T) {
	tests := []struct {
		name   string
		damage func(t *testing.T, entry string)
	}{
		{"file cut", func(t *testing.T, e string) { write(t, e, "folder/deps/big", "1") }},
		{"file of the same size", func(t *testing.T, e string) { write(t, e, "folder/deps/big", "123456799") }},
		{"file gone", func(t *testing.T, e string) { remove(t, e, "folder/deps/big") }},
		{"last file gone", func(t *testing.T, e string) { remove(t, e, "folder/z") }},
		{"tree gone", func(t *testing.T, e string) { remove(t, e, "folder") }},
		{"home gone", func(t *testing.T, e string) { remove(t, e, "home") }},
		{"manifest gone", func(t *testing.T, e string) { remove(t, e, manifestName) }},
		{"manifest empty", func(t *testing.T, e string) { write(t, e, manifestName, "") }},
		{"manifest cut", func(t *testing.T, e string) {
			text := read(t, e, manifestName)
			write(t, e, manifestName, text[:len(text)/2])
		}},
		{"manifest without areas", func(t *testing.T, e string) { write(t, e, manifestName, `{"version":2}`) }},
		{"manifest of another version", func(t *testing.T, e string) {
			write(t, e, manifestName, strings.Replace(read(t, e, manifestName), `"version":2`, `"version":0`, 1))
		}},
		{"manifest leads out", func(t *testing.T, e string) {
			write(t, e, manifestName, strings.Replace(read(t, e, manifestName), `"path":"z"`, `"path":"../z"`, 1))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, nil)
			w := cached(b.mark("ran"), "test ! -e deps && mkdir deps && printf 123456789 >deps/big && echo z >z && echo h >$HOME/h")
			b.mustSetup(locked, "", w)
			entries, err := filepath.Glob(filepath.Join(b.state, "cache", "setup", "*"))
			if err != nil || len(entries) != 1 {
				t.Fatalf("entries %v, %v", entries, err)
			}
			tt.damage(t, entries[0])
			for i := range 2 {
				// The command fails where the rest of a bad entry was left.
				dir := b.mustSetup(locked, "", w)
				if got := read(t, dir, "deps/big") + read(t, dir, "z"); got != "123456789z\n" {
					t.Errorf("folder %d holds %q", i, got)
				}
			}
			if b.marks("ran") != 2 {
				t.Errorf("setup ran %d times, want 2: once more, then from the new entry", b.marks("ran"))
			}
			left, err := os.ReadDir(filepath.Join(b.state, "cache", "setup"))
			if err != nil || len(left) != 1 {
				t.Errorf("cache holds %v, %v", left, err)
			}
		})
	}
}

// A link in the commit where setup once made a folder leads nothing out.
func TestRestoreWritesThroughNoLink(t *testing.T) {
	b := newBench(t, nil)
	w := cached("mkdir -p gen/sub && echo x >gen/x && echo y >gen/sub/y && echo z >z")
	b.mustSetup(locked, "", w)
	dir := b.mustSetup(files{"lock": "1", "gen": "-> " + b.outside, "z": "-> " + filepath.Join(b.outside, "z")}, "", w)
	if left, err := os.ReadDir(b.outside); err != nil || len(left) != 0 {
		t.Errorf("outside there is now %v, %v", left, err)
	}
	if target, err := os.Readlink(filepath.Join(dir, "gen")); err != nil || target != b.outside {
		t.Errorf("the commit's link leads to %q, %v", target, err)
	}
}

func TestSetupOfSeveralFoldersAtOnceRunsOnce(t *testing.T) {
	b := newBench(t, nil)
	w := cached(b.mark("ran"), "mkdir deps; for i in 1 2 3 4 5 6 7 8 9; do echo $i >deps/$i; done")
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		dir := filepath.Join(b.state, "phases", name)
		if err := locked.write(dir); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			rep, err := b.Setup(t.Context(), work.SetupRequest{Dir: dir, Settings: w, Sandbox: work.SandboxSettings{Mode: "off"}})
			if err != nil || !rep.OK || !exists(dir, "deps/9") {
				t.Errorf("%s: %+v, %v", name, rep, err)
			}
		})
	}
	wg.Wait()
	if b.marks("ran") != 1 {
		t.Errorf("setup ran %d times, want once", b.marks("ran"))
	}
}

func TestVerifyTakesButNeverFeedsTheCache(t *testing.T) {
	b := newBench(t, locked)
	b.commits.all["c2"] = files{"lock": "2", "src/a": "a"}
	w := cached(b.mark("ran"), "mkdir deps && cp lock deps/made && echo home >$HOME/tool")
	first := b.req("test $(cat deps/made) = 1 && test $(cat $HOME/tool) = home")
	first.Worktree = w
	b.green(first)
	if b.marks("ran") != 1 {
		t.Fatalf("setup ran %d times", b.marks("ran"))
	}
	b.mustSetup(locked, "", w) // not given what a commit under verification made
	b.green(first)             // given
	if b.marks("ran") != 2 {
		t.Errorf("setup ran %d times, want 2", b.marks("ran"))
	}
	second := b.req("test $(cat deps/made) = 2")
	second.Commit, second.Worktree = "c2", w
	b.green(second) // another key
	b.green(second) // not kept
	if b.marks("ran") != 4 {
		t.Errorf("setup ran %d times, want 4", b.marks("ran"))
	}
}

func TestVerifyReportsFailedSetup(t *testing.T) {
	b := newBench(t, locked)
	req := b.req(b.mark("never"))
	req.Worktree = work.Worktree{Setup: []string{"echo why; exit 9"}}
	rep := b.verify(req)
	if f := rep.Failed(); rep.OK || f == nil || f.Output != "why\n" || !strings.HasPrefix(rep.Problem, "setup command failed with exit code 9") || b.marks("never") != 0 {
		t.Errorf("got %+v", rep)
	}
}

func TestCacheKeepsTheEntriesUsedLast(t *testing.T) {
	b := newBench(t, nil)
	setup := func(lock string) { b.mustSetup(files{"lock": lock}, "", cached(b.mark("ran"), "echo x >made")) }
	dir := filepath.Join(b.state, "cache", "setup")
	old := time.Now().Add(-48 * time.Hour)
	for i := range keptEntries {
		setup(strings.Repeat("x", i+1))
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries { // the first becomes the oldest
			info, err := e.Info()
			if err != nil {
				t.Fatal(err)
			}
			at := info.ModTime().Add(-48 * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, e.Name()), at, at); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := (files{partialPrefix + "1/x": "x"}).write(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, partialPrefix+"1"), old, old); err != nil {
		t.Fatal(err)
	}
	setup("x") // used again
	setup("new")
	setup("x")
	if got, want := b.marks("ran"), keptEntries+1; got != want {
		t.Errorf("setup ran %d times, want %d: the entry used last was dropped", got, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != keptEntries {
		t.Errorf("cache holds %d entries, %v; want %d", len(entries), err, keptEntries)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if !exists(dir, name) {
		t.Fatalf("%s is not there", name)
	}
	if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}
