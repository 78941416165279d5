//go:build real

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/pace"
)

const travelPlan = `{"phases": [
{"number": "01", "name": "one", "promise": "ONE", "verify": ["test -f one.txt"]},
{"number": "02", "name": "left", "promise": "LEFT", "depends_on": ["01"], "verify": ["test -f left2.txt"]},
{"number": "03", "name": "right", "promise": "RIGHT", "depends_on": ["01"], "verify": ["test -f right.txt"]}]}`

const travelScript = `
[[step]]
phase = "01"
do = [ { write = "one.txt", content = "1\n", append = true }, { sleep = "500ms" }, { print = "<promise>ONE</promise>" } ]
[[step]]
phase = "02"
iteration = 1
do = [ { write = "left.txt", content = "l\n", append = true }, { print = "not yet" } ]
[[step]]
phase = "02"
iteration = 2
do = [ { write = "left2.txt", content = "l\n", append = true }, { sleep = "4s" }, { print = "<promise>LEFT</promise>" } ]
[[step]]
phase = "03"
do = [ { write = "right.txt", content = "r\n", append = true }, { sleep = "1s" }, { print = "<promise>RIGHT</promise>" } ]
`

// company is a person's machine and workers without a checkout, over one repository.
type company struct {
	*station
	at, engine string
	workers    []*process
}

func newCompany(t *testing.T, s *testsuite.DevServer, cluster *pgtest.Cluster) *company {
	t.Helper()
	m := newMachine(t, "")
	m.install("forge-temporal")
	for name, text := range map[string]string{
		".forge/phases.json": travelPlan, "script.toml": travelScript,
		".forge/forge.toml": settings + "[defaults]\nmax_parallel = 2\n[proof]\nproduct = [\"**\"]\ncontrols = false\n",
	} {
		if err := os.WriteFile(filepath.Join(m.root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m.git("commit", "-qam", "a plan")
	c := &company{at: filepath.Join(t.TempDir(), "team.git")}
	m.git("init", "-q", "--bare", "-b", "main", c.at)
	c.station = m.with("TEAM_DB="+cluster.Schema(t), "PROXY_PASSWORD=hunter2")
	c.engine = inPostgres + "[sandbox]\nmode = \"off\"\n[worker]\nslots = 1\ndrain_secs = 5\n[engine]\nkind = \"temporal\"\ntakeover_secs = 2\naddress = \"" + s.FrontendHostPort() + "\"\n"
	c.configure(c.engine + "objects = \"" + c.at + "\"\n")
	setup := c.start("forge-temporal", "setup")
	<-setup.over
	return c
}

// worker is one on a machine of its own: another home, another state folder, no checkout.
func (c *company) worker(more ...string) *process {
	c.Helper()
	dir := c.TempDir()
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, ".config", "forge"), 0o755); err != nil {
		c.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".config", "forge", "config.toml"), []byte(c.engine), 0o600); err != nil {
		c.Fatal(err)
	}
	other := c.with("HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "FORGE_STATE_DIR="+filepath.Join(dir, "state"))
	other.root = dir
	p := other.start("forge-temporal", append([]string{"worker", "--mirror", c.at}, more...)...)
	p.until("it serves", func() bool { return strings.Contains(p.said(), "serves") })
	c.workers = append(c.workers, p)
	return p
}

// has says whether there is something in the state folder of a worker.
func (p *process) has(pattern string) bool {
	found, _ := filepath.Glob(filepath.Join(p.root, "state", "runs", "*", filepath.FromSlash(pattern)))
	return len(found) > 0
}

// at is the worker that has something, when one has.
func (c *company) has(run *process, pattern string) (at *process) {
	c.Helper()
	run.until("a worker has "+pattern, func() bool {
		for _, w := range c.workers {
			if w.has(pattern) {
				at = w
			}
		}
		return at != nil
	})
	return at
}

// came is what a run of the plan comes to: the tree that is checked out.
func (c *company) came(run *process) string {
	c.Helper()
	<-run.over
	if code := run.cmd.ProcessState.ExitCode(); code != 0 || !strings.Contains(run.said(), `"outcome":"completed"`) {
		c.Fatalf("exit code %d\n%s", code, run.said())
	}
	c.forge(0, "", "audit", "verify")
	return c.git("ls-tree", "-r", "HEAD")
}

// Two workers that have neither a checkout nor a folder in common drive a run over one
// repository. One that is killed in the middle of an iteration changes nothing of what
// comes of it; nor does one that stands still, is taken over and goes on: its push is
// refused, and said. A repository that is away is waited for, and said.
func TestRealObjectsTravel(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "real servers; that a worker is silent is noticed after 30 seconds")
	s, cluster := temporalServer(t), pgtest.Start(t)
	trees := make(chan string, 4)
	t.Run("stories", func(t *testing.T) {
		for name, story := range map[string]func(c *company, run *process){
			"undisturbed": func(*company, *process) {},
			"killed": func(c *company, run *process) {
				c.has(run, "phases/02/left2.txt").end(syscall.SIGKILL)
			},
			"stopped": func(c *company, run *process) {
				orphan := c.has(run, "phases/02/left2.txt")
				_ = orphan.cmd.Process.Signal(syscall.SIGSTOP)
				<-run.over
				_ = orphan.cmd.Process.Signal(syscall.SIGCONT)
				orphan.until("its push is refused", func() bool { return strings.Contains(orphan.said(), "taken over by another worker") })
			},
			"repository away": func(c *company, run *process) {
				at := c.has(run, "phases/02/left2.txt")
				if err := os.Rename(c.at, c.at+".away"); err != nil {
					c.Fatal(err)
				}
				at.until("it says that the repository is away", func() bool { return strings.Contains(at.said(), "does not answer") })
				if err := os.Rename(c.at+".away", c.at); err != nil {
					c.Fatal(err)
				}
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newCompany(t, s, cluster)
				one, two := c.worker(), c.worker()
				run := c.start("forge", "run", "--autonomous", "--output", "json")
				story(c, run)
				tree := c.came(run)
				if !one.has("logs/*") || !two.has("logs/*") {
					t.Error("one of the two did nothing")
				}
				if left2 := c.git("show", "HEAD:left2.txt"); left2 != "l\n" {
					t.Errorf("an iteration counts twice: %q", left2)
				}
				for _, p := range append(c.workers, run) {
					if strings.Contains(p.said(), "hunter2") {
						t.Errorf("a log holds a secret:\n%s", p.said())
					}
				}
				trees <- tree
			})
		}
	})
	close(trees)
	want := ""
	for tree := range trees {
		if want == "" {
			want = tree
		}
		if tree != want {
			t.Errorf("the trees differ:\n%s\n%s", want, tree)
		}
	}
	if n := strings.Count(want, "\n"); n < 7 {
		t.Errorf("there are only %d files:\n%s", n, want)
	}
}

