package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
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
	repo, err := git.Open(ctx, git.Config{StateDir: p.state, Root: p.base.RepoRoot, Environ: p.app.Environ})
	if err != nil {
		return nil, err
	}
	p.settle(ctx, repo)
	red := redact.New(redact.FromEnv(p.app.Environ, proc.SecretName))
	caps := p.app.sandboxes(ctx)
	return &engine{
		repo:   repo,
		agents: agent.New(agent.Config{Environ: p.app.Environ, Caps: caps, Redact: red}),
		checks: verify.New(repo, caps, p.app.Environ, filepath.Join(p.state, "cache"), red),
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
		p.app.log.Warn("no sandbox: approvals, secrets and other files of this user are not protected from the agent", "why", why, "sandbox.mode", set.Mode)
	}
	return nil
}

// checkAgents finds every agent that the plan uses, before anything is spent,
// and says of all that cannot work what they lack.
func (p *project) checkAgents(ctx context.Context, set work.Settings) error {
	var list []config.Problem
	for _, name := range slices.Sorted(maps.Keys(set.Agents)) {
		a := set.Agents[name]
		d := agent.Detect(ctx, a, p.app.Environ)
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
				p.app.log.Warn("agent of a version that is not known", "agent", name, "why", d.Untried)
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
			p.app.log.Warn("give the run back", "err", err)
		}
	}()
	over := make(chan struct{})
	defer close(over)
	go p.leaveAtOnce(lease.Run(), over)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go p.app.stopUnread(stop, over)
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
		Journal: &held{store: p.store, lease: lease, now: p.app.Now},
		Agents:  e.agents, Repo: e.repo, Checks: e.checks, Evidence: e.evidence, Reviewers: desk, Todos: jobTodos{e.repo}, Processes: tree{kill: proc.KillMarked, log: p.app.log},
		Watch: o.watch, Layout: p.layout(), Now: p.app.Now, NewMark: newMark, Answers: o.answers, Deadline: o.deadline,
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

// leaveAtOnce is the second Ctrl-C: the agents are killed and the process ends
// here. The journal is whole at any moment, so that the run can be resumed.
func (p *project) leaveAtOnce(run string, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-p.app.Kill:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if rows, err := p.store.Attempts(ctx, run); err == nil {
		for _, r := range rows {
			_, _ = proc.KillMarked(r.Mark, 0)
		}
	}
	os.Exit(exitInterrupted)
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
}

// newMark names the processes of one effect; nobody can guess it.
func newMark() string {
	var b [16]byte
	// crypto/rand never fails (it ends the program instead).
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// newRunID is short enough to be typed: the day and four letters.
func (a *App) newRunID() string {
	const letters = "abcdefghjkmnpqrstvwxyz23456789"
	var b [4]byte
	_, _ = rand.Read(b[:])
	for i := range b {
		b[i] = letters[int(b[i])%len(letters)]
	}
	return fmt.Sprintf("%s-%s", a.Now().Format("060102"), b)
}
