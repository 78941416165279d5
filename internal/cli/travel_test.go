package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forge/internal/handoff"
	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/work"
)

// fleet is a remote with machines that have a clone of it each.
type fleet struct {
	t      *testing.T
	remote string
	first  *world
}

// newFleet is a fleet whose first machine has a plan of one phase.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	w := newWorld(t, done("01"), "true")
	w.plan(phase("01", "first", 4))
	w.git("add", "-A")
	w.git("commit", "--quiet", "-m", "plan")
	f := &fleet{t: t, remote: filepath.Join(filepath.Dir(w.root), "remote.git"), first: w}
	w.git("clone", "--quiet", "--bare", w.root, f.remote)
	w.git("remote", "add", "origin", f.remote)
	return f
}

// machine is another one, with nothing of Forge's.
func (f *fleet) machine() *world {
	f.t.Helper()
	top := f.t.TempDir()
	w := &world{t: f.t, root: filepath.Join(top, "clone"), home: filepath.Join(top, "home"), state: filepath.Join(top, "state")}
	for _, kv := range f.first.env {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "HOME":
			kv = "HOME=" + w.home
		case "FORGE_STATE_DIR":
			kv = "FORGE_STATE_DIR=" + w.state
		}
		w.env = append(w.env, kv)
	}
	f.first.git("clone", "--quiet", f.remote, w.root)
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n")
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\nname = Test\nemail = test@example.invalid\n")
	return w
}

// frozen is a run that the first machine sent where it waits at its start.
func (f *fleet) frozen() string {
	f.t.Helper()
	f.first.forge("run", "--push").want(exitFrozen)
	return f.run()
}

// run is the only run at the remote.
func (f *fleet) run() string {
	f.t.Helper()
	for line := range strings.Lines(f.git("for-each-ref", "--format=%(refname)", handoff.RecordRefs)) {
		return strings.TrimPrefix(strings.TrimSpace(line), handoff.RecordRefs+"/")
	}
	f.t.Fatal("there is no run at the remote")
	return ""
}

// git runs git in the remote's repository.
func (f *fleet) git(args ...string) string { return f.gitWith("", nil, args...) }