// A run is worked on by workers each of which ends after one effect, as a pod for each
// effect does, and decided by another: what comes of it is the same, and none does two. One that is told to stop
// has no longer than any other.
func TestRealWorkersOfOneEffect(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "real servers, and a worker for each effect")
	s, cluster := temporalServer(t), pgtest.Start(t)
	c := newCompany(t, s, cluster)
	pod := func() *process { return c.worker("--effects", "1") }
	c.worker("--decide")
	pods, ended := []*process{pod(), pod()}, 0
	run := c.start("forge", "run", "--autonomous", "--output", "json")
	for going := true; going; {
		for i, p := range pods {
			select {
			case <-run.over:
				going = false
			case <-p.over:
				if code := p.cmd.ProcessState.ExitCode(); code != 0 {
					t.Errorf("exit code %d\n%s", code, p.said())
				}
				ended++
				pods[i] = pod()
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
	c.came(run)
	if left2 := c.git("show", "HEAD:left2.txt"); left2 != "l\n" {
		t.Errorf("an iteration counts twice: %q", left2)
	}
	if n := strings.Count(run.said(), `"kind":"iteration.finished"`); n != 4 || ended < n {
		t.Errorf("%d workers ended, and there were %d iterations; want 4 of them, each by another worker", ended, n)
	}
	for _, p := range c.workers {
		if logs, _ := filepath.Glob(filepath.Join(p.root, "state", "runs", "*", "logs", "*.log")); len(logs) > 1 {
			t.Errorf("a worker of one effect did %q", logs)
		}
	}

	long := strings.Replace(travelScript, "500ms", "10m", 1)
	if err := os.WriteFile(filepath.Join(c.root, "script.toml"), []byte(long), 0o644); err != nil {
		t.Fatal(err)
	}
	c.git("commit", "-qam", "it takes long")
	run = c.start("forge", "run", "--autonomous", "--new", "--output", "json")
	at := c.has(run, "phases/01/one.txt")
	began := time.Now()
	at.end(syscall.SIGTERM)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("told to stop, it took %s; worker.drain_secs is 5", took)
	}
	c.refused("--effects is -1", "worker", "--effects", "-1")
	c.refused("--effects is 1", "worker", "--effects", "1", "--decide")
}

// What keeps a worker without a checkout, or a run, from beginning is one error.
func TestRealObjectsRefused(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "two real servers")
	s, cluster := temporalServer(t), pgtest.Start(t)
	c := newCompany(t, s, cluster)
	refused := c.refused
	refused("holds a user or a password", "worker", "--mirror", "https://robot:hunter2@127.0.0.1:1/x.git")
	refused("cannot be asked", "worker", "--mirror", c.at+".none")
	refused("there is no run", "bring", "none")
	c.configure(strings.Replace(c.engine, inPostgres, "", 1))
	refused("no journal of its own", "worker", "--mirror", c.at)
	c.configure(c.engine + "objects = \"https://hunter2@127.0.0.1:1/x.git\"\n")
	refused("holds a user or a password", "worker")
	for _, at := range []string{"nowhere", c.at + ".none"} {
		c.configure(c.engine + fmt.Sprintf("objects = %q\n", at))
		c.forge(2, "the repository for git objects is not reached", "run", "--autonomous")
	}
	refused("not reached", "worker")
}

