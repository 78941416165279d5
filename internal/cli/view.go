package cli

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/mattn/go-isatty"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// findProject finds the project around the working directory without its
// configuration, so that its runs can be looked at and answered while
// configuration or checkout are in disorder: p.cfg is nil, and so is all of
// p.base but RepoRoot when the repository is in no state to start a run in.
func findProject(ctx context.Context, env Env) (*project, error) {
	base, err := git.Inspect(ctx, env.Dir)
	if err != nil {
		root := checkoutAround(env.Dir)
		if root == "" {
			return nil, err
		}
		base = work.Base{RepoRoot: root}
	}
	state, err := config.StateDir(env.Environ, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	return &project{Env: env, base: base, state: state}, nil
}

// checkoutAround is the nearest folder around dir that has a .git, "" = none.
func checkoutAround(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// openJournal is findProject with its journal open; a project without one is
// refused. The caller closes it.
func openJournal(ctx context.Context, env Env) (*project, error) {
	p, err := findProject(ctx, env)
	if err != nil {
		return nil, err
	}
	ok, err := p.openStore(ctx, false)
	if err == nil && !ok {
		err = noRuns()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func noRuns() error { return refusal.New("forge run starts one", "this project has no runs") }

// look is a run as its row and its events tell it at one moment.
func (p *project) look(ctx context.Context, run string) (journal.RunRow, *orchestrator.State, []work.Event, error) {
	row, err := p.pick(ctx, run)
	if err != nil {
		return row, nil, nil, err
	}
	// The process that drives the run may write between the two reads.
	for tries := 0; ; tries++ {
		if row.Events == 0 {
			return row, nil, nil, justOpened(row.ID)
		}
		s, evs, err := p.load(ctx, row.ID)
		if err != nil {
			return row, nil, nil, err
		}
		if row, err = p.pick(ctx, row.ID); err != nil {
			return row, nil, nil, err
		}
		if row.Events == s.Seq || tries == 5 {
			return row, s, evs, nil
		}
	}
}

func justOpened(run string) error {
	return refusal.New("try again", "run %s is just being opened", run)
}

// The states of a run that no outcome names.
const (
	stateRunning  = "running"  // a process drives it
	stateFinished = "finished" // nothing is left to do
)

// runState says where a run stands: running, finished, or why it rests (frozen,
// limit, interrupted). One whose process died is interrupted.
func runState(r journal.RunRow) string {
	switch {
	case r.Outcome.Final():
		return stateFinished
	case r.Outcome != "":
		return string(r.Outcome)
	case r.Alive:
		return stateRunning
	}
	return string(work.RunInterrupted)
}

// driven says that a process goes on with the run by itself.
func driven(r journal.RunRow) bool { return runState(r) == stateRunning }

// isTerminal says that what is written to w is seen on a terminal.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// coloured says that what is written to w may be coloured.
func (a *App) coloured(w io.Writer) bool {
	return isTerminal(w) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
}

// colour says that stdout may be coloured.
func (a *App) colour() bool { return a.coloured(a.Stdout) }

// viewer is stdout for text that agents wrote: as it is into a file or pipe,
// harmless on a terminal. done writes what is held back.
func (a *App) viewer() (w io.Writer, done func() error) {
	if !isTerminal(a.Stdout) {
		return a.Stdout, func() error { return nil }
	}
	h := &text.HarmlessWriter{To: a.Stdout}
	return h, h.Flush
}

func short(id string) string { return id[:min(len(id), 12)] }

// oneArg is the only argument of a command, "" when there is none.
func oneArg(args []string, what string) (string, error) {
	if len(args) > 1 {
		return "", refusal.New("", "one %s at most, got %q as well", what, args[1])
	}
	if len(args) == 0 {
		return "", nil
	}
	return args[0], nil
}
