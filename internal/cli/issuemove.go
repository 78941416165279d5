package cli

import (
	"strings"

	"forge/gates"

	"github.com/urfave/cli/v2"

	"forge/factory"
	"forge/internal/issueform"
	"forge/internal/refusal"
	"forge/internal/work"
)

func (a *App) issueMoveCommand() *cli.Command {
	return &cli.Command{
		Name: "move", Usage: "put an issue into a column, at its bottom if not told otherwise", ArgsUsage: "ISSUE COLUMN",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "before", Usage: "right above `ISSUE`"},
			&cli.StringFlag{Name: "after", Usage: "right below `ISSUE`"},
			&cli.BoolFlag{Name: "top", Usage: "at the top of the column"},
			&cli.BoolFlag{Name: "bottom", Usage: "at the bottom of the column"},
			&cli.StringFlag{Name: "message", Aliases: []string{"m"}, Usage: "`WHY`, for the history"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := issueArg(c, " COLUMN")
			if err != nil {
				return err
			}
			column, err := columnOf(c.Args().Get(1))
			if err != nil {
				return err
			}
			place, err := placeOf(c)
			if err != nil {
				return err
			}
			b, err := a.openBoard(c.Context, true)
			if err != nil {
				return err
			}
			defer b.Close()
			i, err := b.Move(c.Context, id, column, place, a.by(strings.TrimSpace(c.String("message"))))
			if err != nil {
				return issueError(err)
			}
			return a.tellIssue(c.Context, b, i, out)
		},
	}
}

// columnOf is a column by its name; hyphens do as well.
func columnOf(word string) (work.Column, error) {
	var names []string
	for _, c := range work.Columns() {
		if string(c) == strings.ReplaceAll(word, "-", "_") {
			return c, nil
		}
		names = append(names, string(c))
	}
	hint := ""
	if near := gates.Nearest(word, names); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return "", refusal.New(strings.Join(names, ", "), "%q is not a column%s", word, hint)
}

func placeOf(c *cli.Context) (factory.Place, error) {
	place := factory.Place{At: factory.Bottom}
	given := 0
	for _, spot := range []factory.Spot{factory.Top, factory.Bottom, factory.Before, factory.After} {
		if !c.IsSet(string(spot)) {
			continue
		}
		given++
		place.At = spot
		if spot == factory.Before || spot == factory.After {
			id, err := issueform.Number(c.String(string(spot)), "--"+string(spot)+" 12")
			if err != nil {
				return place, err
			}
			place.Issue = id
		}
	}
	if given > 1 {
		return place, refusal.New("give one of them", "--top, --bottom, --before and --after name one place")
	}
	return place, nil
}
