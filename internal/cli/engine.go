package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// drive runs s under lease until it ends or freezes, and releases the lease.
func drive(ctx context.Context, p *project.Checkout, e *project.Machine, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o driveOptions) (work.RunFinishedData, error) {
	defer func() {
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			p.Log.Warn("give the run back", "err", err)
		}
	}()
	over := make(chan struct{})
	defer close(over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.beside != nil {
		go o.beside(lease.Run(), stop, over)
	}
	d, done, err := driverOf(p, e, lease, s, o)
	if err != nil {
		return work.RunFinishedData{}, err
	}
	defer done()
	return d.Run(ctx, s, first)
}

// driverOf is what drives s under lease; done gives back what it holds.
func driverOf(p *project.Checkout, e *project.Machine, lease *journal.Lease, s *orchestrator.State, o driveOptions) (d *orchestrator.Driver, done func(), err error) {
	desk, err := reviewDeskOf(p, e, s.Spec.Settings.Reviews)
	if err != nil {
		return nil, nil, err
	}
	done = func() {}
	if desk.model != nil {
		done = desk.model.Close
	}
	return &orchestrator.Driver{
		Host:    pullrequest.PortOf(p, s.Spec, e.Repo, judgedIn(p)),
		Journal: &held{store: p.Journal, lease: lease, now: p.Now},
		Agents:  e.Agents, Repo: e.Repo, Checks: e.Bench, Evidence: e.Evidence, Reviewers: desk, Todos: jobTodos{e.Repo}, Processes: tree{kill: proc.KillMarked, log: p.Log},
		Watch: o.watch, Layout: p.Layout(), Now: p.Now, NewMark: NewMark, Answers: o.answers, Deadline: o.deadline,
		Room: func() error { return shortage.Lacks(p.State, leastRoom, leastFiles) },
	}, done, nil
}

// reviewDeskOf is who reviews a run, and what its arbiter's model is asked with.
func reviewDeskOf(p *project.Checkout, e *project.Machine, set work.ReviewSettings) (*reviewDesk, error) {
	desk := &reviewDesk{repo: e.Repo, agents: e.Agents, blobs: p.Journal}
	if set.By != project.ByModel && set.Arbiter == "" {
		return desk, nil
	}
	var err error
	desk.model, err = p.Model()
	return desk, err
}

// leastRoom and leastFiles have to be free where runs are worked on, or nothing
// new is begun.
const (
	leastRoom  = 1 << 20
	leastFiles = 50
)

type driveOptions struct {
	watch    orchestrator.Watcher
	answers  bool
	deadline time.Time
	// beside ends the run cleanly by stop, or the process at once, when the
	// process is to end; it returns when over is closed. nil = nothing does.
	beside func(run string, stop func(), over <-chan struct{})
}

// NewMark names the processes of one effect; nobody can guess it.
func NewMark() string {
	var b [16]byte
	// crypto/rand never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