func (f *fleet) gitWith(stdin string, env []string, args ...string) string {
	f.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = f.remote, append(append([]string(nil), f.first.env...), env...), strings.NewReader(stdin)
	out, err := cmd.Output()
	if err != nil {
		f.t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// rewrite replaces a file of the run's record at the remote, as one who may push
// there can. The new commit grows out of the old.
func (f *fleet) rewrite(run, file string, change func(string) string, mode string) {
	f.t.Helper()
	ref := handoff.RecordRef(run)
	index := []string{"GIT_INDEX_FILE=" + filepath.Join(f.t.TempDir(), "index")}
	f.gitWith("", index, "read-tree", ref)
	text := ""
	if change != nil {
		text = change(f.git("show", ref+":"+file) + "\n")
	}
	id := f.gitWith(text, nil, "hash-object", "-w", "--stdin")
	f.gitWith("", index, "update-index", "--add", "--cacheinfo", mode+","+id+","+file)
	tree := f.gitWith("", index, "write-tree")
	args := []string{"commit-tree", tree, "-m", "forged", "-p", f.git("rev-parse", ref)}
	for _, parent := range strings.Fields(f.git("rev-parse", ref+"^@")) {
		args = append(args, "-p", parent)
	}
	f.git("update-ref", ref, f.git(args...))
}

// Whoever may push to the remote may write what he likes there. What is not a
// run that Forge wrote is refused, and nothing of it is taken over.
func TestForgedRecordIsRefused(t *testing.T) {
	pace.Slow(t, "a record is forged in each way, and refused on another machine")
	t.Parallel()
	f := newFleet(t)
	run := f.frozen()
	good := f.git("rev-parse", handoff.RecordRef(run))
	swap := func(was, is string) func(string) string {
		return func(text string) string {
			if !strings.Contains(text, was) {
				t.Fatalf("there is no %q in %s", was, text)
			}
			return strings.Replace(text, was, is, 1)
		}
	}
	elsewhere := f.machine()
	for _, c := range []struct {
		name, file string
		change     func(string) string
		mode, want string
	}{
		{"event", "events", swap(`"policy":"`, `"polizy":"`), "100644", "event 1: it or one before it was changed"},
		{"question", "checkpoints.json", swap(`Start phase 01`, `Start phase 02`), "100644", "does not ask what its events say"},
		{"choice", "checkpoints.json", swap(`"kind": "phase.start"`, `"kind": "final"`), "100644", "does not ask what its events say"},
		{"answer without an inbox", "checkpoints.json", swap(`"status": "pending"`, `"status": "approved"`), "100644", "its answer is missing"},
		{"outcome", "record.json", swap(`"outcome": "frozen"`, `"outcome": "completed"`), "100644", `its events say "frozen"`},
		{"issue", "record.json", swap(`"count"`, `"issue": 7, "count"`), "100644", "whose board does not travel"},
		{"reference", "record.json", swap(`"refs": {`, `"refs": {"refs/heads/main": "`+f.git("rev-parse", "main")+`",`), "100644", `a reference "refs/heads/main" of something else`},
		{"commit", "record.json", swap(`"refs": {`, `"refs": {"`+handoff.RecordRef(run)+`/x": "`+strings.Repeat("1", 40)+`",`), "100644", "did not come with it"},
		{"link", "events", func(string) string { return "/etc/passwd" }, "120000", "is no plain file"},
		{"file", "blobs/x", nil, "100644", "belongs to no record"},
	} {
		f.git("update-ref", handoff.RecordRef(run), good)
		f.rewrite(run, c.file, c.change, c.mode)
		end := elsewhere.forge("resume", run, "--remote").want(exitUsage)
		if !strings.Contains(end.stderr, c.want) || !strings.Contains(end.stderr, "nothing of it was taken over") {
			t.Errorf("%s: it does not say %q:\n%s", c.name, c.want, end.stderr)
		}
	}
	elsewhere.forge("approve", run+".1", "--remote").want(exitUsage)
	elsewhere.forge("show", run+".1", "--remote").want(exitUsage)
	if end := elsewhere.forge("checkpoints", "--remote").want(exitUsage); strings.Contains(end.stdout, run) {
		t.Errorf("a damaged record is listed:\n%s", end.stdout)
	}
	if end := elsewhere.forge("status", "--all"); strings.Contains(end.stdout, run) {
		t.Fatalf("a damaged record was taken over:\n%s", end.stdout)
	}

	// A history that was replaced by another good one.
	f.git("update-ref", handoff.RecordRef(run), good)
	elsewhere.forge("approve", run+".1", "--remote").want(exitDone)
	f.git("update-ref", handoff.RecordRef(run), good)
	elsewhere.forge("resume", run, "--remote").want(exitUsage).warns("its history was replaced")
	f.first.forge("approve", run+".1").want(exitDone) // to whom it is as it was
}

// Two machines that take a run at the same moment: one has it.
func TestTwoMachinesTakeARun(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	run := f.frozen()
	f.first.forge("approve", run+".1").want(exitDone)
	machines := []*world{f.first, f.machine(), f.machine()}
	ends := make([]ended, len(machines))
	var all sync.WaitGroup
	for n, w := range machines {
		all.Go(func() { ends[n] = w.forge("resume", run, "--remote") })
	}
	all.Wait()
	worked := 0
	for _, e := range ends {
		switch {
		case strings.Contains(e.stderr, "iteration 1 finished"):
			worked++
			e.want(exitFrozen)
		case e.code == exitFrozen: // after the first was through
		default:
			e.want(exitUsage)
			if !strings.Contains(e.stderr, "is being worked on by machine") && !strings.Contains(e.stderr, "is stale") {
				t.Errorf("refused without a reason:\n%s", e.stderr)
			}
		}
	}
	if worked != 1 {
		t.Errorf("%d machines worked on the run, want 1", worked)
		for _, e := range ends {
			t.Log(e.code, e.stderr)
		}
	}
}

// Two answers at the same moment, from two machines: one counts.
func TestTwoMachinesAnswer(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	run := f.frozen()
	machines := []*world{f.first, f.machine()}
	words := []string{"approve", "reject"}
	ends := make([]ended, len(machines))
	var all sync.WaitGroup
	for n, w := range machines {
		all.Go(func() { ends[n] = w.forge(words[n], run+".1", "--remote") })
	}
	all.Wait()
	for n, e := range ends {
		other := ends[1-n]
		if e.code == exitDone {
			other.want(exitUsage).warns("already_resolved")
			shown := machines[1-n].forge("show", run+".1").want(exitDone)
			if status := map[string]string{"approve": "approved", "reject": "rejected"}[words[n]]; !strings.Contains(shown.stdout, status) {
				t.Errorf("who came second sees another answer:\n%s", shown.stdout)
			}
			return
		}
	}
	t.Errorf("nobody answered: %q, %q", ends[0].stderr, ends[1].stderr)
}

// A remote that is away: the run freezes all the same, and is this machine's.
func TestRemoteIsAway(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	if err := os.Rename(f.remote, f.remote+".away"); err != nil {
		t.Fatal(err)
	}
	f.first.forge("run", "--push").want(exitFrozen).warns("was not sent")
	f.first.forge("push").want(exitUsage).warns(`the remote "origin" cannot be asked`)
	f.first.forge("checkpoints", "--remote").want(exitUsage).warns("cannot be asked")
	f.first.forge("approve", ".1").want(exitDone)
	if err := os.Rename(f.remote+".away", f.remote); err != nil {
		t.Fatal(err)
	}
	f.first.forge("push").want(exitDone)
	run := f.run()
	// From now on nobody can know whether another machine has it.
	if err := os.Rename(f.remote, f.remote+".away"); err != nil {
		t.Fatal(err)
	}
	f.first.forge("resume", run).want(exitUsage).warns("cannot be asked")
	f.first.forge("push", run, "--forget").want(exitDone)
	f.first.forge("resume", run).want(exitFrozen)
}

// A run from elsewhere does here what this checkout's configuration says, in
// this machine's sandbox, and decides no more than its ceiling allows.
func TestRunFromElsewhereKeepsToThisMachine(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	run := f.frozen()
	w := f.machine()
	w.forge("approve", run+".1", "--remote").want(exitDone)

	w.configure("", "true", "touch /tmp/never")
	end := w.forge("resume", run, "--remote").want(exitUsage)
	end.warns("began with other settings than this checkout has: [verify]")
	w.configure("[worktree]\ncopy = [\".env\"]\n", "true")
	w.forge("resume", run, "--remote").want(exitUsage).warns("[worktree]")
	w.configure("", "true")

	user := filepath.Join(w.home, ".config/forge/config.toml")
	w.write(user, "[sandbox]\nmode = \"off\"\n[autonomy]\nceiling = \"manual\"\n")
	w.forge("resume", run, "--remote").want(exitUsage).warns("this machine's ceiling allows")
	w.write(user, "[sandbox]\nmode = \"nonsense\"\n")
	w.forge("resume", run, "--remote").want(exitUsage)

	// Every refusal gave the run back.
	w.write(user, "[sandbox]\nmode = \"off\"\n")
	w.configure("", "true", "true")
	w.forge("resume", run, "--remote", "--as-recorded").want(exitFrozen)
	if store, err := journal.Open(t.Context(), w.state); err != nil {
		t.Error(err)
	} else {
		row, err := store.RunOf(t.Context(), run)
		if err != nil || row.Outcome != work.RunFrozen {
			t.Errorf("the run is %q, %v", row.Outcome, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
	f.first.forge("approve", run+".2", "--remote", "--resume").want(exitDone)
}
