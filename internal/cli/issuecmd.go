package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/gates"
	"forge/internal/issueform"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) issueCommand() *cli.Command {
	subcommands := []*cli.Command{
		a.issueAddCommand(), a.issueListCommand(), a.issueShowCommand(), a.issueEditCommand(), a.issueMoveCommand(),
		a.issueRunCommand(), a.issueCancelCommand(),
		a.issueStandCommand("retry", "take up an issue again that failed or was cancelled", factory.Board.Retry),
	}
	return &cli.Command{
		Name: "issue", Usage: "the board: issues and where they stand", Subcommands: subcommands,
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowSubcommandHelp(c)
			}
			var names []string
			for _, s := range subcommands {
				names = append(names, s.Name)
			}
			word, hint := c.Args().First(), ""
			if near := gates.Nearest(word, names); near != "" {
				hint = "; did you mean " + near + "?"
			}
			return refusal.New("forge issue "+strings.Join(names, ", "), "unknown command %q%s", "issue "+word, hint)
		},
	}
}

// by is the person at the command line; note is what they say about a change,
// of which the first line is kept.
func (a *App) by(note string) factory.By {
	return factory.By{Name: text.PlainLine(a.env().User()), Door: "cli", Note: text.FirstLine(text.Plain(note), 300)}
}

// issueArg is the number of the one issue that a command is about.
func issueArg(c *cli.Context, rest string) (int64, error) {
	usage := "forge issue " + c.Command.Name + " ISSUE" + rest + "; forge issue list shows the issues"
	if c.Args().Len() != 1+len(strings.Fields(rest)) {
		return 0, refusal.New(usage, "forge issue %s takes ISSUE%s, got %q", c.Command.Name, rest, strings.Join(c.Args().Slice(), " "))
	}
	return issueform.Number(c.Args().First(), usage)
}

// issueError makes the user's own what is the user's to mend.
func issueError(err error) error {
	var rule *factory.Refusal
	var problems *factory.ProblemsError
	var stale *factory.StaleError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &rule):
		return refusal.New(rule.Fix, "%s", rule.What)
	case errors.As(err, &problems):
		return refusal.New("nothing was stored", "%s", problems)
	case errors.As(err, &stale):
		return refusal.New("forge issue show "+strconv.FormatInt(stale.Issue, 10)+", then edit that version", "%s", stale)
	case errors.Is(err, work.ErrNoIssue):
		// Where it was looked up is of no use to who mistyped a number.
		_, which, _ := strings.Cut(err.Error(), work.ErrNoIssue.Error())
		return refusal.New("forge issue list shows the issues", "there is no issue%s", which)
	case errors.Is(err, work.ErrStale):
		return refusal.New("try again", "%s", err)
	}
	return err
}

// issueStandCommand is a command that takes an issue and perhaps a reason.
func (a *App) issueStandCommand(name, usage string, do func(factory.Board, context.Context, int64, factory.By) (work.Issue, error)) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: "ISSUE",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "`WHY`, for the history"},
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
			b, err := a.openBoard(c.Context, true)
			if err != nil {
				return err
			}
			defer b.Close()
			i, err := do(b.Board, c.Context, id, a.by(strings.TrimSpace(c.String("message"))))
			if err != nil {
				return issueError(err)
			}
			return a.tellIssue(c.Context, b, i, out)
		},
	}
}
