package machine

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/pace"
	"forge/internal/planrun"
	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

const travelScript = `
[[step]]
phase = "01"
do = [ { write = "one.txt", content = "1\n" }, { print = "<promise>ONE</promise>" } ]
[[step]]
phase = "02"
iteration = 1
do = [ { write = "left.txt", content = "l\n" }, { print = "not yet" } ]
[[step]]
phase = "02"
iteration = 2
do = [ { write = "left2.txt", content = "l\n", append = true }, { print = "<promise>LEFT</promise>" } ]
[[step]]
phase = "03"
do = [ { write = "right.txt", content = "r\n", append = true }, { print = "<promise>RIGHT</promise>" } ]
`

func travelPlan() work.Plan {
	return work.Plan{Phases: []work.Phase{
		{Number: "01", Name: "one", Promise: "ONE", Budget: 2},
		{Number: "02", Name: "left", Promise: "LEFT", Budget: 3, DependsOn: []string{"01"}, Verify: []string{"test -f left2.txt"}},
		{Number: "03", Name: "right", Promise: "RIGHT", Budget: 2, DependsOn: []string{"01"}},
	}}
}

// office is a person's machine with a checkout, and the repository that a team named.
type office struct {
	*testing.T
	env project.Env
	p   *project.Checkout
	at  string
	t   team
}

// committed has everything of a new project in its first commit but one: so it is where
// several machines work on it.
func committed(t *testing.T, script string) project.Env {
	t.Helper()
	env := projecttest.New(t, script, "[defaults]\nmax_parallel = 2\n[proof]\nproduct = [\"**\"]\ncontrols = false\n")
	gitIn(t, env, "add", ".forge")
	gitIn(t, env, "commit", "-q", "-m", "what Forge needs")
	return env
}

func gitIn(t *testing.T, env project.Env, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = env.Dir, env.Environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func newOffice(t *testing.T, env project.Env) *office {
	t.Helper()
	ctx := t.Context()
	o := &office{T: t, env: env, at: filepath.Join(t.TempDir(), "team.git")}
	gitIn(t, o.env, "init", "-q", "--bare", "-b", "main", o.at)
	var err error
	if o.p, err = project.Open(ctx, o.env); err != nil {
		t.Fatal(err)
	}
	if _, err := o.p.OpenStore(ctx, true); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.p.Close)
	repo, err := o.p.Repo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if o.t, err = teamOf(ctx, o.p, repo, config.EngineSettings{Objects: o.at, Queues: "q"}); err != nil {
		t.Fatal(err)
	}
	return o
}

// worker is a machine with a home and a state folder of its own, and no checkout. What
// it has of the journal is the office's, as with a database.
func (o *office) worker(name string) *Places {
	o.Helper()
	dir := filepath.Join(o.TempDir(), name)
	home := filepath.Join(dir, "home", ".config", "forge")
	if err := os.MkdirAll(home, 0o755); err != nil {
		o.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte("[sandbox]\nmode = \"off\"\n"), 0o600); err != nil {
		o.Fatal(err)
	}
	env := surroundings(o.env.Stores, o.env.Log, "/")
	env.Environ = append(slices.Clone(o.env.Environ), "HOME="+filepath.Join(dir, "home"), "FORGE_STATE_DIR="+filepath.Join(dir, "state"))
	p, m, err := openMirror(o.Context(), env, o.at)
	if err != nil {
		o.Fatal(err)
	}
	if err := os.MkdirAll(p.State, 0o700); err != nil {
		o.Fatal(err)
	}
	p.Journal = o.p.Journal
	l, err := NewPlaces(o.Context(), p, config.EngineSettings{Objects: o.at, Queues: "q"}, m)
	if err != nil {
		o.Fatal(err)
	}
	if l.team.name != o.t.name || l.team.queues != o.t.queues {
		o.Fatalf("the worker is of %+v, the checkout of %+v", l.team, o.t)
	}
	return l
}

// inTurn has each effect carried out by the next of several machines.
type inTurn struct {
	machines []*effects
	next     atomic.Int64
	did      [2]atomic.Int64
}

func (m *inTurn) Do(ctx context.Context, of orchestrator.Effect, a effect.Attending) orchestrator.Fact {
	n := int(m.next.Add(1)) % len(m.machines)
	m.did[n].Add(1)
	return m.machines[n].Do(ctx, of, a)
}

func (m *inTurn) Refute(context.Context, []work.Event) error         { return nil }
func (m *inTurn) Keep(context.Context, string, string, []work.Event) {}

var _ engine.Effects = (*inTurn)(nil)

