package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"forge/internal/effect"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// world is where the demo plays: a repository, a home and a state folder
// of its own, so that nothing of the user's is read or changed.
type world struct {
	program string // forge
	dir     string
	kept    bool
	repo    string
	state   string
	log     string // what forge said to people
	env     []string
}

// newWorld makes the world, in keep where that is not "".
func newWorld(ctx context.Context, env project.Env, program, keep string) (*world, error) {
	if err := git.Probe(ctx); err != nil {
		return nil, err
	}
	w := &world{program: program, kept: keep != ""}
	if err := w.makeDir(env.Dir, keep); err != nil {
		return nil, err
	}
	w.repo, w.state, w.log = filepath.Join(w.dir, "phrases"), filepath.Join(w.dir, "state"), filepath.Join(w.dir, "forge.log")
	home := filepath.Join(w.dir, "home")
	// Nothing of the user's configuration, and no FORGE_ or CI variable.
	w.env = slices.DeleteFunc(proc.BaseEnv(env.Environ, nil), func(kv string) bool { return strings.HasPrefix(kv, "HOME=") })
	w.env = append(w.env, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "FORGE_STATE_DIR="+w.state,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "NO_COLOR=1")
	err := os.MkdirAll(home, 0o700)
	if err == nil {
		err = w.lay("project", w.repo)
	}
	if err == nil {
		err = w.lay("forge", filepath.Join(w.repo, ".forge"))
	}
	for _, args := range [][]string{
		{"init", "--quiet", "-b", "main"},
		{"config", "user.name", "Demo"}, {"config", "user.email", "demo@example.invalid"},
		{"add", "--all"}, {"commit", "--quiet", "--no-gpg-sign", "-m", "a library with one function"},
	} {
		if err == nil {
			_, err = w.git(ctx, args...)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the demo's repository: %w", err), w.drop())
	}
	return w, nil
}

// makeDir makes the folder of it all: a temporary one, or keep.
func (w *world) makeDir(from, keep string) (err error) {
	if keep == "" {
		if w.dir, err = os.MkdirTemp("", "forge-demo-"); err == nil {
			// Git names a checkout by its real path.
			w.dir, err = filepath.EvalSymlinks(w.dir)
		}
		if err != nil {
			return refusal.New("set TMPDIR to a folder that can be written, or use --keep DIR", "make a folder for the demo: %v", err)
		}
		return nil
	}
	if !filepath.IsAbs(keep) {
		keep = filepath.Join(from, keep)
	}
	if entries, err := os.ReadDir(keep); err == nil && len(entries) > 0 {
		return refusal.New("name a new folder", "--keep %s: there is something in it", keep)
	}
	if err = os.MkdirAll(keep, 0o755); err == nil {
		w.dir, err = filepath.EvalSymlinks(keep)
	}
	if err != nil {
		return refusal.New("name a folder that can be made", "--keep %s: %v", keep, err)
	}
	return nil
}

// lay writes the embedded folder from to the folder to.
func (w *world) lay(from, to string) error {
	return fs.WalkDir(files, from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		at := filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(path, from)))
		if e.IsDir() {
			return os.MkdirAll(at, 0o755)
		}
		text, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(at, text, 0o644)
	})
}

// drop removes everything, unless the user wanted to keep it.
func (w *world) drop() error {
	if w.kept {
		return nil
	}
	if err := os.RemoveAll(w.dir); err != nil {
		return fmt.Errorf("remove %s: %w", w.dir, err)
	}
	return nil
}

func (w *world) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = w.repo, w.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// output runs a command to its end and returns what it printed.
func (w *world) output(ctx context.Context, name string, args ...string) (string, error) {
	var out, errs bytes.Buffer
	cmd := w.command(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", filepath.Base(name), strings.Join(args, " "), err, text.OneLine(errs.String()+" "+out.String(), 300))
	}
	return strings.TrimSpace(out.String()), nil
}

func (w *world) git(ctx context.Context, args ...string) (string, error) {
	return w.output(ctx, "git", args...)
}

// process is how a forge process ended.
type process struct {
	pid    int
	killed bool // by SIGKILL
	code   int  // -1 when ended by a signal
}

