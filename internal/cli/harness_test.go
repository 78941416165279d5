package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/agent"
	"forge/internal/pace"
	"forge/internal/proc"
	"forge/internal/project/projecttest"
	"forge/internal/work"
)

var _ = pace.OnlyBeside("a run for each test, most of whose time is git's")

// TestMain lets this test binary be what Forge starts itself as: the landlock
// helper, and the player of scripted agents; and Forge itself, where a whole
// process is needed to be killed.
func TestMain(m *testing.M) {
	proc.SandboxChild()
	agent.Child()
	if os.Getenv(playForge) != "" {
		app, err := New()
		if err != nil {
			panic(err)
		}
		os.Exit(app.Run(context.Background(), os.Args[1:]))
	}
	os.Exit(m.Run())
}

// playForge makes the test binary behave as forge.
const playForge = "FORGE_TEST_PLAY"

// detected is which sandboxes work here, tried once: the hundreds of commands of
// these tests would start thousands of programs to find out the same.
var detected = func() func(context.Context) proc.Capabilities {
	once := sync.OnceValue(func() proc.Capabilities { return proc.Detect(context.Background()) })
	return func(context.Context) proc.Capabilities { return once() }
}()

// world is a project of its own, with a home, a state folder and a repository
// with one commit. Commands run in it as in a process of their own.
type world struct {
	t     *testing.T
	root  string // the checkout
	home  string
	state string // the state folder
	env   []string
}

// newWorld makes a project whose agent is script (see the script agent's file
// format) and whose verify commands are verify. Without a sandbox, which the
// tests of agents cover: here it would only cost time.
func newWorld(t *testing.T, script string, verify ...string) *world {
	t.Helper()
	top := t.TempDir()
	w := &world{t: t, root: filepath.Join(top, "project"), home: filepath.Join(top, "home"), state: filepath.Join(top, "state")}
	w.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "USER=tester", "TMPDIR=" + os.TempDir(),
		"FORGE_STATE_DIR=" + w.state, "GIT_CONFIG_NOSYSTEM=1", "LANG=C",
	}
	w.write(filepath.Join(w.home, ".config/forge/config.toml"), "[sandbox]\nmode = \"off\"\n")
	w.write(filepath.Join(w.home, ".gitconfig"), "[user]\nname = Test\nemail = test@example.invalid\n[init]\ndefaultBranch = main\n[maintenance]\nauto = false\n")
	projecttest.Repository(t, w.root, w.env)
	w.write(".forge/spec.md", "Write the files that the phases name.\n")
	w.write(".forge/agent.toml", script)
	w.configure("", verify...)
	return w
}

// configure writes forge.toml anew, with more sections after the usual ones.
func (w *world) configure(more string, verify ...string) {
	w.t.Helper()
	quoted := make([]string, 0, len(verify))
	for _, v := range verify {
		quoted = append(quoted, fmt.Sprintf("%q", v))
	}
	w.write(".forge/forge.toml", "[project]\nname = \"demo\"\n[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"script\"\nfile = \".forge/agent.toml\"\n"+
		"[verify]\ncommands = ["+strings.Join(quoted, ", ")+"]\n"+more)
}

// plan writes phases.json.
func (w *world) plan(phases ...work.Phase) {
	w.t.Helper()
	text, err := json.MarshalIndent(work.Plan{Phases: phases}, "", "  ")
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(".forge/phases.json", string(text)+"\n")
}

// phase is a phase whose promise is "PHASE <number> DONE".
func phase(number, name string, budget int, after ...string) work.Phase {
	return work.Phase{Number: number, Name: name, Promise: "PHASE " + number + " DONE", Budget: budget, DependsOn: after}
}

// done is a step of a script in which a phase writes a file and keeps its
// promise.
func done(number string) string {
	return fmt.Sprintf("[[step]]\nphase = %q\ndo = [{write = \"out-%s.txt\", content = \"made by %s\\n\"}, {print = \"<promise>PHASE %s DONE</promise>\"}]\n", number, number, number, number)
}