// drive has a run driven by machines in turn, by the engine of this process: what is
// tested is what travels, not who schedules.
func (o *office) drive(plan work.Plan, machines ...*Places) (*orchestrator.State, work.RunFinishedData, *inTurn) {
	o.Helper()
	ctx := o.Context()
	e, err := o.p.Machine(ctx)
	if err != nil {
		o.Fatal(err)
	}
	spec, _, err := planrun.OfText(o.p, "Write the files that the phases name.", plan, false, config.PolicyFlags{Autonomous: true})
	if err != nil {
		o.Fatal(err)
	}
	id := o.p.NewRunID()
	spec.Branch = "forge/run-" + id
	opened, err := runs.Open(ctx, o.p, e, id, spec, spec.Base.Branch, o.p.Journal.CreateRun)
	if err != nil {
		o.Fatal(err)
	}
	s := opened.State
	if err := o.t.sent(ctx, o.p, e.Repo, s); err != nil {
		o.Fatal(err)
	}
	d, done, err := runs.Driver(ctx, o.p, e, opened.Lease, s, runs.Options{})
	if err != nil {
		o.Fatal(err)
	}
	defer done()
	turn := &inTurn{}
	for _, l := range machines {
		place, err := l.Open(ctx, o.t.name, id)
		if err != nil {
			o.Fatal(err)
		}
		defer place.Close()
		turn.machines = append(turn.machines, place.Effects.(*effects))
	}
	d.Effects = turn
	end, err := d.Run(ctx, s, opened.First)
	if err != nil {
		o.Fatal(err)
	}
	if err := opened.Lease.Release(ctx); err != nil {
		o.Fatal(err)
	}
	if err := o.t.brought(ctx, o.p, e.Repo, s); err != nil {
		o.Fatal(err)
	}
	return s, end, turn
}

