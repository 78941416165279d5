package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/agent"
	"forge/internal/config"
	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/shortage"
	"forge/internal/verify"
	"forge/internal/work"
	"forge/orchestrator"
)

// engine is everything that a run needs of this machine.
type engine struct {
	repo   *git.Store
	agents *agent.Agents
	checks *verify.Bench
	caps   proc.Capabilities
	// evidence holds changes against what their proofs rest on.
	evidence *evidence.Store
}

func (p *project) engine(ctx context.Context) (*engine, error) {
	repo, err := git.Open(ctx, git.Config{StateDir: p.state, Root: p.base.RepoRoot, Environ: p.Environ})
	if err != nil {
		return nil, err
	}
	p.settle(ctx, repo)
	red := redact.New(redact.FromEnv(p.Environ, proc.SecretName))
	caps := proc.Detect(ctx)
	return &engine{
		repo:   repo,
		agents: agent.New(agent.Config{Environ: p.Environ, Caps: caps, Redact: red}),
		checks: verify.New(repo, caps, p.Environ, filepath.Join(p.state, "cache"), red),
		caps:   caps,

		evidence: evidence.New(repo, filepath.Join(p.state, "cache", "evidence")),
	}, nil
}

// checkSandbox refuses a run whose sandbox cannot be had, and says honestly
// when there is none.
func (p *project) checkSandbox(e *engine, set work.SandboxSettings) error {
	level, err := proc.Choose(set.Mode, e.caps)
	if err != nil {
		return refusal.New(sandboxFix()+", or set sandbox.mode in your own configuration", "%v", err)
	}
	if level == proc.LevelNone {
		why := e.caps.Why
		if set.Mode == "off" {
			why = "it is switched off"
		}
		p.Log.Warn("no sandbox: approvals, secrets and other files of this user are not protected from the agent", "why", why, "sandbox.mode", set.Mode)
	}
	return nil
}

// checkAgents finds every agent that the plan uses, before anything is spent,
// and says of all that cannot work what they lack.
func (p *project) checkAgents(ctx context.Context, set work.Settings) error {
	var list []config.Problem
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		d := agent.Detect(ctx, a, p.Environ)
		what, fix := "", ""
		switch {
		case !d.Found && a.Kind == "script":
			what, fix = "cannot be used", "correct its script"
		case !d.Found:
			what, fix = "is not installed", "install it, or name another in [agent] use"
		case d.LoggedIn == agent.LoginNo:
			what, fix = "is not logged in", "log in first"
		default:
			if d.Untried != "" {
				p.Log.Warn("agent of a version that is not known", "agent", name, "why", d.Untried)
			}
			continue
		}
		// A script has as many lines here as it has mistakes.
		for line := range strings.Lines(d.Why) {
			list = append(list, config.Problem{What: fmt.Sprintf("agent %q %s: %s", name, what, strings.TrimSpace(line)), Fix: fix})
		}
	}
	if len(list) > 0 {
		return &config.Problems{List: list}
	}
	return nil
}

func (p *project) layout() orchestrator.Layout {
	return orchestrator.Layout{State: p.state, Checkout: p.base.RepoRoot}
}

// drive runs s under lease until it ends or freezes, and releases the lease.
func (p *project) drive(ctx context.Context, e *engine, lease *journal.Lease, s *orchestrator.State, first orchestrator.Fact, o driveOptions) (work.RunFinishedData, error) {
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
	d, done, err := p.driver(e, lease, s, o)
	if err != nil {
		return work.RunFinishedData{}, err
	}
	defer done()
	return d.Run(ctx, s, first)
}

// driver is what drives s under lease; done gives back what it holds.
func (p *project) driver(e *engine, lease *journal.Lease, s *orchestrator.State, o driveOptions) (d *orchestrator.Driver, done func(), err error) {
	desk, err := p.reviewDesk(e, s.Spec.Settings.Reviews)
	if err != nil {
		return nil, nil, err
	}
	done = func() {}
	if desk.model != nil {
		done = desk.model.Close
	}
	return &orchestrator.Driver{
		Host:    p.hostOf(s.Spec, e.repo),
		Journal: &held{store: p.store, lease: lease, now: p.Now},
		Agents:  e.agents, Repo: e.repo, Checks: e.checks, Evidence: e.evidence, Reviewers: desk, Todos: jobTodos{e.repo}, Processes: tree{kill: proc.KillMarked, log: p.Log},
		Watch: o.watch, Layout: p.layout(), Now: p.Now, NewMark: newMark, Answers: o.answers, Deadline: o.deadline,
		Room: func() error { return shortage.Lacks(p.state, leastRoom, leastFiles) },
	}, done, nil
}

// reviewDesk is who reviews a run, and what its arbiter's model is asked with.
func (p *project) reviewDesk(e *engine, set work.ReviewSettings) (*reviewDesk, error) {
	desk := &reviewDesk{repo: e.repo, agents: e.agents, blobs: p.store}
	if set.By != byModel && set.Arbiter == "" {
		return desk, nil
	}
	var err error
	desk.model, err = p.model()
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

// newMark names the processes of one effect; nobody can guess it.
func newMark() string {
	var b [16]byte
	// crypto/rand never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
