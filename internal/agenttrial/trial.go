package agenttrial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forge/internal/agenteval"
	"forge/internal/config"
	"forge/internal/evidence"
	"forge/internal/git"
	"forge/internal/planner"
	"forge/internal/planrun"
	"forge/internal/proc"
	"forge/internal/project"
	"forge/internal/redact"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/verify"
	"forge/internal/work"
)

// Options are what a trial is asked for with.
type Options struct {
	Program string        // forge
	From    int           // so many tasks of the past
	Agents  []string      // none = the one in use
	Tries   int           // of each agent at each task
	Budget  int           // iterations of a try
	Limit   time.Duration // time of a try
	TryUSD  float64       // cap of a try; 0 = as configured
	MaxUSD  float64       // cap of the trial; 0 = none
	Resume  string        // the trial to go on with, "" = a new one
}

// Ended is how far a trial came.
type Ended struct {
	Trial   *agenteval.Trial
	Stopped bool   // the context was cancelled
	Reached string // the limit that ended it, "" = none
}

// trial is one at work.
type trial struct {
	p        *project.Checkout
	o        Options
	t        *agenteval.Trial
	program  string
	limit    time.Duration
	set      work.Settings
	repo     *git.Store
	evidence *evidence.Store
	bench    *verify.Bench
	caps     proc.Capabilities
	hide     *redact.Redactor
	dir      string // everything temporary
}

// Run finds the tasks, has each agent do them, and stores what came of each before
// the next: what was paid for is kept.
func Run(ctx context.Context, env project.Env, o Options) (end *Ended, err error) {
	p, err := project.Open(ctx, env)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	r := &trial{p: p, o: o, program: o.Program}
	if o.Resume != "" {
		r.t, err = Pick(env, o.Resume)
	} else {
		r.t, err = r.fresh(env)
	}
	if err != nil {
		return nil, err
	}
	r.limit = time.Duration(r.t.Limit * float64(time.Second))
	drop, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, drop()) }()
	end = &Ended{Trial: r.t}
	err = r.play(ctx, end)
	if errors.Is(err, context.Canceled) {
		end.Stopped, err = true, nil
	}
	return end, err
}

// fresh is a trial that has not begun.
func (r *trial) fresh(env project.Env) (*agenteval.Trial, error) {
	if r.p.Base.Commit == "" {
		return nil, refusal.New("commit something first", "there is no history to take tasks from")
	}
	t := agenteval.New(env.NewRunID(), env.Now().UTC())
	t.Head, t.Agents, t.Tries, t.Budget, t.Limit = r.p.Base.Commit, r.o.Agents, r.o.Tries, r.o.Budget, r.o.Limit.Seconds()
	return t, nil
}

// open makes what tries take on this machine.
func (r *trial) open(ctx context.Context) (drop func() error, err error) {
	found, err := planrun.Discover(ctx, r.p, false)
	if err != nil {
		return nil, err
	}
	const words = "do a change of the past again"
	spec, _, err := planrun.OfText(r.p, words, planner.Single(words, r.t.Budget), false, config.PolicyFlags{Autonomous: true})
	if err != nil {
		return nil, err
	}
	r.set = spec.Settings
	if len(r.set.Verify.Commands) == 0 {
		return nil, refusal.New("name it in [verify] of .forge/forge.toml", "no test command is known, so nothing says whether a task was solved")
	}
	if len(r.t.Tasks) > 0 && !slices.Equal(r.t.Verify, r.set.Verify.Commands) {
		return nil, refusal.New("begin a new one: forge eval agents", "the tasks of trial %s were found with other verify commands than hold now", r.t.ID)
	}
	r.t.Verify = r.set.Verify.Commands
	if len(r.t.Agents) == 0 {
		r.t.Agents = []string{spec.Settings.Phases["1"].Agent}
	}
	for _, s := range found.Settings {
		r.p.Log.Info("found, as nothing is configured", "key", s.Key, "value", text.OneLine(s.Value, 100))
	}
	if r.t.Network = "open"; !r.set.Sandbox.Network {
		r.t.Network = "cut"
		if r.set.Sandbox.OnlyHosts {
			r.t.Network = "their own services and the hosts that the settings name"
		}
	}
	if r.dir, err = os.MkdirTemp("", "forge-agents-"); err == nil {
		r.dir, err = filepath.EvalSymlinks(r.dir)
	}
	if err != nil {
		return nil, refusal.New("set TMPDIR to a folder that can be written", "make a folder for the trial: %v", err)
	}
	drop = func() error { return os.RemoveAll(r.dir) }
	r.caps = r.p.Sandboxes(ctx)
	r.hide = redact.New(redact.FromEnv(r.p.Environ, proc.SecretName))
	if r.repo, err = git.Open(ctx, git.Config{StateDir: filepath.Join(r.dir, "of-the-project"), Root: r.p.Base.RepoRoot, Environ: r.p.Environ}); err != nil {
		return nil, errors.Join(err, drop())
	}
	r.evidence = evidence.New(r.repo, filepath.Join(r.dir, "evidence"))
	r.bench = verify.New(r.repo, r.caps, r.p.Environ, filepath.Join(r.dir, "cache"), r.hide)
	return drop, nil
}

