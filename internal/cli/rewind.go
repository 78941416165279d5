package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) rewindCommand() *cli.Command {
	return &cli.Command{
		Name: "rewind", Usage: "let a phase go on from what one of its iterations left", ArgsUsage: "RUN PHASE ITERATION",
		Description: "Iteration 0 is what the phase began with, 3.1 is the first attempt at iteration 3.\n" +
			"What is under way ends first. Nothing is removed: forge rewind goes to a later iteration in the same way.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "say to its agent, as `TEXT`, what is to be different"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			run, r, err := rewindArgs(c, "rewind")
			if err != nil {
				return err
			}
			return a.rewind(c.Context, run, r, out)
		},
	}
}

func (a *App) forkCommand() *cli.Command {
	return &cli.Command{
		Name: "fork", Usage: "begin a run that goes on from what an iteration of another one left", ArgsUsage: "RUN PHASE ITERATION",
		Description: "It has the plan, settings and level of that run, and what had landed there when the phase began.\n" +
			"That run stays as it is. Iteration 0 is what the phase began with, 3.1 is the first attempt at iteration 3.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "say to its agent, as `TEXT`, what is to be different"},
			&cli.DurationFlag{Name: "deadline", Usage: "end the run, resumable, after `TIME` (such as 45m)"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done, and do nothing"},
			freshFlag(),
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			o, err := a.runOptions(c)
			if err != nil {
				return err
			}
			run, r, err := rewindArgs(c, "fork")
			if err != nil {
				return err
			}
			o.fresh = true // it stands beside the one that it was forked from
			return a.fork(c.Context, run, r, o)
		},
	}
}

// rewindArgs reads RUN PHASE ITERATION[.ATTEMPT].
func rewindArgs(c *cli.Context, verb string) (run string, r work.Rewind, err error) {
	args := c.Args().Slice()
	if len(args) != 3 {
		return "", r, refusal.New(fmt.Sprintf("forge %s RUN PHASE ITERATION; forge logs --run RUN lists the iterations", verb), "forge %s takes a run, a phase of it, and an iteration", verb)
	}
	r = work.Rewind{Phase: args[1], Text: strings.TrimSpace(c.String("message"))}
	var ok bool
	if r.Iteration, r.Attempt, ok = work.ParseIteration(args[2]); !ok {
		return "", r, refusal.New("write 3, or 3.1 for the first attempt at iteration 3", "%q is not an iteration", args[2])
	}
	if c.IsSet("message") && text.Blank(r.Text) {
		return "", r, refusal.New("leave -m out, or say something", "the message is empty")
	}
	if len(r.Text) > work.MaxMessage {
		return "", r, refusal.New("shorten it, or put it into a file of the repository and name that", "the message has %d bytes, at most %d are taken", len(r.Text), work.MaxMessage)
	}
	return args[0], r, nil
}

func (a *App) rewind(ctx context.Context, run string, r work.Rewind, output string) error {
	p, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.CheckKey(); err != nil {
		return err
	}
	back, row, err := approval.Rewind(ctx, p.Checkout, run, r, p.User(), "cli")
	if err != nil {
		return err
	}
	if project.Driven(row) {
		if back, err = approval.AwaitRewind(ctx, p.Checkout, back, toldWait); err != nil {
			return err
		}
	}
	out := report.RewoundPhase(back, row)
	if output == "json" {
		return printJSON(a.Stdout, out)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(out.Text()))
	return err
}

// fork opens the fork of a run and drives it.
func (a *App) fork(ctx context.Context, run string, r work.Rewind, o runOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	if ok, err := p.OpenStore(ctx, false); err != nil || !ok {
		if err == nil {
			err = project.NoRuns()
		}
		return err
	}
	spec, err := approval.Fork(ctx, p.Checkout, run, r, p.User())
	if err != nil {
		return err
	}
	o.noMerge = spec.NoMerge
	return p.begin(ctx, spec, gates.Origin{Source: "fork of run " + spec.Fork.Run, Preset: spec.Policy.Preset}, "forge fork", o)
}
