package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"forge/factory/triage"
	"forge/internal/report"
	"forge/internal/runs"
	"forge/internal/worker"
)

func (a *App) whyCommand() *cli.Command {
	return &cli.Command{
		Name: "why", Usage: "show what was decided in a run or phase, with its facts", ArgsUsage: "[PHASE]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "also that nobody had to decide and the work went on"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			phase, err := oneArg(c.Args().Slice(), "phase")
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			for _, id := range []string{c.String("run"), phase} {
				if triage.IsThread(id) {
					return p.whyThread(c.Context, id, out)
				}
			}
			return p.why(c.Context, c.String("run"), phase, out, c.Bool("all"))
		},
	}
}

func (p *checkout) why(ctx context.Context, run, phase, output string, all bool) error {
	row, s, evs, err := p.LookAt(ctx, run)
	if err != nil {
		return err
	}
	spec, err := p.SpecOf(ctx, evs[0])
	if err != nil {
		return err
	}
	if phase != "" && s.View(phase) == nil {
		return runs.NoPhase(s, phase)
	}
	out, err := report.WhyOf(row, s, spec, evs, phase)
	if err != nil {
		return err
	}
	if output == "json" {
		return printJSON(p.app.Stdout, out)
	}
	landing := ""
	if s.Spec.Issue != nil {
		landing = worker.LandingSaid(p.Layout().Log(s.Run, "landing-verify"))
	}
	return out.Write(p.app.Stdout, row, s, landing, all)
}