// refused is a command of forge-temporal that does not begin, and says why.
func (c *company) refused(want string, args ...string) {
	c.Helper()
	p := c.start("forge-temporal", args...)
	<-p.over
	if code := p.cmd.ProcessState.ExitCode(); code != 2 || !strings.Contains(p.said(), want) || strings.Contains(p.said(), "hunter2") {
		c.Errorf("forge-temporal %v: exit code %d, want 2 and %q\n%s", args, code, want, p.said())
	}
}

// A factory has its issues driven by a worker that has no checkout, and lands what it
// made: also of a run that came to its end while no factory was there.
func TestRealFactoryWithObjects(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "two real servers, a factory and a worker")
	s, cluster := temporalServer(t), pgtest.Start(t)
	c := newCompany(t, s, cluster)
	agent := filepath.Join(c.bin, "agent.sh")
	script := "n=${FORGE_PHASE_NAME#thing}\necho made >>\"$FORGE_PHASE_NAME.txt\"\nsleep 2\necho \"<promise>ISSUE $n DONE</promise>\"\n"
	config := fmt.Sprintf("[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n[factory]\ndefault_policy = \"full\"\ntriage = \"off\"\nmax_running = 1\n[verify]\ncommands = [\"test -f script.toml\"]\n", agent)
	for path, text := range map[string]string{agent: script, filepath.Join(c.root, ".forge", "forge.toml"): config} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.git("commit", "-qam", "factory")
	write := func(n string) { c.forge(0, "", "issue", "add", "thing"+n, "--column", "ready") }
	write("1")
	worker := c.worker()
	server := c.start("forge", "factory", "--listen", "off")
	server.until("the first is landed", func() bool { return c.landed(1) })
	write("2")
	server.until("the second agent works", func() bool { return worker.has("phases/*/thing2.txt") })
	server.end(syscall.SIGKILL)
	worker.until("the second run is over without a factory", func() bool {
		look, out := c.command("status", "--all")
		_ = look.Run()
		return strings.Count(out.String(), "completed") == 2
	})
	server = c.start("forge", "factory", "--listen", "off")
	server.until("both are landed", func() bool { return c.landed(2) })
	for _, n := range []string{"1", "2"} {
		if got := c.git("show", "forge/landed:thing"+n+".txt"); got != "made\n" {
			t.Errorf("thing %s is %q, want what its agent made once", n, got)
		}
	}
	c.forge(0, "", "audit", "verify")
}
