package proofbench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Machine is what the cases are run with.
type Machine struct {
	Forge   string            // path of the program
	Modules map[string]string // folders of npm packages, by name
	Dir     string            // where everything is made
	Caches  map[string]string // warm caches, by ecosystem
	Limit   time.Duration     // of one run of a program
}

// errMissing says that this machine lacks what an ecosystem needs.
var errMissing = errors.New("not installed")

// Serves says whether the machine has what the ecosystem needs: nil when it
// has.
func (m *Machine) Serves(eco *Ecosystem) error {
	for _, p := range eco.Needs {
		if !m.has(p) {
			return fmt.Errorf("%s: %w", p, errMissing)
		}
	}
	if eco.Modules != "" && m.Modules[eco.Modules] == "" {
		return fmt.Errorf("npm packages of %s: %w", eco.Modules, errMissing)
	}
	return nil
}

// has looks for a program in the PATH of the cases, or for a file.
func (m *Machine) has(program string) bool {
	if filepath.IsAbs(program) {
		_, err := os.Stat(program)
		return err == nil
	}
	for _, dir := range filepath.SplitList(searchPath()) {
		if info, err := os.Stat(filepath.Join(dir, program)); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return true
		}
	}
	return false
}

// searchPath is the user's PATH without the folders of version managers, whose
// programs look for the user's home.
func searchPath() string {
	return strings.Join(slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		return strings.HasSuffix(dir, "/shims") || strings.Contains(dir, "/.pyenv/")
	}), string(filepath.ListSeparator))
}

// world is one project with a home of its own.
type world struct {
	m                   *Machine
	c                   *Case
	dir, home, repo     string
	env                 []string
	given               files
	steps               [][]played
	verify              []string
	oracle, base, extra string
}

// newWorld makes the project of a case: a repository with one commit.
func (m *Machine) newWorld(ctx context.Context, c *Case) (*world, error) {
	dir, err := os.MkdirTemp(m.Dir, "w-") // no word of the case: products look
	if err != nil {
		return nil, err
	}
	w := &world{m: m, c: c, dir: dir, home: filepath.Join(dir, "home"), repo: filepath.Join(dir, "project")}
	w.verify, w.oracle, w.extra = c.Ecosystem.Verify, c.Ecosystem.Oracle, c.Ecosystem.Conf+c.Conf
	if len(c.Verify) > 0 {
		w.verify = c.Verify
	}
	if c.Oracle != "" {
		w.oracle = c.Oracle
	}
	if w.given, w.steps, err = c.play(); err != nil {
		return w, err
	}
	w.env = w.environment()
	return w, w.populate(ctx)
}

func (w *world) environment() []string {
	env := []string{
		"HOME=" + w.home, "PATH=" + searchPath(), "LANG=C.UTF-8", "SHELL=/bin/sh", "TERM=dumb",
		"XDG_STATE_HOME=" + filepath.Join(w.dir, "state"), "TZ=UTC",
	}
	users, _ := os.UserHomeDir()
	if dir := filepath.Join(users, ".rustup"); w.m.has("rustup") {
		env = append(env, "RUSTUP_HOME="+dir)
	}
	for _, name := range []string{"SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// populate writes home, project and first commit.
func (w *world) populate(ctx context.Context) error {
	for _, dir := range []string{w.repo, filepath.Join(w.home, ".config/forge"), filepath.Join(w.dir, "state")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	identity := "[user]\n\tname = tester\n\temail = tester@example.com\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n"
	if err := os.WriteFile(filepath.Join(w.home, ".gitconfig"), []byte(identity), 0o644); err != nil {
		return err
	}
	for _, path := range sorted(w.given) {
		if err := place(filepath.Join(w.repo, path), w.given[path]); err != nil {
			return err
		}
	}
	// Edits of the base that are commands.
	for _, op := range slices.Concat(w.c.Ecosystem.Files, w.c.Given) {
		if op.Verb == "run" {
			if out, code, err := w.sh(ctx, w.repo, op.Arg); err != nil || code != 0 {
				return fmt.Errorf("base: %s: exit %d, %w\n%s", op.Arg, code, err, out)
			}
		}
	}
	if err := w.git(ctx, w.repo, "init -q", "add -A", "commit -qm base"); err != nil {
		return err
	}
	if err := w.bring(ctx); err != nil {
		return err
	}
	var err error
	w.base, err = w.rev(ctx, "HEAD")
	return err
}

// bring puts the npm packages and the warm cache in.
func (w *world) bring(ctx context.Context) error {
	if name := w.c.Ecosystem.Modules; name != "" {
		// Links, since thousands of files are not copied in a moment. No agent
		// can write to them.
		if out, code, err := w.sh(ctx, w.repo, "cp -al "+quote(w.m.Modules[name])+" node_modules"); err != nil || code != 0 {
			return fmt.Errorf("npm packages: %s %w", out, err)
		}
	}
	if cache := w.c.Ecosystem.Cache; cache != "" {
		to := filepath.Join(w.home, cache)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if warm := w.m.Caches[w.c.Ecosystem.Name]; warm != "" {
			if out, code, err := w.sh(ctx, w.repo, "cp -a "+quote(warm)+"/. "+quote(to)+"/"); err != nil || code != 0 {
				return fmt.Errorf("warm cache: %s %w", out, err)
			}
		}
	}
	return nil
}

// place writes a file or a link.
func place(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if to, ok := strings.CutPrefix(text, linkMark); ok {
		return os.Symlink(to, path)
	}
	mode := os.FileMode(0o644)
	if strings.HasPrefix(text, "#!") {
		mode = 0o755
	}
	return os.WriteFile(path, []byte(text), mode)
}

// sh runs a shell command with the world's environment; an exit code is a
// result.
func (w *world) sh(ctx context.Context, dir, command string) (out string, code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, w.m.Limit)
	defer cancel()
	return run(ctx, dir, w.env, "sh", "-c", command)
}

// run starts a program in a group of its own, which is ended with it.
func run(ctx context.Context, dir string, env []string, name string, args ...string) (out string, code int, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 2 * time.Second
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left running
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return b.String(), -1, fmt.Errorf("%s: %w", name, ctx.Err())
	case errors.As(err, &exit):
		return b.String(), exit.ExitCode(), nil
	case errors.Is(err, exec.ErrWaitDelay):
		return b.String(), 0, nil
	}
	return b.String(), 0, err
}

// git runs commands, each a line of words.
func (w *world) git(ctx context.Context, dir string, commands ...string) error {
	for _, c := range commands {
		if out, code, err := run(ctx, dir, w.env, "git", strings.Fields(c)...); err != nil || code != 0 {
			return fmt.Errorf("git %s: exit %d: %s%w", c, code, out, err)
		}
	}
	return nil
}

// rev is the commit that a name stands for; "" when it stands for none.
func (w *world) rev(ctx context.Context, name string) (string, error) {
	out, code, err := run(ctx, w.repo, w.env, "git", "rev-parse", "-q", "--verify", name+"^{commit}")
	if err != nil || code != 0 {
		return "", err
	}
	return strings.TrimSpace(out), nil
}

func sorted(f files) []string {
	var all []string
	for p := range f {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}
