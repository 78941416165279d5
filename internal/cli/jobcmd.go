package cli

import (
	"context"
	"slices"

	"github.com/urfave/cli/v2"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) jobCommand() *cli.Command {
	return &cli.Command{
		Name: "job", Usage: "work without a fixed plan: phases that plan and phases that do, until the job is complete",
		Subcommands: []*cli.Command{a.jobStartCommand(), a.jobListCommand(), a.jobShowCommand(), a.jobCancelCommand(), a.jobResumeCommand()},
		Action: func(c *cli.Context) error {
			if c.Args().Present() {
				return unknownCommand(c, "job")
			}
			return cli.ShowSubcommandHelp(c)
		},
	}
}

// words is a flag that may be given several times, each time with one word:
// unlike a StringSlice it leaves commas in names alone.
type words []string

func (w *words) Set(v string) error { *w = append(*w, v); return nil }
func (w *words) String() string     { return "" }

func wordsOf(c *cli.Context, name string) []string {
	w, ok := c.Generic(name).(*words)
	if !ok || w == nil {
		return nil
	}
	return slices.Clone(*w)
}

func (a *App) jobResumeCommand() *cli.Command {
	return &cli.Command{
		Name: "resume", Usage: "go on with a job, as forge resume does", ArgsUsage: "[JOB]", Flags: a.resumeCommand().Flags,
		Action: func(c *cli.Context) error {
			id, err := oneArg(c.Args().Slice(), "job")
			if err != nil {
				return err
			}
			o, err := resumeOptions(c)
			if err != nil {
				return err
			}
			if o.run, err = a.jobID(c.Context, id); err != nil {
				return err
			}
			return a.resume(c.Context, o)
		},
	}
}

// jobID is the whole id of a job that is named, or of the newest that something
// is left to do in.
func (a *App) jobID(ctx context.Context, id string) (string, error) {
	p, err := a.openJournal(ctx)
	if err != nil {
		return "", err
	}
	defer p.Close()
	row, _, err := pickJob(ctx, p.Checkout, id)
	return row.ID, err
}

// pickJob is the job that is named; "" is the newest that something is left to
// do in, else the newest.
func pickJob(ctx context.Context, p *project.Checkout, id string) (journal.RunRow, *orchestrator.State, error) {
	if id != "" {
		row, s, err := p.StandOf(ctx, id)
		if err == nil && s.Spec.Job == nil {
			err = refusal.New("forge job list shows the jobs", "%s is a run of a plan, not a job", row.ID)
		}
		return row, s, err
	}
	jobs, err := jobsOf(ctx, p)
	if err != nil {
		return journal.RunRow{}, nil, err
	}
	if len(jobs) == 0 {
		return journal.RunRow{}, nil, noJobs()
	}
	newest := jobs[0]
	for _, j := range jobs {
		if j.row.Unfinished() {
			newest = j
			break
		}
	}
	return newest.row, newest.state, nil
}

func noJobs() error {
	return refusal.New(`forge job start -d "…" starts one`, "this project has no jobs")
}

// standingJob is a job and where it stands.
type standingJob struct {
	row   journal.RunRow
	state *orchestrator.State
}

// jobsOf are the runs that are jobs, the newest first. Of the others the first
// event alone is read.
func jobsOf(ctx context.Context, p *project.Checkout) ([]standingJob, error) {
	rows, err := runs.WithoutTriage(p.Journal.Runs(ctx))
	if err != nil {
		return nil, err
	}
	var out []standingJob
	for _, row := range rows {
		is, err := isJob(ctx, p, row)
		if err != nil {
			return nil, err
		}
		if !is {
			continue
		}
		row, s, err := p.StandOf(ctx, row.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, standingJob{row, s})
	}
	return out, nil
}

func isJob(ctx context.Context, p *project.Checkout, row journal.RunRow) (bool, error) {
	if row.Events == 0 {
		return false, nil // it is just being opened
	}
	for e, err := range p.Journal.Replay(ctx, row.ID, 0) {
		if err != nil {
			return false, err
		}
		s, err := p.BeginRun(ctx, row.ID, []work.Event{e})
		return err == nil && s.Spec.Job != nil, err
	}
	return false, nil
}
