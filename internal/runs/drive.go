package runs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/embedded"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// Drive runs s under lease until it ends or freezes, and releases the lease.
func Drive(ctx context.Context, p *project.Checkout, e *project.Machine, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o Options) (work.RunFinishedData, error) {
	defer func() {
		if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
			p.Log.Warn("give the run back", "err", err)
		}
	}()
	over := make(chan struct{})
	defer close(over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.Beside != nil {
		go o.Beside(lease.Run(), stop, over)
	}
	d, done, err := Driver(p, e, lease, s, o)
	if err != nil {
		return work.RunFinishedData{}, err
	}
	defer done()
	return d.Run(ctx, s, first)
}

// Driver is what drives s under lease; done gives back what it holds.
func Driver(p *project.Checkout, e *project.Machine, lease *journal.Lease, s *orchestrator.State, o Options) (d *embedded.Engine, done func(), err error) {
	desk, err := ReviewersOf(p, e, s.Spec.Settings.Reviews)
	if err != nil {
		return nil, nil, err
	}
	hooks := &Hooks{Bench: e.Bench, Model: desk.Model, Blobs: p.Journal, Own: p.Config.Hooks()}
	if hooks.Model == nil && asksModel(s) {
		if hooks.Model, err = p.Model(); err != nil {
			return nil, nil, err
		}
	}
	done = func() {}
	if hooks.Model != nil {
		done = hooks.Model.Close // it is the reviewers' one, too, where they have one
	}
	return &embedded.Engine{
		Journal: &Held{Store: p.Journal, Lease: lease, Now: p.Now}, Processes: Processes{Kill: proc.KillMarked, Log: p.Log},
		Watch: o.Watch, Now: p.Now, NewMark: NewMark, Answers: o.Answers, Deadline: o.Deadline,
		Room: func() error { return shortage.Lacks(p.State, leastRoom, leastFiles) },
		Effects: &effect.Machine{
			Agents: e.Agents, Listeners: e.Agents, Repo: e.Repo, Checks: e.Bench, Evidence: e.Evidence, Proofs: ProofsOf(p, e), Reviewers: desk, Todos: Todos{e.Repo},
			Host: pullrequest.PortOf(p, s.Spec, e.Repo, o.Judged), Layout: p.Layout(), Now: p.Now,
			Hooks: hooks,
		},
	}, done, nil
}

// ReviewersOf is who reviews a run, and what its arbiter's model is asked with.
func ReviewersOf(p *project.Checkout, e *project.Machine, set work.ReviewSettings) (*Reviewers, error) {
	desk := &Reviewers{Repo: e.Repo, Agents: e.Agents, Blobs: p.Journal}
	if set.By != project.ByModel && set.Arbiter == "" {
		return desk, nil
	}
	var err error
	desk.Model, err = p.Model()
	return desk, err
}

// Options are how a run is driven here.
type Options struct {
	// Judged says what people said earlier of the files of a checkpoint; it is
	// asked where the run has pull requests.
	Judged   func(ctx context.Context, checkpoint string) (string, error)
	Watch    engine.Watcher
	Answers  bool      // somebody answers while the run is driven
	Deadline time.Time // when it ends, resumable; zero = never
	// Beside ends the run cleanly by stop, or the process at once, when the
	// process is to end; it returns when over is closed. nil = nothing does.
	Beside func(run string, stop func(), over <-chan struct{})
}

// leastRoom and leastFiles have to be free where runs are worked on, or nothing
// new is begun.
const (
	leastRoom  = 1 << 20
	leastFiles = 50
)

// NewMark names the processes of one effect; nobody can guess it.
func NewMark() string {
	var b [16]byte
	// crypto/rand never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
