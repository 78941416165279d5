package cli

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/jobs"
	"forge/internal/refusal"
)

// jobOptions are the flags of job start beside those of a run.
type jobOptions struct {
	runOptions
	description string
	expert      string
	documents   []string
	sources     []string
	maxPhases   int // -1 = as configured
	budget      int // 0 = as configured
}

func (a *App) jobStartCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "what is to be done, in your `WORDS`; - reads it from standard input"},
		&cli.StringFlag{Name: "expert", Usage: "who does it, `NAME`: " + strings.Join(gates.Experts(), ", ") + ", or a folder of " + config.ExpertFolder},
		&cli.GenericFlag{Name: "doc", Usage: "give the job `FILE` to read; may be repeated", Value: &words{}},
		&cli.GenericFlag{Name: "data", Usage: "let the job look into data source `NAME`; may be repeated", Value: &words{}},
		&cli.IntFlag{Name: "max-phases", Usage: "stop after `N` phases; 0 = no limit", DefaultText: "job.max_phases"},
		&cli.IntFlag{Name: "budget", Usage: "`N` iterations for each phase", DefaultText: "of the expert, else defaults.budget"},
	}
	leaveOut := []string{"from", "only", "max-parallel", "fail-fast", "dry-run", "generate", "strict"}
	for _, f := range runFlags() {
		if !slices.Contains(leaveOut, f.Names()[0]) {
			flags = append(flags, f)
		}
	}
	return &cli.Command{
		Name: "start", Usage: "start a job and drive it", Flags: flags,
		Action: func(c *cli.Context) error {
			o, err := a.jobOptions(c)
			if err != nil {
				return err
			}
			return a.startJob(c.Context, o)
		},
	}
}

func (a *App) jobOptions(c *cli.Context) (jobOptions, error) {
	run, err := a.runOptions(c)
	o := jobOptions{
		runOptions: run, expert: c.String("expert"), documents: wordsOf(c, "doc"), sources: wordsOf(c, "data"), maxPhases: -1, budget: c.Int("budget"),
	}
	if err != nil {
		return o, err
	}
	if c.Args().Present() {
		return o, refusal.New(`forge job start -d "…"`, "forge job start takes no arguments, got %q: put the description into quotes", c.Args().First())
	}
	if c.IsSet("max-phases") {
		if o.maxPhases = c.Int("max-phases"); o.maxPhases < 0 {
			return o, refusal.New("use 0 for no limit", "--max-phases %d is negative", o.maxPhases)
		}
	}
	if c.IsSet("budget") && (o.budget < 1 || o.budget > 100_000) {
		return o, refusal.New("use 1 or more", "--budget %d is not a number of iterations", o.budget)
	}
	if c.IsSet("expert") && o.expert == "" {
		return o, refusal.New("use one of "+strings.Join(gates.Experts(), ", ")+", or leave --expert out", "--expert names no expert")
	}
	o.description, err = a.description(c.String("description"))
	return o, err
}

// description is the text of -d, where "-" stands for standard input.
func (a *App) description(text string) (string, error) {
	if text == "-" {
		read, err := io.ReadAll(io.LimitReader(a.Stdin, jobs.MaxDescription*2))
		if err != nil {
			return "", refusal.New("", "read the description from standard input: %v", err)
		}
		text = string(read)
	}
	return jobs.CleanDescription(text)
}

// startJob opens a new job and drives it.
func (a *App) startJob(ctx context.Context, o jobOptions) error {
	if err := git.Probe(ctx); err != nil {
		return err
	}
	p, err := a.openProject(ctx, o.settings...)
	if err != nil {
		return err
	}
	defer p.Close()
	documents, err := jobs.ReadGiven(p.Dir, o.documents)
	if err != nil {
		return err
	}
	b, err := jobs.Prepare(ctx, p.Checkout, jobs.Order{
		Description: o.description, Expert: o.expert, Documents: documents, Sources: o.sources, Policy: o.policy, MaxPhases: o.maxPhases, Budget: o.budget,
		AnswerYes: o.yes, NoMerge: o.noMerge, Fresh: o.again,
	})
	if err != nil {
		return err
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	if err := p.CheckUnfinished(ctx, o.fresh, "forge job start"); err != nil {
		return err
	}
	e, err := p.Machine(ctx)
	if err != nil {
		return err
	}
	p.sayAtStart(ctx, e, o.runOptions)
	run, err := b.Open(ctx, p.Checkout, e, p.NewRunID(), p.creator(o.runOptions))
	if err != nil {
		return err
	}
	return p.carryOn(ctx, e, run.Lease, run.State, run.First, o.runOptions)
}
