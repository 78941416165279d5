package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/runs"
)

func (a *App) gcCommand() *cli.Command {
	return &cli.Command{
		Name: "gc", Usage: "remove folders and logs of finished runs, and caches that proofs were lent; journals stay",
		Description: "It also runs by itself after each run, with the default age.",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "keep", Value: runs.KeepRuns, Usage: "keep what is younger than `TIME`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be removed"},
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
			if !c.Bool("dry-run") {
				if err := runs.TidyRepository(c.Context, p.Checkout); err != nil {
					return err
				}
			}
			freed, err := runs.Collect(c.Context, p.Checkout, c.Duration("keep"), c.Bool("dry-run"), func(dir string, bytes int64) {
				fmt.Fprintf(a.Stdout, "%10d KB  %s\n", bytes/1024, dir)
			})
			if err != nil {
				return err
			}
			caches, err := runs.CollectCaches(p.Checkout, c.Duration("keep"), c.Bool("dry-run"), func(dir string, bytes int64) {
				fmt.Fprintf(a.Stdout, "%10d KB  %s\n", bytes/1024, dir)
			})
			if err != nil {
				return err
			}
			freed += caches
			verb := "removed"
			if c.Bool("dry-run") {
				verb = "would remove"
			}
			fmt.Fprintf(a.Stdout, "%s %d KB\n", verb, freed/1024)
			return nil
		},
	}
}
