package cli

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/issueform"
	"forge/internal/journal"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
)

// pageOfIssues is how many issues of a column are shown when no limit is given.
const pageOfIssues = 20

func (a *App) issueListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "show the board, column by column",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "column", Usage: "only `COLUMN`"},
			&cli.StringFlag{Name: "label", Usage: "only issues with label `WORD`"},
			&cli.StringFlag{Name: "search", Usage: "only issues with `TEXT` in title or description"},
			&cli.IntFlag{Name: "limit", Usage: fmt.Sprintf("up to `N` issues of each column, at most %d", journal.MaxIssuePage-1), Value: pageOfIssues},
			&cli.StringFlag{Name: "after", Usage: "go on below `ISSUE`; with --column"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			q, out, err := issueQuery(c)
			if err != nil {
				return err
			}
			return a.listIssues(c.Context, q, out)
		},
	}
}

// issueQuery are the flags of issue list, and the word of --output.
func issueQuery(c *cli.Context) (q report.Query, output string, err error) {
	q = report.Query{Columns: work.Columns(), Label: c.String("label"), Search: c.String("search"), Limit: c.Int("limit")}
	if output, err = outputOf(c, "text", "json"); err != nil {
		return q, output, err
	}
	if c.Args().Present() {
		return q, output, refusal.New("forge issue show ISSUE shows one", "forge issue list takes no arguments, got %q", c.Args().First())
	}
	if q.Limit < 1 || q.Limit >= journal.MaxIssuePage {
		return q, output, refusal.New(fmt.Sprintf("use 1 to %d", journal.MaxIssuePage-1), "--limit %d is no length of a page", q.Limit)
	}
	if len(q.Search) > work.MaxIssueTitle {
		return q, output, refusal.New("look for fewer words", "--search has %d bytes, more than %d", len(q.Search), work.MaxIssueTitle)
	}
	if c.IsSet("column") {
		column, err := columnOf(c.String("column"))
		if err != nil {
			return q, output, err
		}
		q.Columns = []work.Column{column}
	}
	if c.IsSet("after") {
		if !c.IsSet("column") {
			return q, output, refusal.New("forge issue list --column ready --after 12", "--after goes with --column")
		}
		q.After, err = issueform.Number(c.String("after"), "--after 12")
	}
	return q, output, err
}

func (a *App) listIssues(ctx context.Context, q report.Query, output string) error {
	b, err := a.openBoard(ctx, false)
	if err != nil {
		return err
	}
	defer b.Close()
	list, err := report.ReadBoard(ctx, b, q)
	if err != nil {
		return issueError(err)
	}
	if output == "json" {
		return printJSON(a.Stdout, list)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(list.Text(q)))
	return err
}
