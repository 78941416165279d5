package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResetPutsAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"))
	w.plan(phase("01", "first", 1))
	w.forge("run", "--autonomous").want(exitDone)
	w.forge("issue", "add", "Kept aside with the runs").want(exitDone)
	// What forge review and forge eval leave is Forge's, too.
	for _, name := range []string{"reviews", "eval"} {
		if err := os.MkdirAll(filepath.Join(w.state, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	branches := w.git("branch", "--all", "--format=%(refname) %(objectname)")
	w.forge("reset").want(exitUsage).warns("This puts away 1 run and the board with 1 issue of demo", "Type demo to go on", "--yes")
	w.fed("demos\n", "reset").want(exitUsage).warns("nothing was removed")
	w.forge("status").want(exitDone)
	got := w.fed("demo\n", "reset").want(exitDone).says("Put away:", "(1 run and the board with 1 issue)", "Undo:", "For good:")
	if after := w.git("branch", "--all", "--format=%(refname) %(objectname)"); after != branches {
		t.Errorf("branches were %s, are %s", branches, after)
	}
	w.forge("status").want(exitUsage).warns("no runs")
	_, undo, _ := strings.Cut(got.stdout, "Undo:")
	undo, _, _ = strings.Cut(undo, "\n")
	from, to, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(undo), "mv ")), " ")
	if err := os.Rename(strings.Trim(from, "'"), strings.Trim(to, "'")); err != nil {
		t.Fatal(err)
	}
	w.forge("status").want(exitDone).says("completed")
	w.forge("diff").want(exitDone).says("out-01.txt")
}

func TestResetPurges(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	// What package managers leave: folders that cannot be emptied as they are.
	locked := filepath.Join(w.state, "cache", "setup", "mod")
	w.write(locked+"/file", "x")
	if err := os.Chmod(locked, 0o500); err != nil {
		t.Fatal(err)
	}
	keep := w.git("for-each-ref", "refs/forge")
	w.forge("reset", "--purge", "--yes").want(exitDone).says("Removed:")
	if w.exists(w.state) {
		t.Error("the state folder is still there")
	}
	if left := w.git("for-each-ref", "refs/forge"); left != "" || keep == "" {
		t.Errorf("refs that kept a base: before %q, after %q", keep, left)
	}
	w.forge("run").want(exitFrozen)
}

func TestResetOfOneRun(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	w.forge("approve", ".1", "--resume").want(exitFrozen)
	run := between(w.forge("status").stdout, "Run ", ":")
	dir := filepath.Join(w.state, "runs", run)
	if !w.exists(dir) {
		t.Fatalf("%s does not exist", dir)
	}
	w.fed(run+"\n", "reset", "--run", run[:8]).want(exitDone).says("Removed: "+dir, "forge resume "+run)
	if w.exists(dir) {
		t.Error("its folder is still there")
	}
	w.forge("why").want(exitDone).says("iteration 1")
	// What is asked for now needs the folder again.
	w.forge("request-changes", ".2", "-m", "more", "--resume").want(exitFrozen)
	w.forge("approve", ".3", "--resume").want(exitDone).says("completed")
}

// Nothing but a state folder is put away, whatever FORGE_STATE_DIR says.
func TestResetTouchesNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write(filepath.Join(w.state, "thesis.txt"), "years of work")
	w.forge("reset", "--yes", "--purge").want(exitUsage).warns("thesis.txt")
	w.write(filepath.Join(w.state, "journal.db"), "")
	w.forge("reset", "--yes", "--purge", "--force").want(exitUsage).warns("thesis.txt")
	if !w.exists(filepath.Join(w.state, "thesis.txt")) {
		t.Error("it is gone")
	}
}

// Where one folder holds everything, the server's users are not put away without
// a word.
func TestResetTellsOfTheServer(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	w.forge("factory", "user", "add", "rosa", "--role", "viewer").want(exitDone)
	w.fed("no\n", "reset").want(exitUsage).warns("its key, users, tokens and sessions")
	w.forge("factory", "user", "list").want(exitDone).says("rosa")
	w.forge("reset", "--yes").want(exitDone).says("Put away:").warns("users, tokens and sessions go with")
	w.forge("factory", "user", "list").want(exitDone).says("Nobody has a token")
}

// A journal that cannot be read does not stand in the way for ever.
func TestResetOfABrokenJournal(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.write(filepath.Join(w.state, "journal.db"), strings.Repeat("this is not a database ", 100))
	w.forge("status").want(exitUsage)
	w.forge("reset", "--yes").want(exitUsage).warns("--force")
	w.forge("reset", "--yes", "--force").want(exitDone).says("Put away:")
}

// Neither does one that is gone.
func TestResetOfALostJournal(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	for _, name := range []string{"journal.db", "journal.db-wal", "journal.db-shm"} {
		if err := os.Remove(filepath.Join(w.state, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	w.forge("run").want(exitUsage).warns("missing")
	w.forge("reset", "--yes").want(exitUsage).warns("--force")
	w.forge("reset", "--yes", "--force").want(exitDone)
	w.forge("run").want(exitFrozen)
}

// between is the text after a and before b.
func between(text, a, b string) string {
	_, text, _ = strings.Cut(text, a)
	text, _, _ = strings.Cut(text, b)
	return text
}
