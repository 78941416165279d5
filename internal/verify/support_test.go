package verify

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"forge/internal/pace"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/work"
)

var _ = pace.OnlyBeside("test runners, and git's time")

func TestMain(m *testing.M) {
	proc.SandboxChild()
	goleak.VerifyTestMain(m)
}

// files is a tree: content by path. "-> x" is a link to x, "!text" an
// executable file.
type files map[string]string

// commits is a small working checkout.
type commits struct {
	mu   sync.Mutex
	all  map[string]files
	fail error
	made int // folders
}

func (c *commits) Materialize(_ context.Context, dir, commit string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
	}
	c.made++
	tree, ok := c.all[commit]
	if !ok {
		return fmt.Errorf("no commit %q", commit)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return tree.write(dir)
}

func (f files) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for p, text := range f {
		p = filepath.Join(dir, filepath.FromSlash(p))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, p); err != nil {
				return err
			}
			continue
		}
		if rest, ok := strings.CutPrefix(text, "!"); ok {
			text, mode = rest, 0o755
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			return err
		}
	}
	return nil
}

// bench is a bench with what is around it.
type bench struct {
	*Bench
	t       *testing.T
	state   string // state folder
	outside string // a folder that commands write their marks to
	commits *commits
	n       int
}

func newBench(t *testing.T, tree files) *bench {
	t.Helper()
	state := t.TempDir()
	b := &bench{
		t: t, state: state, outside: t.TempDir(),
		commits: &commits{all: map[string]files{"c1": tree}},
	}
	b.Bench = New(b.commits, proc.Capabilities{}, environ(t), filepath.Join(state, "cache"), redact.New([]string{"hunter2hunter2"}))
	return b
}

// environ is an environment like a user's, with secrets.
func environ(t *testing.T) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C",
		"MY_API_KEY=hunter2hunter2", "GITHUB_TOKEN=x-token", "PLAIN=plain", "OTHER=other",
		"HTTPS_PROXY=http://user:pw@proxy.invalid:3128", "no_proxy=localhost",
	}
}

// req asks for commands on c1 in the folder of one phase.
func (b *bench) req(commands ...string) work.VerifyRequest {
	return work.VerifyRequest{
		Phase: "01", Dir: filepath.Join(b.state, "verify", "01"), Commit: "c1",
		Commands: commands, Sandbox: work.SandboxSettings{Mode: "off"},
		Hide: []string{b.state}, LogPath: filepath.Join(b.state, "logs", "01.log"),
	}
}

func (b *bench) verify(req work.VerifyRequest) work.CommandsReport {
	b.t.Helper()
	rep, err := b.Verify(b.t.Context(), req, nil)
	if err != nil {
		b.t.Fatalf("Verify: %v", err)
	}
	return rep
}

// green fails the test unless the commands pass.
func (b *bench) green(req work.VerifyRequest) work.CommandsReport {
	b.t.Helper()
	rep := b.verify(req)
	if !rep.OK {
		b.t.Fatalf("not OK: %s\n%+v", rep.Problem, rep.Ran)
	}
	return rep
}

// setup sets up a new folder that holds tree, and returns it.
func (b *bench) setup(tree files, checkout string, w work.Worktree) (string, work.CommandsReport) {
	b.t.Helper()
	b.n++
	dir := filepath.Join(b.state, "phases", fmt.Sprint(b.n))
	if err := tree.write(dir); err != nil {
		b.t.Fatal(err)
	}
	rep, err := b.Setup(b.t.Context(), work.SetupRequest{
		Phase: "01", Dir: dir, Checkout: checkout, Settings: w, Sandbox: work.SandboxSettings{Mode: "off"},
	})
	if err != nil {
		b.t.Fatalf("Setup: %v", err)
	}
	return dir, rep
}

func (b *bench) mustSetup(tree files, checkout string, w work.Worktree) string {
	b.t.Helper()
	dir, rep := b.setup(tree, checkout, w)
	if !rep.OK {
		b.t.Fatalf("setup is not OK: %s\n%+v", rep.Problem, rep.Ran)
	}
	return dir
}

// mark is a command that leaves a line in the file called name.
func (b *bench) mark(name string) string {
	return "echo x >>" + filepath.Join(b.outside, name)
}

// marks counts the lines.
func (b *bench) marks(name string) int {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(b.outside, name))
	if err != nil && !os.IsNotExist(err) {
		b.t.Fatal(err)
	}
	return strings.Count(string(text), "\n")
}

// checkout makes a user's checkout: a git repository with tracked files and
// others.
func checkout(t *testing.T, tracked, others files) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "checkout")
	if err := tracked.write(dir); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q")
	git(t, dir, "add", "-A")
	if err := others.write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func read(t testing.TB, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func exists(parts ...string) bool {
	_, err := os.Lstat(filepath.Join(parts...))
	return err == nil
}

// alive says whether the process whose id stands in the file runs.
func alive(t *testing.T, pidFile string) bool {
	t.Helper()
	pid := strings.TrimSpace(read(t, pidFile))
	if pid == "" {
		t.Fatalf("%s is empty", pidFile)
	}
	// A zombie is dead: there may be nobody to reap it.
	state := ""
	if exists("/proc/self/stat") {
		stat, _ := os.ReadFile("/proc/" + pid + "/stat") // not there: dead
		if _, rest, ok := strings.Cut(string(stat), ") "); ok {
			state = rest
		}
	} else {
		out, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output() // an error: dead
		state = strings.TrimSpace(string(out))
	}
	return state != "" && !strings.HasPrefix(state, "Z")
}