// stream runs forge with --output json, shows each event to see, and kills the
// process with SIGKILL at the first event for which at says so, once the agent
// of that iteration works; nil = never.
func (w *world) stream(ctx context.Context, see func(work.Event), at func(work.Event) bool, args ...string) (process, error) {
	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return process{}, fmt.Errorf("open the demo's log: %w", err)
	}
	defer log.Close()
	cmd := w.command(ctx, w.program, append(args, "--output", "json")...)
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return process{}, fmt.Errorf("start forge %s: %w", args[0], err)
	}
	p := process{pid: cmd.Process.Pid}
	lines := bufio.NewReader(out)
	var broken error
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			// A process that is killed may leave half a line behind.
			if err != io.EOF {
				broken = fmt.Errorf("read what forge %s prints: %w", args[0], err)
			}
			break
		}
		var e work.Event
		if err := json.Unmarshal(line, &e); err != nil {
			broken = fmt.Errorf("forge %s printed %q, which is no event: %w", args[0], text.OneLine(string(line), 100), err)
			_ = cmd.Process.Kill()
			break
		}
		see(e)
		if at != nil && at(e) {
			at = nil
			w.awaitAgent(ctx, e)
			if err := cmd.Process.Kill(); err != nil {
				broken = fmt.Errorf("kill forge: %w", err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) && broken == nil {
		broken = fmt.Errorf("wait for forge %s: %w", args[0], err)
	}
	p.code = cmd.ProcessState.ExitCode()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	p.killed = ok && status.Signaled() && status.Signal() == syscall.SIGKILL
	return p, broken
}

// awaitAgent waits until the agent of an iteration has said something, so that
// it is in the middle of its work; not for long, since the checks tell.
func (w *world) awaitAgent(ctx context.Context, e work.Event) {
	log := effect.Layout{State: w.state}.IterationLog(e.Run, e.Phase, e.Iteration, e.Attempt)
	for began := time.Now(); ctx.Err() == nil && time.Since(began) < 10*time.Second; time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile(log); err == nil && bytes.Contains(text, []byte(`"text"`)) {
			return
		}
	}
}

// gather reads the facts that only the end can tell.
func (w *world) gather(ctx context.Context, r *record) error {
	if len(r.Events) == 0 {
		return errors.New("forge printed no events")
	}
	r.Run = r.Events[0].Run
	store, err := journal.Open(ctx, w.state)
	if err != nil {
		return fmt.Errorf("open the demo's journal: %w", err)
	}
	r.Events, err = store.Events(ctx, r.Run, 0)
	if err = errors.Join(err, store.Close()); err != nil {
		return fmt.Errorf("read the demo's journal: %w", err)
	}
	text, err := w.output(ctx, w.program, "status", "--output", "json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(text), &r.Status); err != nil {
		return fmt.Errorf("read forge status: %w", err)
	}
	return w.gatherGit(ctx, r)
}

func (w *world) gatherGit(ctx context.Context, r *record) error {
	head, err := w.git(ctx, "log", "-1", "--format=%s", "main")
	if err != nil {
		return err
	}
	changed, err := w.git(ctx, "status", "--porcelain")
	if err != nil {
		return err
	}
	r.Before = strings.TrimSpace(head + "\n" + changed)
	var d orchestrator.DeliverFinishedData
	for _, e := range r.Events {
		if e.Kind == work.DeliverFinished {
			if err := work.Decode(e, &d); err != nil {
				return err
			}
		}
	}
	if d.Delivery.Next == "" {
		return nil // nothing was delivered, and the checks say so
	}
	r.Merge = d.Delivery.Next
	commits, err := w.git(ctx, "log", "--format=%(trailers:key=Forge-Phase,valueonly,separator=)", "main.."+d.Delivery.Branch)
	if err != nil {
		return err
	}
	r.Commits = strings.Fields(commits)
	// The command that forge prints, as the user would type it.
	if _, err := w.output(ctx, "sh", "-c", r.Merge); err != nil {
		return err
	}
	files, err := w.git(ctx, "ls-files", "--", ":!.forge")
	if err != nil {
		return err
	}
	r.Files = strings.Fields(files)
	r.Tests, err = w.output(ctx, "sh", "tests/run.sh")
	return err
}
