package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/trusted"
)

func (a *App) evidenceCommand() *cli.Command {
	return &cli.Command{
		Name: "evidence", Usage: "show which files the proof rests on, and what of them nobody has accepted", ArgsUsage: "[PATH...]",
		Description: "With paths, files or folders: how each is seen, and why. The rules read the evidence that a person last accepted.",
		Flags: []cli.Flag{
			targetFlag(),
			&cli.BoolFlag{Name: "all", Usage: "list every file"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Bool("all") && c.Args().Present() {
				return refusal.New("leave one of them out", "forge evidence takes paths or --all, not both")
			}
			return a.showEvidence(c.Context, evidenceOptions{target: c.String("target"), paths: c.Args().Slice(), all: c.Bool("all"), json: out == "json"})
		},
		Subcommands: []*cli.Command{a.evidenceAcceptCommand()},
	}
}

func (a *App) evidenceAcceptCommand() *cli.Command {
	return &cli.Command{
		Name: "accept", Usage: "trust evidence as it is at the head of the branch", ArgsUsage: "PATH...",
		Description: "For evidence that agents changed and that you have read. forge evidence lists it.",
		Flags: []cli.Flag{
			targetFlag(),
			&cli.BoolFlag{Name: "all", Usage: "accept all that differs"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Bool("all") == c.Args().Present() {
				return refusal.New("forge evidence lists what differs", "forge evidence accept takes either paths or --all")
			}
			return a.acceptEvidence(c.Context, evidenceOptions{target: c.String("target"), paths: c.Args().Slice(), all: c.Bool("all"), json: out == "json"})
		},
	}
}

func targetFlag() cli.Flag {
	return &cli.StringFlag{Name: "target", Usage: "by the trusted state of `BRANCH`, else of the one that is checked out"}
}

// evidenceOptions are what both commands take.
type evidenceOptions struct {
	target string // "" = what is checked out
	paths  []string
	all    bool
	json   bool
}

func (a *App) showEvidence(ctx context.Context, opt evidenceOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	b, err := trusted.Open(ctx, p.Checkout, opt.target)
	if err != nil {
		return err
	}
	shown, err := b.Show(ctx, opt.paths, opt.all)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(a.Stdout, shown)
	}
	_, err = fmt.Fprint(a.Stdout, shown.Text(opt.target))
	return err
}

func (a *App) acceptEvidence(ctx context.Context, opt evidenceOptions) error {
	p, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	b, err := trusted.Open(ctx, p.Checkout, opt.target)
	if err != nil {
		return err
	}
	out, err := b.Accept(ctx, opt.paths)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(a.Stdout, out)
	}
	_, err = fmt.Fprint(a.Stdout, out.Text())
	return err
}
