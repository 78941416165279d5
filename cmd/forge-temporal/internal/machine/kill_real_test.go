//go:build real

package machine

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/planrun"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/project/projecttest"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// play makes the test binary behave as forge-temporal.
const play = "FORGE_TEST_PLAY"

// playCore is the version of the core that it then has.
const playCore = "FORGE_TEST_CORE"

// playBareAt makes it a worker without Forge, of the server at that address.
const playBareAt = "FORGE_TEST_PLAY_BARE"

// noStores are those of a test, whose journals are files.
func noStores(context.Context, string, string, func(string)) (*journal.Store, error) {
	return nil, errors.New("no journal of these tests stands on a server")
}

// TestMain lets this test binary be what a worker starts itself as, and a worker.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	if at := os.Getenv(playBareAt); at != "" {
		playBare(at)
		os.Exit(0)
	}
	if os.Getenv(play) != "" {
		os.Exit(runAs(context.Background(), cmp.Or(os.Getenv(playCore), temporal.CoreVersion), noStores, os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const script = `
[[step]]
phase = "01"
do = [ { write = "one.txt", content = "1\n" }, { sleep = 0.5 }, { print = "<promise>ONE</promise>" } ]
[[step]]
phase = "02"
iteration = 1
do = [ { write = "left.txt", content = "l\n" }, { print = "<promise>LEFT</promise>" } ]
[[step]]
phase = "02"
iteration = 2
do = [ { write = "left2.txt", content = "l\n", append = true }, { sleep = 0.3 }, { print = "<promise>LEFT</promise>" } ]
[[step]]
phase = "03"
do = [ { write = "right.txt", content = "r\n", append = true }, { run = "env" }, { print = "<promise>RIGHT</promise>" } ]
`

func plan() work.Plan {
	return work.Plan{Phases: []work.Phase{
		{Number: "01", Name: "one", Promise: "ONE", Budget: 2},
		{Number: "02", Name: "left", Promise: "LEFT", Budget: 3, DependsOn: []string{"01"}, Verify: []string{"test -f left2.txt"}},
		{Number: "03", Name: "right", Promise: "RIGHT", Budget: 2, DependsOn: []string{"01"}},
	}}
}

// quick are times in which a test sees what takes minutes else.
func quick() temporal.Times {
	t := temporal.Usual()
	t.Beat, t.Host, t.Unserved = 3*time.Second, 10*time.Second, 20*time.Second
	return t
}

// server is a real Temporal server with the namespace that setup made.
func server(t testing.TB) *testsuite.DevServer {
	t.Helper()
	program := os.Getenv("FORGE_REAL_TEMPORAL")
	if program == "" {
		t.Skip("FORGE_REAL_TEMPORAL names no server: scripts/real.sh does")
	}
	s, err := testsuite.StartDevServer(context.Background(), testsuite.DevServerOptions{
		ExistingPath: program, LogLevel: "error", Stdout: io.Discard, Stderr: io.Discard, ClientOptions: &client.Options{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// factory is a project whose engine is the server's.
type factory struct {
	t   *testing.T
	env project.Env
}

func newFactory(t *testing.T, s *testsuite.DevServer, more string) *factory {
	t.Helper()
	f := &factory{t: t, env: projecttest.New(t, script, "[defaults]\nmax_parallel = 2\n[proof]\nproduct = [\"**\"]\ncontrols = false\n")}
	f.env.Stores = noStores
	f.env.Environ = append(f.env.Environ, "TEST_SECRET_TOKEN="+secret, "FORGE_TEST_LEAVES=1")
	f.configure("address = \"" + s.FrontendHostPort() + "\"\n" + more)
	return f
}

// secret is what no history may hold.
const secret = "hunter2-of-the-test"

func (f *factory) home() string { return f.env.Getenv("HOME") }

func (f *factory) configure(engine string) {
	f.t.Helper()
	if !strings.Contains(engine, "namespace") {
		engine += "namespace = \"tests\"\n"
	}
	text := "[sandbox]\nmode = \"off\"\n[worker]\ndrain_secs = 5\n[engine]\nkind = \"temporal\"\n" + engine
	if err := os.WriteFile(filepath.Join(f.home(), ".config/forge/config.toml"), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// script gives the project's agent another one.
func (f *factory) script(text string) {
	f.t.Helper()
	if err := os.WriteFile(filepath.Join(f.env.Dir, ".forge/agent.toml"), []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

// command is forge-temporal in the project.
func (f *factory) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir, cmd.Env = f.env.Dir, append(slices.Clone(f.env.Environ), play+"=1")
	return cmd
}

// says is what a command prints, and its exit code.
func (f *factory) says(args ...string) (string, int) {
	f.t.Helper()
	cmd := f.command(args...)
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		f.t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// worker starts one, which serves when it returns.
func (f *factory) worker() *exec.Cmd {
	f.t.Helper()
	cmd := f.command("worker")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { f.kill(cmd) })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, "serves") {
		f.t.Fatalf("the worker said %q: %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return cmd
}

func (f *factory) kill(cmd *exec.Cmd) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// run opens a run and has it driven; at is told of each event.
func (f *factory) run(at func(e work.Event)) (p *project.Checkout, s *orchestrator.State, end work.RunFinishedData, err error) {
	f.t.Helper()
	p, opened := f.open()
	s = opened.State
	end, err = drive(f.t.Context(), temporal.CoreVersion, p, opened.Lease, s, opened.First, runs.Options{Watch: watcher{at}}, quick())
	return p, s, end, err
}

// open opens a run that nobody drives yet.
func (f *factory) open() (*project.Checkout, runs.Opened) {
	f.t.Helper()
	ctx := f.t.Context()
	p, err := project.Open(ctx, f.env)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { p.Close() })
	e, err := p.Machine(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	spec, _, err := planrun.OfText(p, "Write the files that the phases name.", plan(), false, config.PolicyFlags{Autonomous: true})
	if err != nil {
		f.t.Fatal(err)
	}
	id := p.NewRunID()
	spec.Branch = "forge/run-" + id
	opened, err := runs.Open(ctx, p, e, id, spec, spec.Base.Branch, p.Journal.CreateRun)
	if err != nil {
		f.t.Fatal(err)
	}
	return p, opened
}

type watcher struct{ at func(work.Event) }

func (w watcher) Events(evs []work.Event, _ *orchestrator.State) {
	for _, e := range evs {
		if w.at != nil {
			w.at(e)
		}
	}
}
func (watcher) Activity(work.Activity) {}

// outcome is what must be the same whoever was killed: the tree, and how each phase
// ended after how many iterations.
func (f *factory) outcome(s *orchestrator.State, end work.RunFinishedData) string {
	f.t.Helper()
	cmd := exec.Command("git", "ls-tree", "-r", "HEAD")
	cmd.Dir, cmd.Env = f.env.Dir, f.env.Environ
	tree, err := cmd.CombinedOutput()
	if err != nil {
		f.t.Fatalf("git ls-tree: %v\n%s", err, tree)
	}
	var b strings.Builder
	fmt.Fprintln(&b, end.Outcome, end.Reason)
	for _, n := range s.Order {
		fmt.Fprintln(&b, n, s.Phases[n].Outcome, s.Phases[n].Iteration, s.Phases[n].Spent)
	}
	return b.String() + string(tree)
}

// once fails when an iteration came to a result twice, or the record is broken.
func once(t *testing.T, p *project.Checkout, run string) int {
	t.Helper()
	evs, err := p.Journal.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.LoadRun(t.Context(), run); err != nil {
		t.Error(err)
	}
	seen := map[string]bool{}
	for _, e := range evs {
		var d struct{ Outcome string }
		if e.Kind != work.IterationFinished && e.Kind != work.PhaseMerged || json.Unmarshal(e.Data, &d) != nil || d.Outcome == "interrupted" {
			continue
		}
		id := fmt.Sprintf("%s of %s/%d", e.Kind, e.Phase, e.Iteration)
		if seen[id] {
			t.Errorf("%s is on record twice", id)
		}
		seen[id] = true
	}
	return len(evs)
}

// A worker, both of them, or the server that is killed at any moment of a run changes
// nothing of what comes of it. FORGE_KILLS says at how many moments.
func TestRealTemporalKills(t *testing.T) {
	pace.Slow(t, "workers and servers die, and that has to be noticed each time")
	db, port := filepath.Join(t.TempDir(), "temporal.db"), pgtest.FreePort(t)
	s := serverAt(t, db, port)
	whole := newFactory(t, s, "")
	if out, code := whole.says("setup"); code != 0 {
		t.Fatalf("setup: exit code %d\n%s", code, out)
	}
	whole.worker()
	whole.worker()
	p, state, end, err := whole.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	want, events := whole.outcome(state, end), once(t, p, state.Run)
	if !strings.HasPrefix(want, "completed") {
		t.Fatalf("undisturbed the run ended\n%s", want)
	}
	kills, all := 3, t
	if n, err := strconv.Atoi(os.Getenv("FORGE_KILLS")); err == nil && n > 0 {
		kills = n
	}
	for n := range kills {
		at := int64(1 + n*(events-1)/kills)
		t.Run(fmt.Sprintf("event %d", at), func(t *testing.T) {
			f := newFactory(t, s, "")
			workers := []*exec.Cmd{f.worker(), f.worker()}
			killed := false
			p, state, end, err := f.run(func(e work.Event) {
				if e.Seq < at || killed {
					return
				}
				killed = true
				if n%4 == 3 {
					killServer(t, db)
					serverAt(all, db, port) // the others need it, too
					return
				}
				f.kill(workers[n%2])
				if n%4 == 2 { // both, and a new one on the same host
					f.kill(workers[1-n%2])
				}
				f.worker()
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := f.outcome(state, end); got != want || !killed {
				t.Errorf("after a kill (%v) the run ended\n%s\nwithout one it ends\n%s", killed, got, want)
			}
			once(t, p, state.Run)
		})
	}
}
