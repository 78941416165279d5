package runs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/gates"
	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/pace"
	"forge/internal/work"
	"forge/orchestrator"
)

// two are two real repositories, with the results of a run in Forge's own ones.
type two struct {
	t      *testing.T
	top    string
	stores map[string]*git.Store // by repository, "" = the home
	spec   orchestrator.Spec
	events []work.Event
	s      *orchestrator.State
	now    time.Time
}

func (w *two) dir(repo string) string {
	return filepath.Join(w.top, orchestrator.Called(repo))
}

func (w *two) environ() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.top, "GIT_CONFIG_NOSYSTEM=1", "LANG=C",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.invalid", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.invalid",
	}
}

func (w *two) git(repo string, args ...string) string {
	w.t.Helper()
	cmd := exec.CommandContext(w.t.Context(), "git", args...)
	cmd.Dir, cmd.Env = w.dir(repo), w.environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s in %s: %v\n%s", args[0], w.dir(repo), err, out)
	}
	return strings.TrimSpace(string(out))
}

// open opens Forge's repositories as a new process does.
func (w *two) open() {
	w.t.Helper()
	w.stores = map[string]*git.Store{}
	for _, repo := range []string{"", "api"} {
		store, err := git.Open(w.t.Context(), git.Config{StateDir: filepath.Join(w.top, "state-"+orchestrator.Called(repo)), Root: w.dir(repo), Environ: w.environ()})
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := store.SettleMove(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.stores[repo] = store
	}
}

// do carries a step out with the real machine.
func (w *two) do(e orchestrator.Effect) orchestrator.Fact {
	machine := func(repo string) *effect.Machine {
		return &effect.Machine{Repo: w.stores[repo], Targets: w.stores[repo], Now: time.Now}
	}
	home := machine("")
	home.Beside = map[string]*effect.Machine{"api": machine("api")}
	return home.Do(context.Background(), e, effect.Attending{})
}

// result is a commit on the base of a repository that adds one file.
func (w *two) result(repo string) (base, commit string) {
	w.t.Helper()
	base = w.git(repo, "rev-parse", "HEAD")
	dir, store := filepath.Join(w.top, "phase-"+orchestrator.Called(repo)), w.stores[repo]
	if err := store.OpenFolder(w.t.Context(), dir, base); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new.txt"), []byte("new\n"), 0o644); err != nil {
		w.t.Fatal(err)
	}
	snap, err := store.Snapshot(w.t.Context(), dir, base, "refs/forge/runs/r/snap", "work")
	if err != nil {
		w.t.Fatal(err)
	}
	if commit, err = store.Squash(w.t.Context(), snap.Tree, base, "result", "refs/forge/runs/r/head"); err != nil {
		w.t.Fatal(err)
	}
	return base, commit
}

