package project

import (
	"context"
	"os"
	"path/filepath"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// Find finds the project around the working directory without its
// configuration, so that its runs can be looked at and answered while
// configuration or checkout are in disorder: p.cfg is nil, and so is all of
// p.base but RepoRoot when the repository is in no state to start a run in.
func Find(ctx context.Context, env Env) (*Checkout, error) {
	base, err := git.Inspect(ctx, env.Dir)
	if err != nil {
		root := CheckoutAround(env.Dir)
		if root == "" {
			return nil, err
		}
		base = work.Base{RepoRoot: root}
	}
	state, err := config.StateDir(env.Environ, base.RepoRoot)
	if err != nil {
		return nil, err
	}
	return located(&Checkout{Env: env, Base: base, State: state})
}

// CheckoutAround is the nearest folder around dir that has a .git, "" = none.
func CheckoutAround(dir string) string {
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

// OpenJournal is Find with its journal open; a project without one is
// refused. The caller closes it.
func OpenJournal(ctx context.Context, env Env) (*Checkout, error) {
	p, err := Find(ctx, env)
	if err != nil {
		return nil, err
	}
	ok, err := p.OpenStore(ctx, false)
	if err == nil && !ok {
		err = NoRuns()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// NoRuns refuses what needs a run.
func NoRuns() error { return refusal.New("forge run starts one", "this project has no runs") }

// LookAt is a run as its row and its events tell it at one moment.
func (p *Checkout) LookAt(ctx context.Context, run string) (journal.RunRow, *orchestrator.State, []work.Event, error) {
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return row, nil, nil, err
	}
	// The process that drives the run may write between the two reads.
	for tries := 0; ; tries++ {
		if row.Events == 0 {
			return row, nil, nil, justOpened(row.ID)
		}
		s, evs, err := p.LoadRun(ctx, row.ID)
		if err != nil {
			return row, nil, nil, err
		}
		if row, err = p.PickRun(ctx, row.ID); err != nil {
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
	StateRunning  = "running"  // a process drives it
	StateFinished = "finished" // nothing is left to do
)

// RunState says where a run stands: running, finished, or why it rests (frozen,
// limit, interrupted). One whose process died is interrupted.
func RunState(r journal.RunRow) string {
	switch {
	case r.Outcome.Final():
		return StateFinished
	case r.Outcome != "":
		return string(r.Outcome)
	case r.Alive:
		return StateRunning
	}
	return string(work.RunInterrupted)
}

// Driven says that a process goes on with the run by itself.
func Driven(r journal.RunRow) bool { return RunState(r) == StateRunning }

// AskStalled notes of runs that are under way why nobody takes what they need done.
func (p *Checkout) AskStalled(ctx context.Context, rows ...*journal.RunRow) {
	for _, r := range rows {
		// Whoever watches it keeps its lease: without one that may be over.
		if p.Env.Stalled != nil && r.Outcome == "" && r.Owner != nil && r.Owner.Together() {
			r.Stalled = p.Env.Stalled(ctx, p, r.ID)
		}
	}
}

// Bring has here what other machines made of a run, where commits travel.
func (p *Checkout) Bring(ctx context.Context, run string) error {
	if p.Travels == nil {
		return nil
	}
	return p.Travels.Bring(ctx, p, run)
}

// SameDir says that both are names of one folder, which is there.
func SameDir(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}
