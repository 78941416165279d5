//go:build real

package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/pace"
)

// temporalServer is a real one.
func temporalServer(t *testing.T) *testsuite.DevServer {
	t.Helper()
	s, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath: os.Getenv("FORGE_REAL_TEMPORAL"), LogLevel: "error", Stdout: io.Discard, Stderr: io.Discard, ClientOptions: &client.Options{},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

// process is one that a test kills, with what it said in a file.
type process struct {
	*station
	cmd  *exec.Cmd
	log  string
	over chan struct{}
}

// start starts a program of the station's.
func (m *station) start(program string, args ...string) *process {
	m.Helper()
	p := &process{station: m, log: filepath.Join(m.TempDir(), "log"), over: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		m.Fatal(err)
	}
	defer out.Close()
	p.cmd = exec.Command(filepath.Join(m.bin, program), args...)
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = m.root, m.env, out, out
	if err := p.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait()
	}()
	m.Cleanup(func() {
		p.end(syscall.SIGKILL)
		if m.Failed() {
			m.Logf("%s %s:\n%s", program, strings.Join(args, " "), p.said())
		}
	})
	return p
}

func (p *process) end(how syscall.Signal) {
	_ = p.cmd.Process.Signal(how)
	<-p.over
}

func (p *process) said() string {
	text, _ := os.ReadFile(p.log)
	return string(text)
}

// until waits for something, for as long as the process lives.
func (p *process) until(what string, is func() bool) {
	p.Helper()
	for began := time.Now(); !is(); {
		select {
		case <-p.over:
			p.Fatalf("waiting until %s: it has ended:\n%s", what, p.said())
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(began) > 3*time.Minute {
			p.Fatalf("it does not come about that %s", what)
		}
	}
}

// The factory's issues are driven by a worker on Temporal: whichever of the two is
// killed while an agent works, and while a result is brought in, each issue is landed
// once, with what its agent made once. A factory that is stopped leaves its runs going.
func TestRealFactoryOnTemporal(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "a real server; a worker's death is noticed after 30 seconds")
	s := temporalServer(t)
	m := newMachine(t, "")
	m.install("forge-temporal")
	calls := filepath.Join(t.TempDir(), "calls")
	agent := filepath.Join(m.bin, "agent.sh")
	script := "echo \"$FORGE_PHASE_NAME\" >>" + calls + "\nsleep 2\nn=${FORGE_PHASE_NAME#thing}\necho made >>\"$FORGE_PHASE_NAME.txt\"\necho \"<promise>ISSUE $n DONE</promise>\"\n"
	config := fmt.Sprintf("[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n[factory]\ndefault_policy = \"full\"\ntriage = \"off\"\nmax_running = 1\n[verify]\ncommands = [\"test -f script.toml\"]\n", agent)
	for path, text := range map[string]string{agent: script, filepath.Join(m.root, ".forge", "forge.toml"): config} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.git("commit", "-qam", "factory")
	m.configure("[sandbox]\nmode = \"off\"\n[engine]\nkind = \"temporal\"\naddress = \"" + s.FrontendHostPort() + "\"\n")
	setup := m.start("forge-temporal", "setup")
	<-setup.over
	for n := range 3 {
		m.forge(0, "", "issue", "add", fmt.Sprint("thing", n+1), "--column", "ready")
	}

	// called is how often agents were called for something.
	called := func(what string) int {
		text, _ := os.ReadFile(calls)
		return strings.Count(string(text), what+"\n")
	}
	worker, server := m.start("forge-temporal", "worker"), m.start("forge", "factory", "--listen", "off")
	server.until("the first agent works", func() bool { return called("thing1") > 0 })
	server.end(syscall.SIGKILL)
	over := func(run string) func() bool {
		return func() bool {
			look, out := m.command("status")
			_ = look.Run()
			return strings.Contains(out.String(), run) && strings.Contains(out.String(), "completed")
		}
	}
	worker.until("the first run is over without a factory", over("i1-"))
	if n := called("thing1"); n != 1 {
		t.Errorf("the agent of a run whose factory died was called %d times, want 1", n)
	}
	server = m.start("forge", "factory", "--listen", "off")
	server.until("the second agent works", func() bool { return called("thing2") > 0 })
	worker.end(syscall.SIGKILL)
	worker = m.start("forge-temporal", "worker")
	server.until("the third agent works", func() bool { return called("thing3") > 0 })
	server.end(syscall.SIGTERM)
	worker.until("the third run is over without a factory", over("i3-"))
	server = m.start("forge", "factory", "--listen", "off")
	server.until("all is landed", func() bool { return m.landed(3) })
	for n := range 3 {
		name := fmt.Sprintf("thing%d.txt", n+1)
		if got := m.git("show", "forge/landed:"+name); got != "made\n" {
			t.Errorf("%s holds %q, want what its agent made once", name, got)
		}
	}
	if n := called("thing3"); n != 1 {
		t.Errorf("the agent of a run whose factory was stopped was called %d times, want 1", n)
	}
	m.forge(0, "", "audit", "verify")
}