// A run whose effects are carried out by two machines in turn, which have no checkout and
// nothing in common but the repository and the journal, comes to the same tree as on one;
// its result is in the checkout that it began in, and nothing of it is left on them.
func TestRunOnTwoMachines(t *testing.T) {
	pace.Slow(t, "a run with several phases, each effect of which fetches and pushes")
	o := newOffice(t, committed(t, travelScript))
	one, two := o.worker("one"), o.worker("two")
	s, end, turn := o.drive(travelPlan(), one, two)
	if end.Outcome != work.RunCompleted {
		t.Fatalf("it ended %+v", end)
	}
	for n := range turn.did {
		if turn.did[n].Load() < 3 {
			t.Errorf("machine %d carried %d effects out", n, turn.did[n].Load())
		}
	}
	tree := gitIn(t, o.env, "ls-tree", "-r", "--name-only", "HEAD")
	for _, file := range []string{"one.txt", "left.txt", "left2.txt", "right.txt"} {
		if !strings.Contains(tree, file) {
			t.Errorf("the branch that is checked out lacks %s:\n%s", file, tree)
		}
	}
	if text, err := os.ReadFile(filepath.Join(o.env.Dir, "left2.txt")); err != nil || string(text) != "l\n" {
		t.Errorf("an iteration was done twice, or not at all: %q, %v", text, err)
	}
	if at := gitIn(t, o.env, "rev-parse", s.Spec.Branch); at != gitIn(t, o.env, "rev-parse", "HEAD") {
		t.Errorf("the result's branch is at %s", at)
	}
	// Another checkout of the project has the result when somebody asks for it there.
	elsewhere := o.env
	elsewhere.Dir = filepath.Join(t.TempDir(), "clone")
	elsewhere.Environ = append(slices.Clone(o.env.Environ), "FORGE_STATE_DIR="+filepath.Join(t.TempDir(), "state"))
	gitIn(t, o.env, "clone", "-q", "--no-hardlinks", ".", elsewhere.Dir)
	gitIn(t, elsewhere, "reset", "-q", "--hard", o.p.Base.Commit)
	p, err := project.Open(t.Context(), elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	repo, err := p.Repo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := o.t.bring(t.Context(), o.t.place(p, repo, ""), p, repo, s); err != nil {
		t.Fatal(err)
	}
	if at := gitIn(t, elsewhere, "rev-parse", s.Spec.Branch); at != s.Delivery.Commit || gitIn(t, elsewhere, "rev-parse", "HEAD") != o.p.Base.Commit {
		t.Errorf("the other checkout has the result at %s, want %s and its own branch where it was", at, s.Delivery.Commit)
	}
	for _, l := range []*Places{one, two} {
		l.sweep(t.Context())
		left, _ := filepath.Glob(filepath.Join(l.mirror.dir, "*"))
		folders, _ := filepath.Glob(filepath.Join(l.p.State, "runs", s.Run, "phases", "*"))
		refs, err := l.machine.Repo.RefsBelow(t.Context(), "refs/forge/runs", "refs/forge/objects", "refs/forge/keep")
		if len(left)+len(folders)+len(refs) > 0 || err != nil {
			t.Errorf("of a run that is over there is %v, %v, %v: %v", left, folders, refs, err)
		}
	}
}

// A worker that goes on although another one has taken its phase over: what it makes is
// refused, kept where it was made, and said; the other one's counts, and is what a third
// machine goes on from.
func TestTravelTakenOver(t *testing.T) {
	pace.Slow(t, "three machines, each with a repository of its own")
	o := newOffice(t, committed(t, travelScript))
	ctx := t.Context()
	base := o.p.Base.Commit
	repo, err := o.p.Repo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.t.place(o.p, repo, "").Begin(ctx, "r", base); err != nil {
		t.Fatal(err)
	}
	one, two := o.worker("one"), o.worker("two")
	for name, orphanFirst := range map[string]bool{"the orphan is done first": true, "the other one is done first": false} {
		t.Run(name, func(t *testing.T) {
			phase := fmt.Sprint(len(name))
			snapshot := func(l *Places, of orchestrator.Effect, text string) orchestrator.Fact {
				e := of.(orchestrator.IterateEffect)
				if !e.Reset {
					t.Error("the folder is taken as it is")
				}
				dir := filepath.Join(t.TempDir(), "work")
				if err := l.machine.Repo.OpenFolder(ctx, dir, base); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "made.txt"), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				snap, err := l.machine.Repo.Snapshot(ctx, dir, e.Parent, e.Ref, e.Message)
				if err != nil {
					t.Fatal(err)
				}
				return orchestrator.IterationDone{Command: e.Command, Report: work.IterationReport{Outcome: work.OutcomeOK}, Snapshot: snap}
			}
			iterate := func(attempt int) orchestrator.IterateEffect {
				c := orchestrator.Command{ID: work.CommandID(fmt.Sprintf("r/%s/%d/1/iterate", phase, attempt)), Phase: phase, Step: orchestrator.StepIterate, Attempt: attempt}
				return orchestrator.IterateEffect{Command: c, Parent: base, Ref: orchestrator.Ref("r", fmt.Sprintf("%s/1-%d", phase, attempt)), Message: "work"}
			}
			said := ""
			travels := func(l *Places) travel {
				return travel{place: l.team.place(l.p, l.machine.Repo, ""), run: "r", refused: func(ref string) { said = ref }}
			}
			var other orchestrator.Fact
			takeOver := func() {
				other = travels(two).do(ctx, iterate(2), effect.Attending{Mark: "second"}, func(of orchestrator.Effect) orchestrator.Fact { return snapshot(two, of, "second\n") })
			}
			orphan := travels(one).do(ctx, iterate(1), effect.Attending{Mark: "first"}, func(of orchestrator.Effect) (made orchestrator.Fact) {
				if orphanFirst {
					made = snapshot(one, of, "first\n")
				}
				takeOver()
				if !orphanFirst {
					made = snapshot(one, of, "first\n")
				}
				return made
			})
			done, is := orphan.(orchestrator.IterationDone)
			if !is || done.Report.Outcome != work.OutcomeInterrupted || !strings.Contains(done.Report.Detail, "refused") || done.Snapshot.Commit != "" {
				t.Errorf("of the orphan: %+v", orphan)
			}
			late, err := one.machine.Repo.ReadRef(ctx, said)
			if said != iterate(1).Ref || err != nil || late == "" {
				t.Errorf("what is refused is said to be at %q, which is at %q, %v", said, late, err)
			}
			counts, is := other.(orchestrator.IterationDone)
			if !is || counts.Report.Outcome != work.OutcomeOK {
				t.Fatalf("of the other one: %+v", other)
			}
			// What the orphan's machine does next takes nothing of it along.
			fact := travels(one).do(ctx, orchestrator.MergeEffect{Command: orchestrator.Command{ID: "r/m"}}, effect.Attending{}, func(of orchestrator.Effect) orchestrator.Fact {
				return orchestrator.MergeDone{Command: of.Of()}
			})
			if _, is := fact.(orchestrator.MergeDone); !is {
				t.Errorf("an effect of the orphan's machine: %+v", fact)
			}
			if _, err := o.t.place(o.p, repo, "").Bring(ctx, "r"); err != nil {
				t.Fatal(err)
			}
			if there, err := repo.Exists(ctx, counts.Snapshot.Commit); !there || err != nil {
				t.Errorf("what counts is not brought: %v", err)
			}
			if there, err := repo.Exists(ctx, late); there || err != nil {
				t.Errorf("what is refused travels: %v", err)
			}
		})
	}
}

