// Package demo plays a day on several machines: a Temporal server, a journal in Postgres
// where there is one, two workers and a factory do six issues; one of each is killed
// meanwhile; and what came of it is checked.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"forge/cmd/forge-temporal/internal/postgres/cluster"
	"forge/internal/refusal"
)

// Patience bounds the whole day: that a worker died is noticed after half a minute.
const Patience = 8 * time.Minute

// issues are done in it.
const issues = 6

// Options are what a day is played with.
type Options struct {
	Program string   // forge-temporal, by its path
	Environ []string // with the PATH on which Temporal's program is
	Keep    string   // the folder in which it is made and kept; "" = a temporary one that is removed
	Out     io.Writer
}

// ErrBroken says that something was not as it must be; what, was said.
var ErrBroken = errors.New("not everything was as it must be")

// Play plays a day. What there is of it is kept where something was not as it must be.
func Play(ctx context.Context, o Options) error {
	path := variable(o.Environ, "PATH")
	temporal, err := find(path, "temporal")
	if err != nil {
		return refusal.New("install Temporal's command line, which has a server for trying things out", "the program temporal is not on the PATH")
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	d, err := newDay(o, temporal, path)
	if err != nil {
		return err
	}
	err = d.play(ctx)
	d.stop()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("the demo was ended after %v", Patience)
	}
	if err != nil || d.broken {
		d.say("Everything is kept in %s; what each program said is in %s.", d.dir, d.at("log"))
	} else if o.Keep == "" {
		err = os.RemoveAll(d.dir)
	} else {
		d.say("Everything is kept in %s.", d.dir)
	}
	if err == nil && d.broken {
		err = ErrBroken
	}
	return err
}

// day is the machines of a play, which are all this one.
type day struct {
	Options
	temporal, dir, port string
	env                 []string
	began               time.Time
	started             []*process
	postgres            *cluster.Cluster // nil = the journal is a file
	broken              bool
}

func newDay(o Options, temporal, path string) (*day, error) {
	dir, err := o.Keep, error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp("", "forge-machines-")
	} else if dir, err = filepath.Abs(dir); err == nil {
		if all, _ := os.ReadDir(dir); len(all) > 0 {
			return nil, refusal.New("name a folder that is not there yet", "%s is not empty", dir)
		}
	}
	if err != nil {
		return nil, err
	}
	d := &day{Options: o, temporal: temporal, dir: dir, began: time.Now()}
	for _, name := range []string{"bin", "home", "log", "project/.forge", "home/.config/forge"} {
		if err := os.MkdirAll(d.at(name), 0o755); err != nil {
			return nil, err
		}
	}
	d.env = []string{
		"PATH=" + path, "HOME=" + d.at("home"), "XDG_CONFIG_HOME=" + d.at("home/.config"), "USER=forge", "NO_COLOR=1",
		"FORGE_STATE_DIR=" + d.at("state"), "GIT_CONFIG_NOSYSTEM=1", "TMPDIR=" + os.TempDir(),
		"GIT_AUTHOR_NAME=Forge", "GIT_AUTHOR_EMAIL=demo@example.invalid", "GIT_COMMITTER_NAME=Forge", "GIT_COMMITTER_EMAIL=demo@example.invalid",
	}
	d.port, err = cluster.FreePort()
	return d, err
}