// landed says that the results of so many issues are on the branch for them.
func (m *station) landed(n int) bool {
	cmd := exec.Command("git", "ls-tree", "--name-only", "forge/landed")
	cmd.Dir, cmd.Env = m.root, m.env
	out, _ := cmd.Output()
	return strings.Count(string(out), "thing") == n
}

// git is git in the checkout.
func (m *station) git(args ...string) string {
	m.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = m.root, m.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Postgres is away while a worker's agent works, and for longer than the agent takes:
// what it did is kept, it is called once, and both who watches and the worker say so.
func TestRealTemporalWaitsForPostgres(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "two real servers, one of which is away for longer than an agent works")
	s, cluster := temporalServer(t), pgtest.Start(t)
	m := newMachine(t, `{ sleep = "2s" }, `)
	m.install("forge-temporal")
	m = m.with("TEAM_DB=" + cluster.Schema(t))
	m.configure(inPostgres + "[engine]\nkind = \"temporal\"\naddress = \"" + s.FrontendHostPort() + "\"\n")
	setup := m.start("forge-temporal", "setup")
	<-setup.over
	worker, run := m.start("forge-temporal", "worker"), m.start("forge", "run", "--autonomous", "--output", "json")
	run.until("the agent works", func() bool { return strings.Contains(run.said(), `"kind":"iteration.started"`) })
	cluster.Stop(syscall.SIGQUIT)
	said := func(p *process, what string) {
		t.Helper()
		p.until("it says: "+what, func() bool { return strings.Contains(p.said(), what) })
	}
	said(worker, "does not answer")
	said(run, "does not answer")
	time.Sleep(4 * time.Second) // longer than the agent works
	cluster.Up()
	said(worker, "answers again")
	<-run.over
	if code := run.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(run.said(), `"outcome":"completed"`) {
		t.Fatalf("exit code %d\n%s", code, run.said())
	}
	if n := strings.Count(run.said(), `"kind":"iteration.started"`); n != 1 {
		t.Errorf("%d iterations began, want 1:\n%s", n, run.said())
	}
	m.forge(0, "", "audit", "verify")
}

// What a project requires goes to workers that have it. That none does is said within
// a minute, by who watches and on the board; then one comes, and the issue is done.
func TestRealRequires(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "a real server, which is asked now and then who takes from a queue")
	s := temporalServer(t)
	m := newMachine(t, "")
	m.install("forge-temporal")
	config := strings.Replace(settings, "[verify]", "[defaults]\nrequires = [\"gpu\"]\n[factory]\ndefault_policy = \"full\"\ntriage = \"off\"\n[verify]", 1)
	script := "[[step]]\ndo = [{ write = \"one.txt\", content = \"1\\n\" }, { print = \"<promise>ISSUE 1 DONE</promise>\" }]\n"
	for path, text := range map[string]string{"script.toml": script, ".forge/forge.toml": config} {
		if err := os.WriteFile(filepath.Join(m.root, filepath.FromSlash(path)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.git("commit", "-qam", "requires")
	engine := "[sandbox]\nmode = \"off\"\n[engine]\nkind = \"temporal\"\naddress = \"" + s.FrontendHostPort() + "\"\n"
	m.configure(engine)
	setup := m.start("forge-temporal", "setup")
	<-setup.over
	m.forge(0, "", "issue", "add", "thing1", "--column", "ready")
	m.start("forge-temporal", "worker")
	server := m.start("forge", "factory", "--listen", "off")
	began := time.Now()
	server.until("it says that nobody takes it", func() bool { return strings.Contains(server.said(), "no worker takes from queue") })
	if took := time.Since(began); took > time.Minute {
		t.Errorf("that no worker takes it is said after %s, want a minute at most", took.Round(time.Second))
	}
	server.until("the board says so", func() bool {
		look, out := m.command("factory", "status")
		_ = look.Run()
		return strings.Contains(out.String(), "no worker takes from queue")
	})
	// Who looks at the run hears it as well, at each door.
	for _, door := range [][]string{{"status", "--run", "i1-"}, {"status", "--run", "i1-", "--output", "json"}, {"status", "--all"}, {"status", "--all", "--output", "json"}} {
		m.forge(0, "no worker takes from queue", door...)
	}
	m.configure(engine + "[worker]\nhas = [\"gpu\"]\n")
	m.start("forge-temporal", "worker")
	server.until("it is landed", func() bool { return strings.Contains(server.said(), "done: landed") })
}