// An effect that another machine's configuration was written into is carried out with
// the paths and the sandbox of this one; what people and agents wrote stays.
func TestRelocated(t *testing.T) {
	p, err := project.Open(t.Context(), projecttest.New(t, "", ""))
	if err != nil {
		t.Fatal(err)
	}
	there := work.SandboxSettings{Mode: "required", Write: []string{"/far/project/x"}}
	prompt := "/far/project/file: look at it"
	request := work.IterationRequest{
		Prompt: prompt, Sandbox: there, CostUSD: new(float64),
		Agent: work.AgentSettings{Checkout: "/far/project", File: "/far/project/.forge/agent.toml", Command: []string{"/far/project/agent.sh", "/far/project/arg"}, SetEnv: map[string]string{"X": "/far/projects"}},
	}
	of := orchestrator.IterateEffect{Command: orchestrator.Command{ID: "r/1"}, Request: request, Fresh: prompt, Opening: orchestrator.Opening{Setup: work.SetupRequest{Sandbox: there}}}
	got, err := relocated(of, "/far/project", p)
	if err != nil {
		t.Fatal(err)
	}
	root, here := p.Base.RepoRoot, p.Config.SandboxSettings()
	it := got.(orchestrator.IterateEffect)
	a := it.Request.Agent
	if a.Checkout != root || a.File != root+"/.forge/agent.toml" || a.Command[0] != root+"/agent.sh" || a.Command[1] != "/far/project/arg" || a.SetEnv["X"] != "/far/projects" {
		t.Errorf("its agent is %+v", a)
	}
	if it.Request.Prompt != prompt || it.Fresh != prompt {
		t.Errorf("its prompt is %q", it.Request.Prompt)
	}
	if fmt.Sprint(it.Request.Sandbox) != fmt.Sprint(here) || fmt.Sprint(it.Opening.Setup.Sandbox) != fmt.Sprint(here) {
		t.Errorf("its sandbox is %+v and %+v, want %+v", it.Request.Sandbox, it.Opening.Setup.Sandbox, here)
	}
	verify := orchestrator.VerifyEffect{Command: orchestrator.Command{ID: "r/2"}, Proof: orchestrator.Proof{Verify: work.VerifyRequest{Commands: []string{"true"}, Sandbox: there}}}
	if got, err = relocated(verify, "/far/project", p); err != nil || fmt.Sprint(got.(orchestrator.VerifyEffect).Proof.Verify.Sandbox) != fmt.Sprint(here) || got.(orchestrator.VerifyEffect).Proof.Verify.Commands[0] != "true" {
		t.Errorf("a verify becomes %+v: %v", got, err)
	}
	deliver := orchestrator.DeliverEffect{Command: orchestrator.Command{ID: "r/3"}, Base: work.Base{RepoRoot: "/far/project", Commit: "c"}}
	if got, err = relocated(deliver, "/far/project", p); err != nil || got.(orchestrator.DeliverEffect).Base.RepoRoot != root {
		t.Errorf("a delivery becomes %+v: %v", got, err)
	}
}

// asksTools asks what is known of its phase, and writes that down.
const asksTools = `#!/bin/sh
conf=$(cat "$FORGE_MCP") || exit 9
exe=$(echo "$conf" | sed 's/.*"command":"\([^"]*\)".*/\1/')
socket=$(echo "$conf" | sed 's/.*"__agent-tools","\([^"]*\)".*/\1/')
{
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}'
	echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	echo '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"why","arguments":{}}}'
	n=0; until grep -q '"id":2' said.txt || [ $n -gt 1200 ]; do n=$((n+1)); sleep 0.05; done
} | "$exe" __agent-tools "$socket" >said.txt
echo "<promise>ONE</promise>"
`

// An agent that is to have Forge's tools has them also where a worker without a checkout
// drives it: what they say comes from the journal that all machines have.
func TestAgentToolsOnAWorker(t *testing.T) {
	pace.Slow(t, "a run on a machine of its own, whose agent starts a server of tools")
	env := projecttest.New(t, "", "")
	config := "[agent]\nuse = \"asks\"\n[agents.asks]\nkind = \"exec\"\ncommand = [\"./agent.sh\"]\nmcp = true\n[verify]\ncommands = [\"true\"]\n[proof]\nproduct = [\"**\"]\ncontrols = false\n"
	for name, text := range map[string]string{".forge/forge.toml": config, "agent.sh": asksTools} {
		if err := os.WriteFile(filepath.Join(env.Dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, env, "add", ".")
	gitIn(t, env, "commit", "-q", "-m", "an agent that asks")
	o := newOffice(t, env)
	s, end, _ := o.drive(work.Plan{Phases: []work.Phase{{Number: "01", Name: "one", Promise: "ONE", Budget: 1}}}, o.worker("one"))
	if end.Outcome != work.RunCompleted {
		t.Fatalf("it ended %+v", end)
	}
	if said := gitIn(t, env, "show", "HEAD:said.txt"); !strings.Contains(said, s.Run) || !strings.Contains(said, "phase 01") || strings.Contains(said, `"isError":true`) {
		t.Errorf("the tools said %.2000s", said)
	}
}
