package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"forge/internal/cli"
	"forge/internal/proc"
)

// processesAlone is why a story is not told under the race detector: nothing in
// it happens at the same time but what whole processes do, each of which is
// watched by the tests of its own rooms.
const processesAlone = "only whole processes, one after the other"

// patience is how long a test waits for what only a program that hangs does not
// do, on a machine that is slow and has more to do than this.
const patience = 5 * time.Minute

// checkout is a project of its own, with its own home and state folder, on
// which whole forge processes are let loose.
type checkout struct {
	t    testing.TB
	root string // holds repo, home, state, config
	env  []string
	path string // folder put before the others of PATH, "" = none
	dir  string // where commands start, below root; "" = repo
}

// newCheckout makes a repository of files, committed, and a user configuration
// with the given sandbox mode.
func newCheckout(t testing.TB, sandbox string, files map[string]string) *checkout {
	t.Helper()
	root := t.TempDir()
	c := &checkout{t: t, root: root}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FORGE_") && !strings.HasPrefix(kv, "GIT_") && !strings.HasPrefix(kv, "GITHUB_") {
			c.env = append(c.env, kv)
		}
	}
	c.env = append(c.env, playForge+"=1", "HOME="+filepath.Join(root, "home"), "FORGE_STATE_DIR="+filepath.Join(root, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(root, "config"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid", "CI=true")
	c.write("config/forge/config.toml", "[sandbox]\nmode = \""+sandbox+"\"\n")
	c.write("home/.keep", "")
	for name, text := range files {
		c.write("repo/"+name, text)
		if strings.HasSuffix(name, ".sh") {
			if err := os.Chmod(c.at("repo/"+name), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-qm", "start"}} {
		c.must("git", args...)
	}
	return c
}

func (c *checkout) at(name string) string { return filepath.Join(c.root, filepath.FromSlash(name)) }

func (c *checkout) write(name, text string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.at(name)), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(c.at(name), []byte(text), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *checkout) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = c.at("repo"), c.env
	if c.dir != "" {
		cmd.Dir = c.at(c.dir)
	}
	if c.path != "" {
		cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "PATH="+c.path+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return cmd
}

// must runs a command that has to succeed and returns what it printed.
func (c *checkout) must(name string, args ...string) string {
	c.t.Helper()
	out, err := c.command(name, args...).CombinedOutput()
	if err != nil {
		c.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// forge runs forge to its end and returns what it printed and its exit code.
func (c *checkout) forge(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	var out, errs bytes.Buffer
	cmd := c.command(os.Args[0], args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.t.Fatalf("forge %s: %v", strings.Join(args, " "), err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// quick is forge in the process of the test, for commands that have to come to
// their end and no more: a process for each costs more than most of them do. A
// factory stays a process, since it claims issues as one.
func (c *checkout) quick(args ...string) (stdout, stderr string, code int) {
	c.t.Helper()
	if c.path != "" {
		return c.forge(args...) // a program there may kill who calls it
	}
	var out, errs bytes.Buffer
	cmd := c.command("forge", args...) // for where it starts, and with what
	app := &cli.App{
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Now: time.Now,
		Environ: slices.DeleteFunc(slices.Clone(cmd.Env), func(kv string) bool { return strings.HasPrefix(kv, playForge+"=") }),
		Dir:     cmd.Dir, Detect: detected,
	}
	code = app.Run(context.Background(), args)
	return out.String(), errs.String(), code
}

// detected is which sandboxes work here, tried once for all quick commands.
var detected = func() func(context.Context) proc.Capabilities {
	once := sync.OnceValue(func() proc.Capabilities { return proc.Detect(context.Background()) })
	return func(context.Context) proc.Capabilities { return once() }
}()

// event is one line of --output json.
type event struct {
	Seq       int64           `json:"seq"`
	Run       string          `json:"run"`
	Kind      string          `json:"kind"`
	Phase     string          `json:"phase"`
	Iteration int             `json:"iteration"`
	Attempt   int             `json:"attempt"`
	Data      json.RawMessage `json:"data"`
}

// stream runs forge with --output json and kills it when it has printed event
// number at; 0 = never. died says that it was killed, by us or another.
func (c *checkout) stream(at int64, args ...string) (evs []event, died bool, code int) {
	c.t.Helper()
	return c.streamTo(func(e event) bool { return at != 0 && e.Seq >= at }, args...)
}

// streamTo is stream, and kills forge at each event that dies says so of.
func (c *checkout) streamTo(dies func(event) bool, args ...string) (evs []event, died bool, code int) {
	c.t.Helper()
	var stderr bytes.Buffer
	cmd := c.command(os.Args[0], append(args, "--output", "json")...)
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			c.t.Fatalf("forge printed %q: %v", lines.Text(), err)
		}
		evs = append(evs, e)
		if dies(e) {
			_ = cmd.Process.Kill()
		}
	}
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return evs, true, -1
	}
	if err != nil && cmd.ProcessState.ExitCode() > 1 {
		c.t.Logf("forge %v: %v\n%s", args, err, &stderr)
	}
	return evs, false, cmd.ProcessState.ExitCode()
}

// find is the first event of a kind, of a phase where one is given.
func find(evs []event, kind, phase string) event {
	for _, e := range evs {
		if e.Kind == kind && (phase == "" || e.Phase == phase) {
			return e
		}
	}
	return event{}
}

// ended is how a phase ended, by the events: "outcome reason".
func ended(evs []event, phase string) string {
	got := "never"
	for _, e := range evs {
		var d struct{ Outcome, Reason string }
		if e.Kind == "phase.finished" && e.Phase == phase && json.Unmarshal(e.Data, &d) == nil {
			got = strings.TrimSpace(d.Outcome + " " + d.Reason)
		}
	}
	return got
}
