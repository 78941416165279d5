package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/jobs"
	"forge/internal/report"
	"forge/internal/text"
)

func (a *App) jobShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show a job's plan, workspace, todos and archive, and what it waits for", ArgsUsage: "[JOB]",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := oneArg(c.Args().Slice(), "job")
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.showJob(c.Context, id, out)
		},
	}
}

func (p *checkout) showJob(ctx context.Context, id, output string) error {
	row, s, err := jobs.Pick(ctx, p.Checkout, id)
	if err != nil {
		return err
	}
	out, err := report.ReadJob(ctx, p.Checkout, row, s)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(p.app.Stdout, out)
	}
	_, err = fmt.Fprint(p.app.Stdout, text.Harmless(out.Text(p.Checkout, row, s)))
	return err
}
