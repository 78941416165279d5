package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/git"
	"forge/internal/handoff"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/orchestrator"
)

func (a *App) resumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "go on with a run that is frozen, interrupted, at a limit, or failed", ArgsUsage: "[RUN]",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "budget", Usage: "widen the budget of a phase: `N=ITERATIONS`"},
			&cli.StringSliceFlag{Name: "cost", Usage: "raise a cap: `KEY=VALUE`, such as run_usd=20"},
			&cli.IntFlag{Name: "max-phases", Usage: "let a job have `N` phases in all"},
			&cli.DurationFlag{Name: "deadline", Usage: "end the run, resumable, after `TIME`"},
			&cli.BoolFlag{Name: "push", Usage: "send the run to a remote when it ends or freezes"},
			remoteFlag("take the run from the remote `NAME`, and send it back; with --push alone, where that goes"),
			&cli.BoolFlag{Name: "take", Usage: "take it although another machine works on it, which is gone for good"},
			&cli.BoolFlag{Name: "as-recorded", Usage: "let a run from elsewhere use the settings that it began with there"},
			freshFlag(),
			levelFlag(),
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			o, err := resumeOptions(c)
			if err != nil {
				return err
			}
			if c.Args().Len() > 1 {
				return refusal.New("forge resume RUN", "forge resume takes one run, got %q as well", c.Args().Get(1))
			}
			o.run = c.Args().First()
			return a.resume(c.Context, o)
		},
	}
}

// resumeOptions are the flags of resume.
func resumeOptions(c *cli.Context) (runOptions, error) {
	out, err := outputOf(c, "text", "json")
	if err != nil {
		return runOptions{}, err
	}
	if c.IsSet("deadline") && c.Duration("deadline") <= 0 {
		return runOptions{}, refusal.New("write a time such as 45m", "--deadline %v is not in the future", c.Duration("deadline"))
	}
	o := runOptions{again: c.Bool("fresh"), deadline: c.Duration("deadline"), push: c.Bool("push"), remote: c.String("remote"), fetch: c.IsSet("remote"), take: c.Bool("take"), asRecorded: c.Bool("as-recorded"), output: out, costs: c.StringSlice("cost"), level: c.String("level")}
	if o.maxPhases = c.Int("max-phases"); c.IsSet("max-phases") && o.maxPhases < 1 {
		return runOptions{}, refusal.New("name how many there may be in all", "--max-phases %d is no number of phases", o.maxPhases)
	}
	o.budgets, err = parseBudgets(c.StringSlice("budget"))
	return o, err
}

func parseBudgets(words []string) (map[string]int, error) {
	out := map[string]int{}
	for _, w := range words {
		n, text, ok := strings.Cut(w, "=")
		b, err := strconv.Atoi(text)
		if !ok || err != nil || b < 1 {
			return nil, refusal.New("write it as --budget 05=20", "--budget %q is not PHASE=ITERATIONS", w)
		}
		out[n] = b
	}
	return out, nil
}

// resume goes on with a run where its events left it.
func (a *App) resume(ctx context.Context, o runOptions) (err error) {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	p, err := a.openRecorded(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if ok, err := p.OpenStore(ctx, o.fetch); err != nil || !ok {
		if err == nil {
			err = refusal.New("forge run starts one", "this project has no runs")
		}
		return err
	}
	if err := p.CheckKey(); err != nil {
		return err
	}
	if o.level != "" {
		if _, err := project.Preset(p.Config, o.level); err != nil {
			return err
		}
	}
	e := o.with
	if e == nil {
		if e, err = p.Machine(ctx); err != nil {
			return err
		}
	}
	if o.run, err = handoff.Take(ctx, p.Checkout, e.Repo, handoff.Wanted{Run: o.run, Remote: o.remote, Fetch: o.fetch, Push: o.push, Force: o.take, AsRecorded: o.asRecorded}); err != nil {
		return err
	}
	driven := false
	defer func() {
		if !driven {
			err = errors.Join(err, handoff.GiveBack(context.WithoutCancel(ctx), p.Checkout, e.Repo, o.run))
		}
	}()
	row, err := runs.PickResumable(ctx, p.Checkout, o.run)
	if err != nil {
		return err
	}
	if o.with == nil {
		hostwatch.ReadRun(ctx, p.Checkout, row.ID)
	}
	lease, err := p.Journal.AcquireRun(ctx, row.ID, journal.Self())
	if err != nil {
		return project.Held(err)
	}
	s, _, err := p.LoadRun(ctx, row.ID)
	if err == nil {
		err = runs.CheckAnchor(ctx, p.Checkout, e, row.ID)
	}
	if err == nil {
		err = runs.CheckWork(ctx, p.Checkout, e, s)
	}
	var first orchestrator.Resumed
	if err == nil {
		first, err = runs.Reopen(p.Checkout, s, runs.Widening{Budgets: o.budgets, Costs: o.costs, MaxPhases: o.maxPhases, Fresh: o.again})
	}
	if err == nil {
		err = p.CheckSandbox(ctx, e, s.Spec.Settings.Sandbox)
	}
	if err == nil {
		if o.level == "" {
			err = p.CheckHooks(s.Spec, s.Spec.Policy)
		}
	}
	if err == nil {
		spec, phases := s.Spec, runs.NotDone(s)
		if spec.Job != nil {
			spec, phases = project.JobAsPlan(spec), []string{project.JobPhases}
		}
		err = p.CheckReviewer(ctx, spec.Settings, phases)
	}
	if err == nil && o.level != "" {
		var c approval.LevelChange
		if c, err = approval.LevelFor(p.Checkout, s, o.level); err == nil {
			c.Say(p.Checkout)
			err = c.Tell(ctx, p.Checkout, p.User(), "cli")
		}
	}
	if err != nil {
		return errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
	}
	driven = true
	return p.carryOn(ctx, e, lease, s, first, o)
}
