package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/jobs"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
)

func (a *App) jobListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the jobs of this project", Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refusal.New("forge job show JOB shows one", "forge job list takes no arguments, got %q", c.Args().First())
			}
			return a.listJobs(c.Context, out)
		},
	}
}

func (a *App) listJobs(ctx context.Context, output string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	list := []report.JobSummary{}
	ok, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	if ok {
		all, err := jobs.All(ctx, p.Checkout)
		if err != nil {
			return err
		}
		for _, j := range all {
			one, err := report.Summarize(ctx, p.Checkout, j.Row, j.State)
			if err != nil {
				return err
			}
			list = append(list, one)
		}
	}
	if output == "json" {
		return printJSON(a.Stdout, map[string]any{"jobs": list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.Stdout, `This project has no jobs: forge job start -d "…" starts one.`)
		return err
	}
	var rows [][]string
	for _, j := range list {
		rows = append(rows, []string{j.Job, string(j.Status), j.Level, fmt.Sprint(j.Phases), a.env().Ago(j.Updated), text.OneLine(j.Description, 60)})
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table([]string{"JOB", "STATUS", "LEVEL", "PHASES", "LAST EVENT", "DESCRIPTION"}, rows)))
	return err
}
