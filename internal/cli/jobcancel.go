package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/jobs"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
)

func (a *App) jobCancelCommand() *cli.Command {
	return &cli.Command{
		Name: "cancel", Usage: "end a job for good; what it did so far can still be looked at", ArgsUsage: "JOB",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "`WHY`, for the record"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := oneArg(c.Args().Slice(), "job")
			if err == nil && id == "" {
				err = refusal.New("forge job cancel JOB; forge job list shows the jobs", "forge job cancel takes one job")
			}
			if err != nil {
				return err
			}
			why, err := a.comment(c.String("message"))
			if err != nil {
				return err
			}
			return a.cancelJob(c.Context, id, why, out)
		},
	}
}

// cancelJob ends a job: the process that drives it is asked to stop, which ends
// its agents, and then the end is written.
func (a *App) cancelJob(ctx context.Context, id, why, output string) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	row, _, err := jobs.Pick(ctx, p.Checkout, id)
	if err != nil {
		return err
	}
	reason := "cancelled by " + p.User()
	if why != "" {
		reason += ": " + text.FirstLine(why, 300)
	}
	s, err := jobs.Cancel(ctx, p.Checkout, row.ID, reason, jobs.CancelOptions{Judged: approval.JudgedIn(p.Checkout)})
	if errors.Is(err, jobs.ErrOver) {
		if row, err = p.PickRun(ctx, row.ID); err != nil {
			return err
		}
		return refusal.New("forge job show "+row.ID, "job %s is %s: there is nothing to cancel", row.ID, report.JobStatus(row, nil))
	}
	if err != nil {
		return err
	}
	if row, err = p.PickRun(ctx, s.Run); err != nil {
		return err
	}
	if output == "json" {
		j, err := report.Summarize(ctx, p.Checkout, row, s)
		if err != nil {
			return err
		}
		return printJSON(a.Stdout, j)
	}
	_, err = fmt.Fprintf(a.Stdout, "Job %s: cancelled. Nothing of it was merged; its documents: forge job show %s\n%s", row.ID, row.ID, report.Pulls(s))
	return err
}