// write makes a file, relative to the checkout unless absolute.
func (w *world) write(path, content string) {
	w.t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.root, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// exists says whether there is a file, relative to the checkout unless absolute.
func (w *world) exists(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(w.root, path)
	}
	_, err := os.Lstat(path)
	return err == nil
}

// git runs git in the checkout and returns what it prints, trimmed.
func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = w.root, w.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// ended is what came of one command.
type ended struct {
	t      *testing.T
	args   []string
	code   int
	stdout string
	stderr string
}

// forge carries out one command line in the checkout, without a terminal.
func (w *world) forge(args ...string) ended {
	w.t.Helper()
	return w.call(context.Background(), "", args...)
}

// fed is forge with text on its standard input.
func (w *world) fed(stdin string, args ...string) ended {
	w.t.Helper()
	return w.call(context.Background(), stdin, args...)
}

func (w *world) call(ctx context.Context, stdin string, args ...string) ended {
	w.t.Helper()
	var stdout, stderr safeBuffer
	app := &App{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr, Environ: w.env, Dir: w.root, Now: time.Now, Detect: detected}
	code := app.Run(ctx, args)
	return ended{t: w.t, args: args, code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// started is a command that runs beside the test.
type started struct {
	stdout, stderr *safeBuffer
	stop           context.CancelFunc
	over           chan struct{}
	end            ended // once over is closed
}

// begin starts a command beside the test; stop is the first Ctrl-C. It has
// ended when the test has.
func (w *world) begin(args ...string) *started {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	s := &started{stdout: &safeBuffer{}, stderr: &safeBuffer{}, stop: cancel, over: make(chan struct{})}
	app := &App{Stdin: strings.NewReader(""), Stdout: s.stdout, Stderr: s.stderr, Environ: w.env, Dir: w.root, Now: time.Now, Detect: detected}
	go func() {
		defer close(s.over)
		code := app.Run(ctx, args)
		s.end = ended{t: w.t, args: args, code: code, stdout: s.stdout.String(), stderr: s.stderr.String()}
	}()
	w.t.Cleanup(func() {
		cancel()
		<-s.over
	})
	return s
}

func (s *started) wait() ended {
	<-s.over
	return s.end
}

// eventually waits until cond holds; it gives up after a time that only a
// hanging program needs.
func (w *world) eventually(what string, cond func() bool) {
	w.t.Helper()
	for deadline := time.Now().Add(60 * time.Second); !cond(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.t.Fatalf("never: %s", what)
		}
	}
}

// want checks the exit code.
func (e ended) want(code int) ended {
	e.t.Helper()
	if e.code != code {
		e.t.Fatalf("forge %s: exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", strings.Join(e.args, " "), e.code, code, e.stdout, e.stderr)
	}
	return e
}

// says checks that stdout holds every text.
func (e ended) says(texts ...string) ended {
	e.t.Helper()
	for _, text := range texts {
		if !strings.Contains(e.stdout, text) {
			e.t.Errorf("forge %s: stdout does not hold %q:\n%s", strings.Join(e.args, " "), text, e.stdout)
		}
	}
	return e
}

// warns checks that stderr holds every text.
func (e ended) warns(texts ...string) ended {
	e.t.Helper()
	for _, text := range texts {
		if !strings.Contains(e.stderr, text) {
			e.t.Errorf("forge %s: stderr does not hold %q:\n%s", strings.Join(e.args, " "), text, e.stderr)
		}
	}
	return e
}

// json reads stdout as one JSON value that has no field which into lacks.
func (e ended) json(into any) ended {
	e.t.Helper()
	d := json.NewDecoder(strings.NewReader(e.stdout))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		e.t.Fatalf("forge %s: %v in\n%s", strings.Join(e.args, " "), err, e.stdout)
	}
	return e
}

// safeBuffer may be read while a command writes to it.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
