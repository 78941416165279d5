package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"forge/internal/shortage"
)

const (
	// maxCollected bounds what is kept of one command's stdout.
	maxCollected = 256 << 20
	// maxStderr bounds what is kept of one command's stderr, from its start.
	maxStderr = 256 << 10
	// termGrace is how long a git that was told to stop may take to remove its locks.
	termGrace = 3 * time.Second
)

// CommandError is a git command that ended with an exit code that means failure.
type CommandError struct {
	Verb   string // add, write-tree, …
	Code   int    // -1: ended by a signal
	Stderr string // trimmed
	// Short is what the machine ran out of, where git says so; nil otherwise.
	Short error
}

// Unwrap makes a shortage known to those who ask for one.
func (e *CommandError) Unwrap() error { return e.Short }

// Error says verb, exit code and the line in which git says what is wrong: the
// first that begins with fatal or error, else the last.
func (e *CommandError) Error() string {
	lines := strings.Split(e.Stderr, "\n")
	said := lines[len(lines)-1]
	if i := slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "fatal: ") || strings.HasPrefix(l, "error: ")
	}); i >= 0 {
		said = lines[i]
	}
	if said == "" {
		return fmt.Sprintf("git %s: exit code %d", e.Verb, e.Code)
	}
	return fmt.Sprintf("git %s: exit code %d: %s", e.Verb, e.Code, said)
}

// runner starts git with a fixed, complete environment.
type runner struct {
	path string
	env  []string
}

func newRunner(environ []string) (*runner, error) {
	path, err := lookGit(environ)
	if err != nil {
		return nil, err
	}
	return &runner{path: path, env: cleanEnv(environ)}, nil
}

// with returns a runner whose environment has the given variables too.
func (r *runner) with(vars ...string) *runner {
	env := append(append([]string(nil), r.env...), vars...)
	return &runner{path: r.path, env: env}
}

// call is one git command. Its arguments never go through a shell.
type call struct {
	dir    string
	args   []string // args[0] is the verb
	env    []string // added to the runner's
	stdin  io.Reader
	stdout io.Writer // nil: collected in result.out
	ok     []int     // exit codes beside 0 that are answers, not errors
	held   *os.File  // stays open in git, and in what git starts, until they end
}

type result struct {
	out    []byte
	stderr string
	cut    bool // stderr is not complete
	code   int
}

// line is stdout without its one trailing newline.
func (r result) line() string { return strings.TrimSuffix(string(r.out), "\n") }

func (r *runner) run(ctx context.Context, c call) (result, error) {
	cmd := exec.CommandContext(ctx, r.path, c.args...)
	cmd.Dir = c.dir
	cmd.Env = append(append([]string(nil), r.env...), c.env...)
	cmd.Stdin = c.stdin
	out, said := &capped{max: maxCollected, fail: true}, &capped{max: maxStderr}
	cmd.Stdout, cmd.Stderr = io.Writer(out), said
	if c.stdout != nil {
		cmd.Stdout = c.stdout
	}
	// A session of its own: Ctrl-C at the terminal must not cut a snapshot in
	// half, and nothing below git can ask a question on the terminal.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if c.held != nil {
		cmd.ExtraFiles = []*os.File{c.held}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = termGrace
	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // filters that git left behind
	}
	res := result{out: out.buf.Bytes(), stderr: strings.TrimSpace(said.buf.String()), cut: said.over}
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return res, fmt.Errorf("git %s: %w", c.args[0], context.Cause(ctx))
	}
	if out.over {
		return res, fmt.Errorf("git %s: output is over %d bytes", c.args[0], maxCollected)
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return res, fmt.Errorf("git %s: %w", c.args[0], err)
	}
	res.code = exit.ExitCode()
	for _, code := range c.ok {
		if res.code == code {
			return res, nil
		}
	}
	return res, &CommandError{Verb: c.args[0], Code: res.code, Stderr: res.stderr, Short: short(res.stderr, c.dir)}
}

// couldNotWrite says that git's words are of that: of objects, references, packs and
// the index.
func couldNotWrite(said string) bool {
	said = strings.ToLower(said)
	for _, failed := range []string{"unable to ", "could not ", "couldn't ", "cannot ", "failed to "} {
		for _, doing := range []string{"write", "create", "close", "append", "fsync"} {
			if strings.Contains(said, failed+doing) {
				return true
			}
		}
	}
	return false
}

// short is the shortage for which git failed, nil = none is known. Git does not always
// say why it could not write a file: then the disk tells.
func short(said, dir string) error {
	err := shortage.In(said, dir)
	if err == nil && dir != "" && couldNotWrite(said) {
		err = shortage.Lacks(dir, 1<<20, 16)
	}
	return err
}

// capped keeps the first max bytes; beyond them it fails or drops.
type capped struct {
	buf  bytes.Buffer
	max  int
	fail bool
	over bool
}

func (w *capped) Write(p []byte) (int, error) {
	if room := w.max - w.buf.Len(); len(p) > room {
		w.over = true
		if w.fail {
			return 0, io.ErrShortWrite
		}
		w.buf.Write(p[:room])
		return len(p), nil
	}
	return w.buf.Write(p)
}
