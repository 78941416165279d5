package worker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/landing"
	"forge/internal/pace"
	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/work"
)

// lineWorld is a project whose issues are done and wait to land: the work of issue "x"
// is a file x.txt, and b.txt is red beside d.txt.
type lineWorld struct {
	t      *testing.T
	env    project.Env
	worker *Worker
	of     map[string]work.Issue
}

func newLineWorld(t *testing.T, titles ...string) *lineWorld {
	t.Helper()
	return openLineWorld(t, lineEnv(t, ""), titles...)
}

// lineEnv is that project before anything is done; more settings stand at the end of its
// configuration.
func lineEnv(t *testing.T, more string) project.Env {
	t.Helper()
	env := projecttest.New(t, "", "")
	top := filepath.Dir(env.Dir)
	for name, text := range map[string]string{
		filepath.Join(top, "agent.sh"): "echo \"$FORGE_PHASE_NAME\" >\"$FORGE_PHASE_NAME.txt\"\necho \"<promise>ISSUE $(echo $FORGE_PHASE_NAME | tr abcde 12345) DONE</promise>\"\n",
		filepath.Join(top, "verify.sh"): "case \"$PWD\" in *landing*)\n  echo $(ls *.txt) $(cat tests/want_test.sh 2>/dev/null) >>" + top + "/proven\n  while [ -e " + top + "/hold ]; do sleep 0.05; done ;;\nesac\n" +
			"! { [ -e b.txt ] && [ -e d.txt ]; }\n",
		filepath.Join(env.Dir, ".forge/forge.toml"): "[project]\nname = \"demo\"\n[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", \"" + top + "/agent.sh\"]\n" +
			"[factory]\ntriage = \"off\"\ndefault_policy = \"full\"\n[verify]\ncommands = [\"sh " + top + "/verify.sh\"]\n[proof]\ncontrols = false\nproduct = [\"*.txt\"]\n" + more,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

// openLineWorld opens a project, and has its issues done.
func openLineWorld(t *testing.T, env project.Env, titles ...string) *lineWorld {
	t.Helper()
	s, err := Open(context.Background(), env, env.Dir, factory.NewConcurrency(9))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	w := &lineWorld{t: t, env: env, worker: s, of: map[string]work.Issue{}}
	w.done(titles...)
	return w
}

// done has issues done, one after the other.
func (w *lineWorld) done(titles ...string) {
	t, s := w.t, w.worker
	t.Helper()
	for _, title := range titles {
		i, err := s.Add(t.Context(), work.Issue{Title: title, Priority: work.PriorityNormal, Column: work.ColumnReady}, factory.Place{At: factory.Bottom}, factory.By{Name: "ann", Door: "test"})
		if err != nil {
			t.Fatal(err)
		}
		named := func(run, _ string, _ *work.IssuePull) error { i.Run = run; return nil }
		ended, err := s.Drive(t.Context(), factory.Order{Issue: i, Named: named})
		if err != nil || !factory.Lands(ended) {
			t.Fatalf("%s: %+v, %v", title, ended, err)
		}
		w.of[title] = i
	}
}

// outcome is what came of a call of Land.
type outcome struct {
	landed factory.Landed
	err    error
}

// line has results wait in this order for one that is being landed.
func (w *lineWorld) line(ctxs map[string]context.Context, titles ...string) map[string]chan outcome {
	w.t.Helper()
	w.worker.landing.Lock()
	out := map[string]chan outcome{}
	for n, title := range titles {
		done := make(chan outcome, 1)
		out[title] = done
		ctx := w.t.Context()
		if c := ctxs[title]; c != nil {
			ctx = c
		}
		go func() {
			l, err := w.worker.Land(ctx, w.of[title], "", func(work.IssuePull) error { return nil })
			done <- outcome{l, err}
		}()
		for {
			w.worker.line.Lock()
			waits := len(w.worker.line.of)
			w.worker.line.Unlock()
			if waits == n+1 {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	w.worker.landing.Unlock()
	return out
}

func (w *lineWorld) git(args ...string) []string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = w.env.Dir, w.env.Environ
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("git %s: %v", args, err)
	}
	return strings.Fields(string(out))
}

// proven are the trees that were proven for landing, in the order in which they were.
func (w *lineWorld) proven() []string {
	w.t.Helper()
	body, err := os.ReadFile(filepath.Join(filepath.Dir(w.env.Dir), "proven"))
	if err != nil {
		w.t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	if twice := slices.Sorted(slices.Values(lines)); len(slices.Compact(twice)) != len(lines) {
		w.t.Errorf("a tree is proven twice: %q", lines)
	}
	return lines
}

// Results that finish together land in one move of the target, by one proof of what it
// becomes; whoever is red beside those before it is named, and the rest lands behind.
func TestResultsLandTogether(t *testing.T) {
	pace.Slow(t, "five runs, and their landings")
	t.Parallel()
	w := newLineWorld(t, "a", "b", "c", "d", "e")
	got := map[string]factory.Landed{}
	for title, done := range w.line(nil, "a", "b", "c", "d", "e") {
		o := <-done
		if o.err != nil {
			t.Fatalf("%s: %v", title, o.err)
		}
		got[title] = o.landed
	}
	a, d, e := got["a"], got["d"], got["e"]
	if a.Commit == "" || got["b"].Commit != a.Commit || got["c"].Commit != a.Commit || !strings.Contains(a.Reason, "together with 2 other issues") {
		t.Errorf("a, b and c: %+v", got)
	}
	if d.Commit != "" || d.Hold != factory.HoldLandingRed {
		t.Errorf("d: %+v", d)
	}
	if e.Commit == "" || e.Commit == a.Commit {
		t.Errorf("e: %+v", e)
	}
	if trees := w.proven(); len(trees) != 5 || trees[0] != "a.txt b.txt c.txt d.txt e.txt" || trees[3] != "a.txt b.txt c.txt d.txt" || trees[4] != "a.txt b.txt c.txt e.txt" {
		t.Errorf("proven were %q", trees)
	}
	if moves := w.git("reflog", "show", "--format=%H", "forge/landed"); len(moves) != 2 || moves[1] != a.Commit || moves[0] != e.Commit {
		t.Errorf("the target was at %v", moves)
	}
	if files := w.git("ls-tree", "--name-only", "forge/landed", "a.txt", "b.txt", "c.txt", "d.txt", "e.txt"); strings.Join(files, " ") != "a.txt b.txt c.txt e.txt" {
		t.Errorf("the target holds %v", files)
	}
	s, err := w.worker.landingOf(t.Context(), w.of["d"].Run)
	if err != nil || s.Last == nil || s.Last.Decision != landing.DecideAgain {
		t.Errorf("d is not gone on from: %+v, %v", s.Last, err)
	}
}

// What is cut off while a batch is proven is nobody's yes: the others land all the same.
func TestResultsLandWithoutTheOneThatWasCutOff(t *testing.T) {
	pace.Slow(t, "three runs, and their landings")
	t.Parallel()
	w := newLineWorld(t, "a", "b", "c")
	hold := filepath.Join(filepath.Dir(w.env.Dir), "hold")
	if err := os.WriteFile(hold, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctxs, cut := map[string]context.Context{}, map[string]func(){}
	for title := range w.of {
		ctxs[title], cut[title] = context.WithCancel(t.Context())
		defer cut[title]()
	}
	dones := w.line(ctxs, "a", "b", "c")
	for {
		if _, err := os.Stat(filepath.Join(filepath.Dir(w.env.Dir), "proven")); err == nil {
			break
		}
		time.Sleep(time.Millisecond)
	}
	cut["a"]()
	first := map[string]outcome{}
	if err := os.Remove(hold); err != nil {
		t.Fatal(err)
	}
	for title, done := range dones {
		first[title] = <-done
	}
	for title, o := range first {
		if title != "a" && (o.err != nil || o.landed.Commit == "") {
			t.Errorf("%s: %+v", title, o)
		}
	}
	if a := first["a"]; a.err == nil && a.landed.Commit == "" {
		t.Errorf("a was cut off, and is said to be %+v", a.landed)
	}
	// It looks for itself, and is there or lands now.
	again, err := w.worker.Land(t.Context(), w.of["a"], "", func(work.IssuePull) error { return nil })
	if err != nil || again.Commit == "" {
		t.Fatalf("a: %+v, %v", again, err)
	}
	if moves := w.git("log", "--format=%s", "--merges", "forge/landed"); len(moves) > 3 {
		t.Errorf("it landed more than once: %v", moves)
	}
	if files := fmt.Sprint(w.git("ls-tree", "--name-only", "forge/landed", "a.txt", "b.txt", "c.txt")); files != "[a.txt b.txt c.txt]" {
		t.Errorf("the target holds %v", files)
	}
}

// Results that began at different commits land together, and what they are proven by is
// held against the evidence that each of them began with.
func TestResultsOfDifferentBasesLandTogether(t *testing.T) {
	pace.Slow(t, "three runs, and their landings")
	t.Parallel()
	env := lineEnv(t, "")
	w := openLineWorld(t, env)
	w.person("exit 1", "a test")
	w.done("a", "b")
	if a := <-w.line(nil, "a")["a"]; a.err != nil || a.landed.Commit == "" {
		t.Fatalf("a: %+v", a)
	}
	w.person("exit 2", "another test")
	w.done("c")
	for title, done := range w.line(nil, "b", "c") {
		if o := <-done; o.err != nil || o.landed.Commit == "" || !strings.Contains(o.landed.Reason, "together with 1 other issue") {
			t.Errorf("%s: %+v", title, o)
		}
	}
	if trees := w.proven(); !slices.Equal(trees, []string{"a.txt b.txt c.txt exit 2", "a.txt b.txt c.txt exit 1"}) {
		t.Errorf("proven were %q", trees)
	}
}

// person commits a test to the target.
func (w *lineWorld) person(content, why string) {
	w.t.Helper()
	dir := filepath.Join(w.t.TempDir(), "target")
	if len(w.git("branch", "--list", "forge/landed")) == 0 {
		w.git("branch", "forge/landed")
	}
	w.git("worktree", "add", "-q", dir, "forge/landed")
	if err := os.MkdirAll(filepath.Join(dir, "tests"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tests", "want_test.sh"), []byte(content+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.git("-C", dir, "add", "-A")
	w.git("-C", dir, "commit", "-qm", why)
	w.git("worktree", "remove", dir)
}
