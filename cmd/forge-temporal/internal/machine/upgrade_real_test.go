//go:build real

package machine

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"forge/cmd/forge-temporal/internal/temporal"
	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/project"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

// workerOf is a worker with another version of the core.
func (f *factory) workerOf(core string) *exec.Cmd {
	f.t.Helper()
	of := *f
	of.env.Environ = append(append([]string{}, f.env.Environ...), playCore+"="+core)
	return of.worker()
}

func dialTests(t *testing.T, s *testsuite.DevServer) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.FrontendHostPort(), Namespace: "tests"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func queuesOf(t *testing.T, p *project.Checkout) temporal.Queues {
	t.Helper()
	repo, err := p.Repo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	set, err := p.Config.Engine()
	if err != nil {
		t.Fatal(err)
	}
	of, err := teamOf(t.Context(), p, repo, set)
	if err != nil {
		t.Fatal(err)
	}
	return of.queues
}

// queueOf is where a run is decided last.
func queueOf(t *testing.T, s *testsuite.DevServer, run string) string {
	t.Helper()
	is, err := dialTests(t, s).DescribeWorkflowExecution(t.Context(), run, "")
	if err != nil {
		t.Fatal(err)
	}
	return is.GetExecutionConfig().GetTaskQueue().GetName()
}

// phases is how each phase of a run ended, after how many iterations.
func phases(s *orchestrator.State, end work.RunFinishedData) string {
	text := string(end.Outcome)
	for _, n := range s.Order {
		text += fmt.Sprintf(", %s %s %d %d", n, s.Phases[n].Outcome, s.Phases[n].Iteration, s.Phases[n].Spent)
	}
	return text
}

// Ten runs are under way when a worker with a newer core begins and the older one is
// stopped: each run ends as it does undisturbed, on the newer core.
func TestRealTemporalRollingUpgrade(t *testing.T) {
	pace.Slow(t, "ten runs are driven by real workers")
	s := server(t)
	f := newFactory(t, s, "")
	if out, code := f.says("setup"); code != 0 {
		t.Fatalf("setup: exit code %d\n%s", code, out)
	}
	old := f.workerOf("1")
	type driven struct {
		p      *project.Checkout
		opened runs.Opened
		end    work.RunFinishedData
		err    error
	}
	all := make([]*driven, 10)
	for i := range all {
		p, opened := f.open()
		all[i] = &driven{p: p, opened: opened}
	}
	var done atomic.Int64
	some := make(chan struct{})
	var each sync.WaitGroup
	for _, r := range all {
		each.Go(func() {
			watch := watcher{func(e work.Event) {
				if e.Kind == work.IterationFinished && done.Add(1) == 3 {
					close(some)
				}
			}}
			r.end, r.err = drive(t.Context(), temporal.CoreVersion, r.p, r.opened.Lease, r.opened.State, r.opened.First, runs.Options{Watch: watch}, quick())
		})
	}
	select {
	case <-some:
	case <-time.After(2 * time.Minute):
		t.Fatal("no run came to its third iteration")
	}
	f.workerOf("2")
	time.Sleep(7 * time.Second) // it has told the runs that it is there
	if err := old.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := old.Wait(); err != nil {
		t.Errorf("the older worker ended with %v", err)
	}
	each.Wait()
	moved := 0
	for _, r := range all {
		if r.err != nil {
			t.Fatal(r.err)
		}
		want := "completed, 01 done 1 1, 02 done 2 2, 03 done 1 1"
		if got := phases(r.opened.State, r.end); got != want {
			t.Errorf("run %s ended as %s, want %s", r.opened.State.Run, got, want)
		}
		once(t, r.p, r.opened.State.Run)
		var first orchestrator.RunStartedData
		if evs, err := r.p.Journal.Events(t.Context(), r.opened.State.Run, 0); err != nil || work.Decode(evs[0], &first) != nil || first.Core != orchestrator.Version {
			t.Errorf("run %s is noted as begun by core %q: %v", r.opened.State.Run, first.Core, err)
		}
		if strings.HasSuffix(queueOf(t, s, r.opened.State.Run), "-core-v2") {
			moved++
		}
	}
	if moved < 5 {
		t.Errorf("%d runs of %d moved to the newer core", moved, len(all))
	}
}

// A run whose version of the core has no worker any more says so within a minute, and
// with the way out; let go of, it is resumed by the newer version, and loses nothing.
func TestRealTemporalVersionWithoutWorker(t *testing.T) {
	pace.Slow(t, "a worker dies, and who watches has to notice")
	s := server(t)
	f := newFactory(t, s, "")
	if out, code := f.says("setup"); code != 0 {
		t.Fatalf("setup: exit code %d\n%s", code, out)
	}
	old := f.workerOf("1")
	p, opened := f.open()
	run := opened.State.Run
	var died time.Time
	told := make(chan string, 10)
	over := make(chan error, 1)
	go func() {
		_, err := drive(t.Context(), temporal.CoreVersion, p, opened.Lease, opened.State, opened.First, runs.Options{
			Unserved: func(what string) { told <- what },
			Watch: watcher{func(e work.Event) {
				if e.Kind != work.IterationFinished || !died.IsZero() {
					return
				}
				if out, code := f.says("release", run); code != 2 || !strings.Contains(out, "is worked on") {
					t.Errorf("release of a run that is worked on: exit code %d\n%s", code, out)
				}
				died = time.Now()
				f.kill(old)
			}},
		}, quick())
		over <- err
	}()
	what := ""
	for !strings.Contains(what, "no worker") {
		select {
		case what = <-told:
		case <-time.After(90 * time.Second):
			t.Fatal("nobody said that the run has no worker")
		}
	}
	if took := time.Since(died); took > time.Minute {
		t.Errorf("it is said after %s, want a minute at most", took.Round(time.Second))
	}
	f.workerOf("2")
	newer := &temporal.Engine{Client: dialTests(t, s), Queues: queuesOf(t, p), Core: "2"}
	if what := newer.Stalled(t.Context(), run); !strings.Contains(what, "version 1 of the core") || !strings.Contains(what, "forge-temporal release "+run) {
		t.Errorf("a newer program says of the run: %q", what)
	}
	if out, code := f.says("release", run); code != 0 {
		t.Fatalf("release: exit code %d\n%s", code, out)
	}
	if err := <-over; err == nil {
		t.Error("who watched the run was not told that it was let go of")
	}
	if out, code := f.says("release", run); code != 2 || !strings.Contains(out, "forge resume") {
		t.Errorf("release of a run that was let go of: exit code %d\n%s", code, out)
	}
	state, _, err := p.LoadRun(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	lease, err := p.Journal.AcquireRun(t.Context(), run, journal.Self())
	if err != nil {
		t.Fatal(err)
	}
	end, err := drive(t.Context(), "2", p, lease, state, orchestrator.Resumed{RunResumedData: orchestrator.RunResumedData{By: "test"}}, runs.Options{}, quick())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := phases(state, end), "completed, 01 done 1 1, 02 done 2 2, 03 done 1 1"; got != want {
		t.Errorf("the run ended as %s, want %s", got, want)
	}
	once(t, p, run)
}
