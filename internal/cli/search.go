package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/lookup"
	"forge/internal/refusal"
	"forge/internal/search"
	"forge/internal/text"
)

func (a *App) searchCommand() *cli.Command {
	return &cli.Command{
		Name: "search", Usage: "find where something was said, decided or written", ArgsUsage: "WORDS",
		Description: "In plans, what agents said, findings, comments, decisions, issues and files. \"Several words\"\n" +
			"stand in a row, begin* also finds beginning, -word leaves out; kind:, run:, phase:, path:, who:,\n" +
			"since:2006-01-02 and until: narrow it.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Aliases: []string{"n"}, Value: 20, Usage: fmt.Sprintf("name at most `N` places, 1 to %d", search.MaxHits)},
			&cli.BoolFlag{Name: "rebuild", Usage: "make the index anew first"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			said := strings.Join(c.Args().Slice(), " ")
			limit := c.Int("limit")
			if limit < 1 || limit > search.MaxHits {
				return refusal.New(fmt.Sprintf("use 1 to %d", search.MaxHits), "--limit %d is out of bounds", limit)
			}
			if text.Blank(said) && !c.Bool("rebuild") {
				return refusal.New(`forge search "timeout kind:finding"`, "nothing says what to look for")
			}
			return a.search(c.Context, lookup.Asked{Said: said, Limit: limit, Rebuild: c.Bool("rebuild")}, out)
		},
	}
}

func (a *App) search(ctx context.Context, asked lookup.Asked, output string) error {
	found, err := lookup.Search(ctx, a.env(), asked)
	if err != nil {
		return err
	}
	if found.Note != "" {
		a.log.Warn(text.Harmless(found.Note))
	}
	if text.Blank(asked.Said) {
		_, err := fmt.Fprintln(a.Stdout, "The index is made anew.")
		return err
	}
	if output == "json" {
		return printJSON(a.Stdout, map[string]any{"hits": found.Hits})
	}
	if len(found.Hits) == 0 {
		_, err := fmt.Fprintln(a.Stdout, "Nothing was found.")
		return err
	}
	for _, h := range found.Hits {
		if _, err := fmt.Fprintf(a.Stdout, "%s\n%s\n\n", text.Harmless(h.Where()), text.Indent(text.Harmless(h.Excerpt))); err != nil {
			return err
		}
	}
	return nil
}
