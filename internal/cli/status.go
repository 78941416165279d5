package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/runs"
	"forge/internal/text"
)

func (a *App) statusCommand() *cli.Command {
	return &cli.Command{
		Name: "status", Usage: "show where a run stands", ArgsUsage: "[RUN]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "list all runs of this project"},
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "go on until no process drives the run any more; not on a terminal: print what changes"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			run, err := runOf(c)
			if err != nil {
				return err
			}
			if c.Bool("all") {
				if run != "" {
					return refusal.New("leave one out", "--all and a run do not go together")
				}
				if c.Bool("watch") {
					return refusal.New("leave one out", "--all and --watch do not go together")
				}
				return a.statusAll(c.Context, out)
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			if c.Bool("watch") {
				return p.watchStatus(c.Context, run, out)
			}
			return p.status(c.Context, run, out)
		},
	}
}

func runFlag() cli.Flag {
	return &cli.StringFlag{Name: "run", Usage: "the run `ID`, or how it begins; the newest when not given"}
}

// runOf is the run named by --run or as the only argument; "" = the newest.
func runOf(c *cli.Context) (string, error) {
	run, err := oneArg(c.Args().Slice(), "run")
	if err == nil && run != "" && c.IsSet("run") && run != c.String("run") {
		err = refusal.New("name one", "two runs, %q and %q", c.String("run"), run)
	}
	if run == "" {
		run = c.String("run")
	}
	return run, err
}

func (p *checkout) status(ctx context.Context, run, output string) error {
	row, s, err := p.StandOf(ctx, run)
	if err != nil {
		return err
	}
	p.AskStalled(ctx, &row)
	asked, err := approval.Checkpoints(ctx, p.Checkout, journal.CheckpointFilter{Run: row.ID})
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(p.app.Stdout, report.StatusOf(row, s, asked))
	}
	body := report.Status(p.Checkout, row, s, asked, report.PhaseTable(s, project.Driven(row)), report.Landed(ctx, p.Checkout, s))
	if run == "" {
		more, err := report.OtherUnfinished(ctx, p.Checkout, row.ID)
		if err != nil {
			return err
		}
		body += more
	}
	_, err = fmt.Fprint(p.app.Stdout, text.Harmless(body))
	return err
}

func (a *App) statusAll(ctx context.Context, output string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	list := report.RunList{}
	if ok, err := p.OpenStore(ctx, false); err != nil {
		return err
	} else if ok {
		rows, err := runs.WithoutTriage(p.Journal.Runs(ctx))
		if err != nil {
			return err
		}
		for i := range rows {
			p.AskStalled(ctx, &rows[i])
		}
		list = report.RunsOf(rows)
	}
	if output == "json" {
		return printJSON(a.Stdout, map[string]any{"runs": list})
	}
	_, err = fmt.Fprint(a.Stdout, list.Text(a.env().Ago))
	return err
}