// rules are by which evidence is told from product.
func (r *trial) rules() work.EvidenceRequest {
	return work.EvidenceRequest{Protected: r.set.Verify.Protected, Commands: slices.Concat(r.set.Worktree.Setup, r.set.Verify.Commands), Proof: r.set.Proof}
}

func (r *trial) play(ctx context.Context, end *Ended) error {
	if len(r.t.Tasks) == 0 {
		r.p.Log.Info("looking for changes whose tests fail before and pass after", "wanted", r.o.From, "proven with", text.OneLine(fmt.Sprint(r.t.Verify), 200))
		if err := r.find(ctx, r.o.From); err != nil {
			return err
		}
		if len(r.t.Tasks) == 0 {
			return refusal.New("they need a change of the product and of its tests in one commit, and a message; --from-history N looks further back", "none of the %d changes that were looked at can be done again: %s", len(r.t.LeftOut), reasons(r.t))
		}
		if err := save(r.p, r.t); err != nil {
			return err
		}
	}
	left := r.t.Left()
	if len(left) == 0 {
		return nil
	}
	if err := r.sealed(ctx); err != nil {
		return err
	}
	for i, next := range left {
		if end.Reached = r.spent(); end.Reached != "" {
			return nil
		}
		done, err := r.try(ctx, next)
		if err != nil {
			return err
		}
		r.t.Done = append(r.t.Done, done)
		if err := save(r.p, r.t); err != nil {
			return err
		}
		r.p.Log.Info(fmt.Sprintf("try %d of %d: %s", i+1, len(left), done.Status), "agent", done.Agent, "change", text.Short(done.Task), "why", text.OneLine(done.Why, 200))
	}
	return nil
}

// spent says why the cap of the trial lets no further try begin, "" = it does. What
// a try without a price cost nobody knows, and so not what is left.
func (r *trial) spent() string {
	if r.o.MaxUSD <= 0 {
		return ""
	}
	for _, d := range r.t.Done {
		if d.USD == nil && d.Iterations > 0 {
			return fmt.Sprintf("agent %q named no price, so nobody can hold --max-usd: leave it out, or bound tries by --budget and --time", d.Agent)
		}
	}
	if cost := r.t.USD(); cost >= r.o.MaxUSD {
		return fmt.Sprintf("the trial has cost $%.2f, and --max-usd is %.2f", cost, r.o.MaxUSD)
	}
	return ""
}

// reasons are the three most common ones for which changes are no tasks.
func reasons(t *agenteval.Trial) string {
	count := map[string]int{}
	var order []string
	for _, p := range t.LeftOut {
		if count[p.Why]++; count[p.Why] == 1 {
			order = append(order, p.Why)
		}
	}
	slices.SortStableFunc(order, func(a, b string) int { return count[b] - count[a] })
	said := ""
	for i, why := range order[:min(3, len(order))] {
		if i > 0 {
			said += "; "
		}
		said += fmt.Sprintf("%s (%d)", why, count[why])
	}
	return said
}
