package cli

import (
	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/runlog"
)

func (a *App) logsCommand() *cli.Command {
	return &cli.Command{
		Name: "logs", Usage: "show what the agents said and did", ArgsUsage: "[PHASE]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.IntFlag{Name: "iteration", Aliases: []string{"i"}, Usage: "of iteration `N` alone"},
			&cli.IntFlag{Name: "attempt", Usage: "of attempt `N` alone, where an iteration ran more than once"},
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "go on as the agents print, until the run ends"},
			&cli.BoolFlag{Name: "full", Usage: "with what tools answered and what the agents thought"},
			&cli.BoolFlag{Name: "raw", Usage: "the bytes that the agents printed"},
			&cli.BoolFlag{Name: "verify", Usage: "what the verify commands printed"},
			&cli.BoolFlag{Name: "prompt", Usage: "the prompts that were sent"},
		},
		Action: func(c *cli.Context) error {
			phase, err := oneArg(c.Args().Slice(), "phase")
			if err != nil {
				return err
			}
			f := runlog.Filter{Phase: phase, Iteration: c.Int("iteration"), Attempt: c.Int("attempt"), Verify: c.Bool("verify"), Prompt: c.Bool("prompt"),
				Full: c.Bool("full"), Raw: c.Bool("raw")}
			switch {
			case c.IsSet("iteration") && f.Iteration < 1, c.IsSet("attempt") && f.Attempt < 1:
				return refusal.New("they are counted from 1", "there is no such iteration or attempt")
			case f.Verify && f.Prompt:
				return refusal.New("name one", "--verify and --prompt do not go together")
			case f.Raw && f.Full:
				return refusal.New("name one", "--raw and --full do not go together")
			case (f.Raw || f.Full) && (f.Verify || f.Prompt):
				return refusal.New("leave it out", "--raw and --full are about what agents printed, not --verify or --prompt")
			case f.Verify && f.Attempt > 0:
				return refusal.New("leave it out", "--attempt does not go with --verify")
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			out, done := a.viewer()
			if !c.Bool("follow") {
				return runlog.Show(c.Context, p.Checkout, c.String("run"), f, out, done)
			}
			err = runlog.Follow(c.Context, p.Checkout, c.String("run"), f, out, done)
			if err != nil && c.Context.Err() != nil {
				return codeError(exitInterrupted)
			}
			return err
		},
	}
}
