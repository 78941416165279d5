package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/runs"
)

func (a *App) auditChangesCommand(run cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "changes", Usage: "which files each iteration changed", ArgsUsage: "[PHASE]", Flags: []cli.Flag{run, outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			phase, err := oneArg(c.Args().Slice(), "phase")
			if err != nil {
				return err
			}
			p, err := a.openRuns(c)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.auditChanges(c.Context, c.String("run"), phase, out)
		},
	}
}

func (p *checkout) auditChanges(ctx context.Context, run, phase, output string) error {
	_, s, evs, err := p.LookAt(ctx, run)
	if err != nil {
		return err
	}
	if phase != "" && s.View(phase) == nil {
		return runs.NoPhase(s, phase)
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	list, err := runs.IterationChanges(ctx, repo, evs, phase)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(p.app.Stdout, list)
	}
	_, err = fmt.Fprint(p.app.Stdout, runs.IterationChangesText(list))
	return err
}
