package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/backtest"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
)

func (a *App) policyBacktestCommand() *cli.Command {
	return &cli.Command{
		Name: "backtest", Usage: "say what another policy would have decided in past runs; nothing is executed",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "policy", Usage: "the preset `NAME` to try"},
			&cli.StringSliceFlag{Name: "runs", Usage: "of run `ID` alone (repeatable, or with commas); all runs without it"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			switch {
			case c.Args().Present():
				return refusal.New("forge policy backtest --policy NAME --runs ID", "forge policy backtest takes no arguments, got %q", c.Args().First())
			case c.String("policy") == "":
				return refusal.New("forge policy list shows the presets", "forge policy backtest needs --policy NAME")
			}
			return a.backtest(c.Context, c.String("policy"), c.StringSlice("runs"), out)
		},
	}
}

func (a *App) backtest(ctx context.Context, name string, runs []string, output string) error {
	cfg, err := a.loadConfig(ctx)
	if err != nil {
		return err
	}
	policy, err := project.Preset(cfg, name)
	if err != nil {
		return err
	}
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	some, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	out := backtest.Backtest{Policy: name, Version: policy.Version(), Runs: []backtest.Report{}}
	if some {
		if out.Runs, err = p.replayAll(ctx, policy, runs); err != nil {
			return err
		}
	}
	for _, report := range out.Runs {
		out.Totals.Add(report)
	}
	if output == "json" {
		return printJSON(a.Stdout, out)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(out.Text()))
	return err
}

// recorded are the runs of a checkout for backtest.
type recorded struct {
	*project.Checkout
	*journal.Store
}

// replayAll asks of the named runs, or of all, what policy would have decided.
func (p *checkout) replayAll(ctx context.Context, policy gates.Policy, names []string) ([]backtest.Report, error) {
	rows, err := runs.PickAll(ctx, p.Checkout, names)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, row := range rows {
		if row.Events > 0 { // else it is just being opened
			ids = append(ids, row.ID)
		}
	}
	return backtest.All(ctx, recorded{p.Checkout, p.Journal}, policy, ids)
}
