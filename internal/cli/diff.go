package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/git"
	"forge/internal/refusal"
	"forge/internal/runs"
	"forge/internal/text"
	"forge/internal/tui"
)

func (a *App) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "show what a run, a phase or an iteration changed", ArgsUsage: "[run | PHASE [ITERATION]]",
		Flags: []cli.Flag{
			runFlag(),
			&cli.IntFlag{Name: "attempt", Usage: "of an iteration that ran more than once: attempt `N`, else the last"},
			&cli.BoolFlag{Name: "stat", Usage: "list the changed files without the changes"},
		},
		Action: func(c *cli.Context) error {
			what, err := diffArgs(c)
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.diff(c.Context, c.String("run"), what, c.Bool("stat"))
		},
	}
}

func diffArgs(c *cli.Context) (runs.Part, error) {
	args := c.Args().Slice()
	bad := refusal.New("forge diff, forge diff 05, or forge diff 05 3", "forge diff takes a phase and an iteration of it, got %q", strings.Join(args, " "))
	var d runs.Part
	switch {
	case len(args) > 2:
		return d, bad
	case len(args) > 0 && args[0] != "run":
		d.Phase = args[0]
	case len(args) == 2:
		return d, bad
	}
	if len(args) == 2 {
		n, err := strconv.Atoi(args[1])
		if err != nil || n < 1 {
			return d, refusal.New("iterations are counted from 1", "%q is not the number of an iteration", args[1])
		}
		d.Iteration = n
	}
	d.Attempt = c.Int("attempt")
	if c.IsSet("attempt") && (d.Attempt < 1 || d.Iteration == 0) {
		return d, refusal.New("forge diff 05 3 --attempt 1", "--attempt goes with an iteration and counts from 1")
	}
	return d, nil
}

func (p *checkout) diff(ctx context.Context, run string, what runs.Part, stat bool) error {
	row, err := p.PickRun(ctx, run)
	if err != nil {
		return err
	}
	spans, err := runs.Spans(ctx, p.Checkout, row.ID, what)
	if err != nil {
		return err
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	empty := true
	for _, s := range spans {
		patch, err := repo.Diff(ctx, s.From, s.To)
		if err != nil {
			return fmt.Errorf("diff %s: %w", s.Title, err)
		}
		if patch == "" {
			continue
		}
		if empty = false; s.Repository != "" {
			patch = git.InRepository(patch, s.Repository)
		}
		if err := p.printSpan(s, patch, len(spans) > 1, stat); err != nil {
			return err
		}
	}
	if empty {
		// Not on stdout, where a patch is expected.
		p.Log.Info("no change", "of", spans[0].Title)
	}
	return nil
}

func (p *checkout) printSpan(s runs.Span, patch string, titled, stat bool) error {
	if stat {
		_, err := fmt.Fprintf(p.app.Stdout, "%s: %s..%s\n%s", s.Title, text.Short(s.From), text.Short(s.To), text.Harmless(tui.PatchStat(patch)))
		return err
	}
	if titled {
		p.Log.Info(s.Title, "from", text.Short(s.From), "to", text.Short(s.To))
	}
	return p.app.printPatch(patch)
}

// printPatch prints a patch on stdout: as it is into a file or pipe, harmless
// and coloured on a terminal.
func (a *App) printPatch(patch string) error {
	if isTerminal(a.Stdout) {
		patch = text.Harmless(patch)
	}
	if a.colour() {
		patch = tui.ColourPatch(patch)
	}
	if patch != "" && !strings.HasSuffix(patch, "\n") {
		patch += "\n"
	}
	_, err := io.WriteString(a.Stdout, patch)
	return err
}