// newTwo is a run of two repositories whose phases are done, just before it is
// handed over.
func newTwo(t *testing.T) *two {
	t.Helper()
	w := &two{t: t, top: t.TempDir(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, repo := range []string{"", "api"} {
		if err := os.MkdirAll(w.dir(repo), 0o755); err != nil {
			t.Fatal(err)
		}
		w.git(repo, "init", "-q", "-b", "main")
		if err := os.WriteFile(filepath.Join(w.dir(repo), "start.txt"), []byte("start\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		w.git(repo, "add", "-A")
		w.git(repo, "commit", "-q", "-m", "base")
	}
	w.open()
	policy, _ := gates.Preset(gates.PresetFull)
	set := work.PhaseSettings{Budget: 1, Permission: work.PermissionStandard}
	w.spec = orchestrator.Spec{
		Plan: work.Plan{Phases: []work.Phase{
			{Number: "01", Name: "server", Promise: "A", Repository: "api"}, {Number: "02", Name: "client", Promise: "B", DependsOn: []string{"01"}},
		}},
		Policy: policy, Branch: "forge/run-r",
		Settings: work.Settings{
			MaxParallel: 1, Verify: work.VerifySettings{None: true}, Proof: work.ProofSettings{NoControls: true},
			Phases: map[string]work.PhaseSettings{"01": set, "02": set},
		},
	}
	homeBase, homeResult := w.result("")
	apiBase, apiResult := w.result("api")
	w.spec.Base = work.Base{Commit: homeBase, Branch: "main", RepoRoot: w.dir("")}
	w.spec.Repositories = []work.Repository{{
		Name: "api", Base: work.Base{Commit: apiBase, Branch: "main", RepoRoot: w.dir("api")}, Verify: work.VerifySettings{None: true}, Proof: work.ProofSettings{NoControls: true},
	}}
	w.replay()
	w.feed(orchestrator.Opened{Inline: &w.spec})
	for range 40 {
		all := orchestrator.Pending(w.s)
		if len(all) != 1 {
			t.Fatalf("%d commands are pending: %v", len(all), all)
		}
		c := all[0]
		if c.Step == orchestrator.StepPrepare {
			return w
		}
		w.feed(orchestrator.Began{Command: c})
		commit, repo := homeResult, ""
		if c.Phase == "01" {
			commit, repo = apiResult, "api"
		}
		tree, err := w.stores[repo].TreeOf(t.Context(), commit)
		if err != nil {
			t.Fatal(err)
		}
		switch c.Step {
		case orchestrator.StepFolder:
			w.feed(orchestrator.FolderDone{Command: c, Setup: work.CommandsReport{OK: true}})
		case orchestrator.StepIterate:
			w.feed(orchestrator.IterationDone{
				Command: c, Report: work.IterationReport{Outcome: work.OutcomeOK, Claims: []string{map[string]string{"01": "A", "02": "B"}[c.Phase]}},
				Snapshot: work.Snapshot{Commit: commit, Tree: tree, Changed: true, Files: []work.FileChange{{Path: "new.txt", Status: "A"}}},
			})
		case orchestrator.StepMerge:
			w.feed(orchestrator.MergeDone{Command: c, Result: orchestrator.MergeFinishedData{Command: c.ID, Head: w.s.HeadOf(repo), Commit: commit, Tree: tree, Files: 1}})
		case orchestrator.StepLand:
			w.feed(orchestrator.LandDone{Command: c, Commit: commit})
		default:
			t.Fatalf("%s is pending", c.Step)
		}
	}
	t.Fatal("the hand-over does not begin")
	return nil
}

// replay is a new process: it knows what is in the journal.
func (w *two) replay() {
	w.t.Helper()
	var err error
	if w.s, err = orchestrator.NewState("r", w.spec); err != nil {
		w.t.Fatal(err)
	}
	for _, e := range w.events {
		if err := orchestrator.Apply(w.s, e); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *two) feed(f orchestrator.Fact) {
	w.t.Helper()
	evs, err := orchestrator.Feed(w.s, orchestrator.Input{Now: w.now, Fact: f})
	if err != nil {
		w.t.Fatal(err)
	}
	w.events = append(w.events, evs...)
}

// crash is a process that dies and another one that goes on.
func (w *two) crash() {
	w.t.Helper()
	w.open()
	w.replay()
	w.feed(orchestrator.Resumed{RunResumedData: orchestrator.RunResumedData{By: "test"}})
}

// has says whether the target of a repository holds the result, files and all.
func (w *two) has(repo string) bool {
	w.t.Helper()
	_, err := os.Lstat(filepath.Join(w.dir(repo), "new.txt"))
	at := w.git(repo, "rev-parse", "main")
	moved := at != w.s.BaseOf(repo).Commit
	if moved != (err == nil) {
		w.t.Fatalf("%s is at %s, and its new file: %v", orchestrator.Called(repo), at, err)
	}
	return moved
}

// Where a process dies, before a step, after it and before it is on record, or after
// that: both repositories are moved once somebody goes on, or none is.
func TestRepositoriesAreMovedTogetherWhateverDies(t *testing.T) {
	pace.Slow(t, "two real repositories for each moment")
	const steps = 4 // prepared twice, moved twice
	for at := range steps {
		for _, moment := range []string{"before the step", "after it, unrecorded", "after it, recorded"} {
			for _, blocked := range []bool{false, true} {
				t.Run(fmt.Sprintf("%d %s, blocked %v", at, moment, blocked), func(t *testing.T) {
					t.Parallel()
					w := newTwo(t)
					done := 0
					for range 20 {
						all := orchestrator.Pending(w.s)
						if len(all) == 0 {
							break
						}
						c := all[0]
						if blocked && c.Step == orchestrator.StepMove && c.Repository == "" {
							// Somebody's work comes into the way after the decision.
							if err := os.WriteFile(filepath.Join(w.dir(""), "start.txt"), []byte("mine\n"), 0o644); err != nil {
								t.Fatal(err)
							}
						}
						w.feed(orchestrator.Began{Command: c})
						if done == at && moment == "before the step" {
							done = -100
							w.crash()
							continue
						}
						e, err := orchestrator.EffectOf(w.s, c, orchestrator.Known{})
						if err != nil {
							t.Fatal(err)
						}
						fact := w.do(e)
						if done == at && moment == "after it, unrecorded" {
							done = -100
							w.crash()
							continue
						}
						if broke, is := fact.(orchestrator.Broke); is {
							t.Fatalf("%s: %s", c.ID, broke.Problem)
						}
						w.feed(fact)
						if done == at && moment == "after it, recorded" {
							done = -100
							if w.s.Live {
								w.crash()
							}
							continue
						}
						done++
					}
					if w.s.Outcome != work.RunCompleted || w.has("") == blocked || w.has("api") == blocked {
						t.Errorf("the run is %q, home is moved: %v, api: %v, want both %v", w.s.Outcome, w.has(""), w.has("api"), !blocked)
					}
					if blocked && w.s.Delivery.FastForwarded {
						t.Error("the delivery says that they were moved")
					}
					for _, repo := range []string{"", "api"} {
						if got := w.git(repo, "rev-parse", "forge/run-r"); got != w.s.HeadOf(repo) {
							t.Errorf("the branch of the result in %q is at %s", repo, got)
						}
					}
				})
			}
		}
	}
}