func (d *day) at(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

func (d *day) say(format string, args ...any) {
	fmt.Fprintf(d.Out, "%6.1f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// holds says whether something is as it must be.
func (d *day) holds(is bool, what string, args ...any) {
	mark := "✓"
	if !is {
		mark, d.broken = "✗", true
	}
	d.say(mark+" "+what, args...)
}

// agentScript is an agent that takes two seconds for a file, and says that it was called.
const agentScript = `echo "$FORGE_PHASE_NAME" >>%[1]s/calls
sleep 2
echo made >>"$FORGE_PHASE_NAME.txt"
echo "<promise>ISSUE ${FORGE_PHASE_NAME#thing} DONE</promise>"
`

// project makes the repository, and what its machines are configured with.
func (d *day) project() error {
	engine := "[sandbox]\nmode = \"off\"\n[engine]\nkind = \"temporal\"\naddress = \"127.0.0.1:" + d.port + "\"\n"
	if d.postgres != nil {
		engine += "[store]\nurl_env = \"DEMO_DATABASE\"\n"
		d.env = append(d.env, "DEMO_DATABASE="+d.postgres.URL("postgres", ""))
	}
	for name, text := range map[string]string{
		"agent.sh": fmt.Sprintf(agentScript, d.dir), "home/.config/forge/config.toml": engine, "project/start.txt": "here\n",
		"project/.forge/forge.toml": fmt.Sprintf("[agent]\nuse = \"mine\"\n[agents.mine]\nkind = \"exec\"\ncommand = [\"sh\", %q]\n[factory]\ndefault_policy = \"full\"\ntriage = \"off\"\nmax_running = 2\n[verify]\ncommands = [\"test -f start.txt\"]\n[proof]\ncontrols = false\nproduct = [\"*.txt\"]\n", d.at("agent.sh")),
	} {
		if err := os.WriteFile(d.at(name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"commit", "-q", "-m", "start"}} {
		if _, err := d.output("git", args...); err != nil {
			return err
		}
	}
	return nil
}

// output is what a program prints in the project.
func (d *day) output(program string, args ...string) (string, error) {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = d.at("project"), d.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// play is the story.
func (d *day) play(ctx context.Context) (err error) {
	where := "a file: there is no Postgres here"
	if bin := cluster.Programs(variable(d.env, "PATH")); bin != "" {
		if d.postgres, err = cluster.New(bin); err != nil {
			return err
		}
		where = "Postgres"
	}
	if err := d.project(); err != nil {
		return err
	}
	d.say("a Temporal server, two workers and a factory for %d issues; the journal is in %s", issues, where)
	server, err := d.server(ctx)
	if err != nil {
		return err
	}
	if _, err := d.output(d.Program, "setup"); err != nil {
		return err
	}
	worker, err := d.start("worker-1", d.Program, "worker")
	if err != nil {
		return err
	}
	if _, err = d.start("worker-2", d.Program, "worker"); err != nil {
		return err
	}
	for n := range issues {
		if _, err := d.output(d.Program, "issue", "add", fmt.Sprint("thing", n+1), "--column", "ready"); err != nil {
			return err
		}
	}
	factory := func(name string) (*process, error) {
		return d.start(name, d.Program, "factory", "--listen", "off")
	}
	hall, err := factory("factory")
	if err != nil {
		return err
	}

	if err := d.until(ctx, "the first agent works", func() bool { return d.calls("thing1") > 0 }); err != nil {
		return err
	}
	d.kill("a worker", worker)
	if _, err := d.start("worker-3", d.Program, "worker"); err != nil {
		return err
	}
	if err := d.landed(ctx, 1); err != nil {
		return err
	}
	d.kill("Temporal's server", server)
	time.Sleep(2 * time.Second)
	if _, err = d.server(ctx); err != nil {
		return err
	}
	if err := d.landed(ctx, 2); err != nil {
		return err
	}
	if d.postgres != nil {
		d.postgres.Stop(syscall.SIGQUIT)
		d.say("Postgres is stopped at once, with no time to tidy up")
		if err := d.postgres.Up(); err != nil {
			return err
		}
		d.say("  and is there again")
	}
	if err := d.landed(ctx, 3); err != nil {
		return err
	}
	d.kill("the factory", hall)
	if _, err := factory("factory-2"); err != nil {
		return err
	}
	if err := d.landed(ctx, issues); err != nil {
		return err
	}
	return d.judge()
}

// judge looks at what came of it.
func (d *day) judge() error {
	log, err := d.output("git", "log", "--no-merges", "--format=%s", "forge/landed")
	if err != nil {
		return err
	}
	once, agents := 0, 0
	for n := range issues {
		name := fmt.Sprint("thing", n+1)
		text, err := d.output("git", "show", "forge/landed:"+name+".txt")
		if err == nil && text == "made\n" && strings.Count("\n"+log, "\n"+name+"\n") == 1 {
			once++
		}
		agents += d.calls(name)
	}
	d.holds(once == issues, "%d of %d issues are on forge/landed, each once, with what its agent made once", once, issues)
	d.holds(agents >= issues && agents <= issues+2, "agents were called %d times: what a killed worker had begun is done again, and nothing else", agents)
	_, err = d.output(d.Program, "audit", "verify")
	d.holds(err == nil, "the journal is whole: forge audit verify")
	return nil
}

// calls is how often agents were called for an issue.
func (d *day) calls(title string) int {
	text, _ := os.ReadFile(d.at("calls"))
	return strings.Count(string(text), title+"\n")
}

// landed waits until so many issues are on the branch for them.
func (d *day) landed(ctx context.Context, n int) error {
	return d.until(ctx, fmt.Sprintf("%d of %d issues are done", n, issues), func() bool {
		out, _ := d.output("git", "ls-tree", "--name-only", "forge/landed")
		return strings.Count(out, "thing") >= n
	})
}

// until waits for something, and says that it came.
func (d *day) until(ctx context.Context, what string, is func() bool) error {
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	d.say("%s", what)
	return nil
}

// server starts Temporal's, with what it knows in a file, and waits until it listens.
func (d *day) server(ctx context.Context) (*process, error) {
	p, err := d.start("temporal", d.temporal, "server", "start-dev", "--headless", "--ip", "127.0.0.1", "--port", d.port, "--db-filename", d.at("temporal.db"), "--log-level", "error")
	if err != nil {
		return nil, err
	}
	return p, d.until(ctx, "Temporal's server listens", func() bool {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:"+d.port, time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
}

// process is a program of a machine.
type process struct {
	cmd  *exec.Cmd
	over chan struct{}
}

// start starts a program, and keeps what it says.
func (d *day) start(name, program string, args ...string) (*process, error) {
	log, err := os.OpenFile(filepath.Join(d.at("log"), name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{cmd: exec.Command(program, args...), over: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = d.at("project"), d.env, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demo, which ends them
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.over)
		_ = p.cmd.Wait()
	}()
	d.started = append(d.started, p)
	return p, nil
}

// kill kills a program, and nothing that it started.
func (d *day) kill(what string, p *process) {
	_ = p.cmd.Process.Kill()
	<-p.over
	d.say("kill -9 %d: %s", p.cmd.Process.Pid, what)
}

// stop ends all that still goes on: those that are asked to, the servers last.
func (d *day) stop() {
	for n := len(d.started) - 1; n >= 0; n-- {
		p := d.started[n]
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.over:
		case <-time.After(10 * time.Second):
			_ = p.cmd.Process.Kill()
			<-p.over
		}
	}
	if d.postgres != nil {
		if err := d.postgres.Remove(); err != nil {
			d.say("remove Postgres: %v", err)
		}
	}
}

func variable(environ []string, name string) (value string) {
	for _, v := range environ {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			value = rest
		}
	}
	return value
}

// find is a program on a PATH.
func find(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}
