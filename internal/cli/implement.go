package cli

import (
	"context"

	"github.com/urfave/cli/v2"

	"forge/internal/draft"
	"forge/internal/interview"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) implementCommand() *cli.Command {
	return &cli.Command{
		Name: "implement", Usage: "make a plan of a design document: tests before code, part by part", ArgsUsage: "DOC",
		Description: "The agent reads the document and names its parts with the criteria of each. What the document\n" +
			"leaves open is asked as by forge interview, not guessed. Each part becomes a phase that writes its\n" +
			"tests and one that makes them pass; the plan is shown, and written when you say yes.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "no-tdd", Usage: "one phase for each part, which writes its tests as well"},
			&cli.IntFlag{Name: "start-phase", Value: 1, Usage: "the number `N` of the first phase"},
			&cli.BoolFlag{Name: "dry-run", Usage: "show the plan and write nothing"},
			&cli.BoolFlag{Name: "extend", Usage: "add the phases to the plan that is there"},
		}, askFlags()...),
		Action: func(c *cli.Context) error {
			o := askOptions(c)
			o.kind, o.command = interview.OfDesign, "forge implement"
			o.noTDD, o.dryRun, o.first, o.extend = c.Bool("no-tdd"), c.Bool("dry-run"), c.Int("start-phase"), c.Bool("extend")
			switch {
			case c.Args().Len() > 1:
				return refusal.New("name one document", "forge implement takes one document, got %d", c.Args().Len())
			case o.first < 1 || o.first > 9999:
				return refusal.New("use 1 or more", "--start-phase %d is not the number of a phase", o.first)
			case o.extend && o.replace:
				return refusal.New("give one of them", "--extend and --replace contradict each other")
			}
			if o.from = c.Args().First(); o.from != "" {
				o.command += " " + text.ShellWord(o.from)
			}
			return a.implement(c.Context, o)
		},
	}
}

// implement turns a design document into a plan.
func (a *App) implement(ctx context.Context, o interviewOptions) error {
	p, err := a.openAsker(ctx, o)
	if err != nil {
		return err
	}
	defer p.Close()
	var existing *work.Plan
	if !o.dryRun {
		if existing, err = draft.Existing(p.Checkout, o.extend, o.replace); err != nil {
			return err
		}
	}
	i, err := p.asked(ctx, o)
	if err != nil {
		return err
	}
	defer i.Close()

	plan, err := i.Plan(o.first, !o.noTDD, existing)
	if err != nil {
		return err
	}
	for _, open := range i.Design.Open {
		a.log.Warn("the document leaves open: " + text.OneLine(open, 300))
	}
	if _, err := p.OpenStore(ctx, true); err != nil {
		return err
	}
	if err := p.showPlan(ctx, plan); err != nil || o.dryRun {
		return err
	}
	// The spec is what the phases are told of the whole.
	write := generateOptions{extend: o.extend, replace: o.replace, yes: o.yes, kept: o.command}
	if err := p.writePlan(ctx, write, plan, i.Wish, false); err != nil {
		return err
	}
	return i.Over()
}
