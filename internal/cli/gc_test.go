package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// later is forge as it runs that much later.
func (w *world) later(d time.Duration, args ...string) ended {
	w.t.Helper()
	var stdout, stderr safeBuffer
	app := &App{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr, Environ: w.env, Dir: w.root, Now: func() time.Time { return time.Now().Add(d) }}
	code := app.Run(w.t.Context(), args)
	return ended{t: w.t, args: args, code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// folders are the runs that have one.
func (w *world) folders() []string {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.state, "runs"))
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// After a run the folders of those that ended a month ago are removed, and
// those of no run at all; what can be resumed keeps its own, and every journal
// stays.
func TestOldFoldersGoByThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 1))
	w.forge("run").want(exitFrozen)
	waits := w.folders()
	w.forge("run", "--autonomous", "--new").want(exitDone)
	old := slices.DeleteFunc(w.folders(), func(n string) bool { return slices.Contains(waits, n) })
	if len(waits) != 1 || len(old) != 1 {
		t.Fatalf("folders of the waiting run %q, of the other %q", waits, old)
	}
	w.write(filepath.Join(w.state, "runs", "nobody", "logs", "x.log"), "of a run that nobody knows\n")
	w.write(".forge/agent.toml", done("01")+"# again\n")
	w.later(29*24*time.Hour, "run", "--autonomous", "--new").want(exitDone)
	young := slices.DeleteFunc(w.folders(), func(n string) bool { return n == waits[0] || n == old[0] })
	if len(young) != 1 || !slices.Contains(w.folders(), old[0]) {
		t.Fatalf("after 29 days there are %q", w.folders())
	}
	w.later(31*24*time.Hour, "run", "--autonomous", "--new").want(exitDone)
	left := w.folders()
	if slices.Contains(left, old[0]) || !slices.Contains(left, waits[0]) || !slices.Contains(left, young[0]) || len(left) != 3 {
		t.Errorf("after 31 days there are %q; %s ended a month ago, %s waits", left, old[0], waits[0])
	}
	w.forge("status", old[0]).want(exitDone).says("completed")
	w.forge("audit", "verify", "--all").want(exitDone)
	w.forge("gc", "--keep", "-1s").want(exitUsage)
	w.later(32*24*time.Hour, "gc", "--keep", "0s").want(exitDone).says("removed")
	if left := w.folders(); !slices.Equal(left, waits) {
		t.Errorf("gc --keep 0s left %q, want %q", left, waits)
	}
}

// A folder whose run nobody knows may be of one that begins at this moment: its work was
// removed under its agent, now and then, where a factory had begun hundreds.
func TestFolderOfARunThatIsAboutToBeginStays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 1))
	w.forge("run", "--autonomous").want(exitDone)
	w.write(filepath.Join(w.state, "runs", "begins", "phases", "01", "new.go"), "package work\n")
	w.forge("gc", "--keep", "0s").want(exitDone)
	w.later(23*time.Hour, "gc", "--keep", "0s").want(exitDone)
	if left := w.folders(); !slices.Equal(left, []string{"begins"}) {
		t.Errorf("%q are left, want the one that may begin", left)
	}
	w.later(25*time.Hour, "gc").want(exitDone)
	if left := w.folders(); len(left) > 0 {
		t.Errorf("%q are left after a day", left)
	}
}

// gc knows the caches that proofs are lent: it names them, and removes those that
// nobody was lent for the time.
func TestGCRemovesCachesOfProofs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "mkdir -p ~/.npm/_cacache && cat ~/.npm/_cacache/x || echo kept >~/.npm/_cacache/x")
	w.plan(phase("01", "first", 1))
	w.forge("run", "--autonomous").want(exitDone)
	layers := func() []string {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(w.state, "cache", "warm", "*", "home", ".npm", "_cacache", "x"))
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if len(layers()) != 1 {
		t.Fatalf("the base's proof left the layers %q", layers())
	}
	w.later(29*24*time.Hour, "gc").want(exitDone)
	w.later(31*24*time.Hour, "gc", "--dry-run").want(exitDone).says("cache/warm/")
	if len(layers()) != 1 {
		t.Fatalf("gc after 29 days, or for show, left the layers %q", layers())
	}
	w.later(31*24*time.Hour, "gc").want(exitDone).says("cache/warm/")
	if len(layers()) != 0 {
		t.Errorf("gc after 31 days left the layers %q", layers())
	}
}

