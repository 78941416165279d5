package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/board"
	"forge/internal/narrate"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) issueShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show an issue and what became of it so far", ArgsUsage: "ISSUE",
		Flags: []cli.Flag{
			&cli.Int64Flag{Name: "before", Usage: "show the history before line `N`"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := issueArg(c, "")
			if err != nil {
				return err
			}
			if c.Int64("before") < 0 {
				return refusal.New("the oldest line shown has the number to give", "--before %d is no line", c.Int64("before"))
			}
			b, err := a.openBoard(c.Context, false)
			if err != nil {
				return err
			}
			defer b.Close()
			if b.None {
				return refusal.New(`forge issue add "…" puts an issue on it`, "this project has no board")
			}
			return a.showIssue(c.Context, b, id, c.Int64("before"), out)
		},
	}
}

func (a *App) showIssue(ctx context.Context, b *board.Opened, id, before int64, out string) error {
	s, err := report.ReadIssue(ctx, b, id, before)
	if err != nil {
		return issueError(err)
	}
	if out == "json" {
		return printJSON(a.Stdout, s)
	}
	w, done := a.viewer()
	if _, err := fmt.Fprint(w, s.Text()); err != nil {
		return err
	}
	return done()
}

// tellIssue says how an issue stands after a change.
func (a *App) tellIssue(ctx context.Context, b *board.Opened, i work.Issue, out string) error {
	blockers, err := report.BlockersOf(ctx, b, i.ID)
	if err != nil {
		return err
	}
	if out == "json" {
		return printJSON(a.Stdout, report.ListedIssue{Issue: i, BlockedBy: blockers})
	}
	body := fmt.Sprintf("#%d %s: %s", i.ID, text.OneLine(i.Title, 60), report.IssueStanding(i))
	if len(blockers) > 0 {
		body += ", blocked by " + narrate.Hashes(blockers)
	}
	_, err = fmt.Fprintln(a.Stdout, text.Harmless(body))
	return err
}
