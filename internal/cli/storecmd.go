package cli

import (
	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
)

func (a *App) storeCommand() *cli.Command {
	return &cli.Command{
		Name: "store", Usage: "where the journal stands",
		Subcommands: []*cli.Command{{
			Name: "move", Usage: "move the journal and the board into the database of store.url_env, or back into a file; says what there is, and moves it with --yes",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "to", Usage: "`PLACE`: postgres, sqlite"},
				&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "move it"},
			},
			Action: func(c *cli.Context) error {
				if c.Args().Present() {
					return refusal.New("forge store move --to PLACE", "forge store move takes no arguments, got %q", c.Args().First())
				}
				p, err := a.findProject(c.Context)
				if err != nil {
					return err
				}
				if p.Server == "" || a.With.MoveStore == nil {
					return refusal.New(`write url_env = "NAME" under [store], with the URL of a database in the variable NAME`, "store.url_env does not say which database is meant")
				}
				return a.With.MoveStore(c.Context, p.Checkout, c.String("to"), c.Bool("yes"), a.Stdout)
			},
		}},
	}
}
