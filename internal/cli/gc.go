package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/draft"
	"forge/internal/refusal"
	"forge/internal/runs"
)

func (a *App) gcCommand() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "remove folders and logs of finished runs, caches that proofs were lent, and old drafts; journals stay",
		Description: "It also runs by itself after each run (in the factory once a minute at most), with the default age;\n" +
			"then drafts and interviews that wait for you stay (forge inbox lists them). Drafts of the last day,\n" +
			"and folders of no run that are younger, always stay.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "keep", Value: runs.KeepRuns, Usage: "keep what is younger than `TIME`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be removed"},
			&cli.StringFlag{Name: "draft", Usage: "forget the draft or interview `ID` and nothing else"},
		},
		Action: func(c *cli.Context) error {
			if c.Duration("keep") < 0 {
				return refusal.New("write a time such as 720h", "--keep %v is negative", c.Duration("keep"))
			}
			p, err := a.openRuns(c)
			if err != nil {
				return err
			}
			defer p.Close()
			if c.IsSet("draft") {
				said, err := draft.Forget(p.Checkout, c.String("draft"), c.Bool("dry-run"))
				if err == nil {
					_, err = fmt.Fprintln(a.Stdout, said)
				}
				return err
			}
			if !c.Bool("dry-run") {
				if err := runs.TidyRepository(c.Context, p.Checkout); err != nil {
					return err
				}
			}
			say := func(path string, bytes int64) {
				fmt.Fprintf(a.Stdout, "%10d KB  %s\n", bytes/1024, path)
			}
			freed, err := runs.Collect(c.Context, p.Checkout, c.Duration("keep"), c.Bool("dry-run"), say)
			if err != nil {
				return err
			}
			caches, err := runs.CollectCaches(p.Checkout, c.Duration("keep"), c.Bool("dry-run"), say)
			if err != nil {
				return err
			}
			drafts, err := runs.CollectDrafts(p.Checkout, c.Duration("keep"), true, c.Bool("dry-run"), say)
			if err != nil {
				return err
			}
			freed += caches + drafts
			verb := "removed"
			if c.Bool("dry-run") {
				verb = "would remove"
			}
			fmt.Fprintf(a.Stdout, "%s %d KB\n", verb, freed/1024)
			return nil
		},
	}
}
