package cli

import (
	"context"
	"slices"

	"forge/internal/jobs"

	"github.com/urfave/cli/v2"
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
	row, _, err := jobs.Pick(ctx, p.Checkout, id)
	return row.ID, err
}
