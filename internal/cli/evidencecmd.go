package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/text"
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
	_, err = fmt.Fprint(a.Stdout, branchEvidenceText(shown, opt))
	return err
}

// branchEvidenceText is what forge evidence prints.
func branchEvidenceText(s trusted.Shown, opt evidenceOptions) string {
	var b strings.Builder
	if len(s.Files) > 0 {
		var rows [][]string
		for _, seen := range s.Files {
			rows = append(rows, []string{clean(seen.Path), string(seen.Class), seen.Rule, clean(seen.Why)})
		}
		b.WriteString(text.Table([]string{"PATH", "SEEN AS", "RULE", "WHY"}, rows))
	} else {
		var rows [][]string
		for _, c := range s.Counts {
			rows = append(rows, []string{string(c.Class), c.Rule, fmt.Sprint(c.Files)})
		}
		b.WriteString(text.Table([]string{"SEEN AS", "RULE", "FILES"}, rows))
	}
	on := cmp.Or(s.Target, "the commit that is checked out")
	if len(s.Differs) == 0 {
		fmt.Fprintf(&b, "\nAll of this evidence is as a person last accepted it on %s.\n", clean(on))
		return b.String()
	}
	var rows [][]string
	for _, d := range s.Differs {
		rows = append(rows, []string{"  " + clean(d.Path), d.How, text.Short(d.Commit), cmp.Or(clean(d.Run), "-"), clean(d.What)})
	}
	fmt.Fprintf(&b, "\nNot as a person last accepted it on %s; proofs are held against what was accepted:\n", clean(on))
	b.WriteString(text.Table([]string{"  PATH", "IS", "SINCE", "RUN", "COMMIT"}, rows))
	b.WriteString("\nLook:   git log -p -- PATH\nAccept: forge evidence accept " + acceptArgs(opt) + "\n")
	return b.String()
}

// clean is a path or a subject as a cell of a table.
func clean(body string) string { return text.OneLine(body, 120) }

// acceptArgs are what accepts what is shown.
func acceptArgs(opt evidenceOptions) string {
	args := "PATH... | --all"
	if opt.target != "" {
		args += " --target " + opt.target
	}
	return args
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
	return a.sayAccepted(out)
}

func (a *App) sayAccepted(out trusted.Accepted) error {
	if len(out.Accepted) == 0 {
		_, err := fmt.Fprintf(a.Stdout, "Nothing to accept: the evidence is as a person last accepted it on %s.\n", clean(out.Target))
		return err
	}
	for _, d := range out.Accepted {
		if _, err := fmt.Fprintf(a.Stdout, "accepted %s: %s, from %s to %d, as in %s %s\n", clean(d.Path), d.How, text.Number(d.Was, "line"), d.Now, text.Short(d.Commit), clean(d.What)); err != nil {
			return err
		}
	}
	return nil
}