// A process that dies when its run is completed leaves the folders of its
// phases; the next one to tidy up removes them, but not those of a run that
// can be gone on with.
func TestFoldersOfCompletedRunsAreSweptLater(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 1))
	w.forge("run").want(exitFrozen)
	waits := w.folders()[0]
	w.forge("run", "--autonomous", "--new").want(exitDone)
	for _, run := range w.folders() {
		w.write(filepath.Join(w.state, "runs", run, "phases", "01", "left.txt"), "left\n")
	}
	w.write(".forge/agent.toml", done("01")+"# again\n")
	w.forge("run", "--autonomous", "--new").want(exitDone)
	for _, run := range w.folders() {
		_, err := os.Lstat(filepath.Join(w.state, "runs", run, "phases"))
		if left := err == nil; left != (run == waits) {
			t.Errorf("run %s, which waits: %v, has its folders: %v", run, run == waits, left)
		}
	}
	w.forge("audit", "verify", "--all").want(exitDone)
}

// A process that dies between the end of a run and tidying up leaves the
// reference that kept its base, and folders; the next run, or gc, takes them. What
// can be gone on with keeps its own, and so does a run of another project.
func TestWhatADeadProcessKeptIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 1))
	w.forge("run").want(exitFrozen)
	waits := w.folders()[0]
	w.forge("run", "--autonomous", "--new").want(exitDone)
	over := slices.DeleteFunc(w.folders(), func(n string) bool { return n == waits })[0]
	leave := func() {
		for _, run := range []string{over, "240101-else"} {
			w.git("update-ref", "refs/forge/keep/"+run, "HEAD")
		}
		w.write(filepath.Join(w.state, "runs", over, "verify", "01", "left.txt"), "left\n")
	}
	for _, args := range [][]string{{"gc"}, {"run", "--autonomous", "--new"}} {
		leave()
		w.write(".forge/agent.toml", done("01")+"# "+args[0]+"\n")
		w.forge(args...).want(exitDone)
		if kept := w.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/forge/keep/"); kept != "240101-else\n"+waits && kept != waits+"\n240101-else" {
			t.Errorf("after forge %s the bases of %q are kept, want those of %s and of another project", args[0], kept, waits)
		}
		if _, err := os.Lstat(filepath.Join(w.state, "runs", over, "verify")); err == nil {
			t.Errorf("after forge %s the folder of a verify is left", args[0])
		}
	}
}

// Snapshots of runs lie as one pack after it, and can still be looked at.
func TestGCPacksForgesRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "test -f README.md")
	w.plan(phase("01", "first", 1))
	w.forge("run", "--autonomous").want(exitDone)
	run := w.folders()[0]
	loose := filepath.Join(w.state, "repo.git", "objects", "[0-9a-f][0-9a-f]", "*")
	if found, _ := filepath.Glob(loose); len(found) == 0 {
		t.Fatal("no object lies by itself: there is nothing to pack")
	}
	before := w.forge("diff", "01", "--run", run).want(exitDone).stdout
	w.forge("gc", "--dry-run").want(exitDone)
	if found, _ := filepath.Glob(loose); len(found) == 0 {
		t.Error("a dry run packs")
	}
	w.forge("gc").want(exitDone)
	if found, _ := filepath.Glob(loose); len(found) != 0 {
		t.Errorf("%d objects lie by themselves", len(found))
	}
	if after := w.forge("diff", "01", "--run", run).want(exitDone).stdout; after != before || after == "" {
		t.Errorf("the change was %q and is %q", before, after)
	}
}
