package runs

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"time"

	"forge/internal/config"
	"forge/internal/effect"
	"forge/internal/engine"
	"forge/internal/engine/embedded"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/refusal"
	"forge/internal/shortage"
	"forge/internal/work"
	"forge/orchestrator"
)

// Elsewhere drives a run as Drive does, with an engine that this program has not by
// itself.
type Elsewhere func(ctx context.Context, p *project.Checkout, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o Options) (work.RunFinishedData, error)

// ErrLeft says that a run goes on without who watched it: see Options.Leave.
var ErrLeft = errors.New("the run goes on without this process")

// AwayError is that what drives runs elsewhere is not reached. It says nothing about the
// run, and is worth another try.
type AwayError struct{ Err error }

// Error is why.
func (e *AwayError) Error() string { return e.Err.Error() }

// Unwrap makes that known to those who ask.
func (e *AwayError) Unwrap() error { return e.Err }

// CheckEngine refuses to drive runs in this process where they are to be driven by a
// Temporal server.
func CheckEngine(p *project.Checkout) error {
	set, err := p.Config.Engine()
	if err != nil {
		return err
	}
	if set.Kind == config.EngineTemporal {
		return refusal.New("put it beside forge or on the PATH: make forge-temporal builds it", `engine.kind = "temporal" needs the program forge-temporal`)
	}
	return nil
}

// Drive runs s under lease until it ends or freezes, and releases the lease.
func Drive(ctx context.Context, p *project.Checkout, e *project.Machine, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o Options) (work.RunFinishedData, error) {
	several := len(s.Spec.Repositories) > 0
	if o.Elsewhere == nil || several { // who else drives it gives it back
		defer func() {
			if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
				p.Log.Warn("give the run back", "err", err)
			}
		}()
	}
	if o.Elsewhere != nil && several {
		return work.RunFinishedData{}, refusal.New("take engine.kind out of your configuration", "run %s works in several repositories, which no Temporal server drives", s.Run)
	}
	over := make(chan struct{})
	defer close(over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.Beside != nil {
		go o.Beside(lease.Run(), stop, over)
	}
	if o.Elsewhere != nil {
		return o.Elsewhere(ctx, p, lease, s, first, o)
	}
	if err := CheckEngine(p); err != nil {
		return work.RunFinishedData{}, err
	}
	d, done, err := Driver(ctx, p, e, lease, s, o)
	if err != nil {
		return work.RunFinishedData{}, err
	}
	defer done()
	return d.Run(ctx, s, first)
}

// Driver is what drives s under lease, in all of its repositories; done gives back what it
// holds, and lets go of what kept their bases where the run is over.
func Driver(ctx context.Context, p *project.Checkout, e *project.Machine, lease *journal.Lease, s *orchestrator.State, o Options) (d *embedded.Engine, done func(), err error) {
	among, err := p.OpenAmong(ctx, s.Spec.Repositories)
	if err != nil {
		return nil, nil, err
	}
	ports, err := resultPorts(ctx, p, e.Repo, s, among)
	if err != nil {
		return nil, nil, err
	}
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
	done = func() {
		if hooks.Model != nil {
			hooks.Model.Close() // it is the reviewers' one, too, where they have one
		}
		for name, m := range among.Machines {
			if !s.Outcome.Final() {
				break
			}
			if err := m.Repo.DropBase(context.WithoutCancel(ctx), s.Run); err != nil {
				p.Log.Warn("drop the ref that kept the base", "repository", name, "err", err)
			}
		}
	}
	machine := &effect.Machine{
		Agents: e.Agents, Listeners: e.Agents, Repo: e.Repo, Targets: e.Repo, Checks: e.Bench, Evidence: e.Evidence, Proofs: ProofsOf(p, e), Reviewers: desk, Council: desk, Todos: Todos{e.Repo},
		Host: pullrequest.PortOf(p, s.Spec, e.Repo, o.Judged), Layout: layoutOf(p, s), Now: p.Now,
		Hooks: hooks, Pages: e.Pages(p.Journal.PutBlob),
	}
	addBeside(p, machine, among)
	addPorts(machine, ports)
	return &embedded.Engine{
		Journal: &Held{Store: p.Journal, Lease: lease, Now: p.Now}, Processes: Processes{Kill: proc.KillMarked, Log: p.Log},
		Watch: o.Watch, Now: p.Now, NewMark: NewMark, Answers: o.Answers, Deadline: o.Deadline,
		Room:    func() error { return Room(p) },
		Effects: machine,
	}, done, nil
}

// layoutOf is where a run keeps its folders.
func layoutOf(p *project.Checkout, s *orchestrator.State) effect.Layout {
	l := p.Layout()
	if s.Spec.Issue != nil {
		l.Workspace = s.Spec.Issue.Workspace
	}
	return l
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
	// Elsewhere drives it in place of this process; nil = nothing does.
	Elsewhere Elsewhere
	// Unserved is told, in a sentence, that nobody takes what a run that is driven
	// elsewhere needs done, and "" when somebody does; nil = it is logged.
	Unserved func(what string)
	// Leave, closed, ends the watch over a run that is driven elsewhere: ErrLeft. The
	// run goes on. nil = it is watched to its end.
	Leave <-chan struct{}
	// Beside ends the run cleanly by stop, or the process at once, when the
	// process is to end; it returns when over is closed. nil = nothing does.
	Beside func(run string, stop func(), over <-chan struct{})
}

// Room is a shortage where too little is free for anything new to begin.
func Room(p *project.Checkout) error { return shortage.AtWork(p.State) }

// NewMark names the processes of one effect; nobody can guess it.
func NewMark() string {
	var b [16]byte
	// crypto/rand never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
