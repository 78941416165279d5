package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/vibekanban"
)

func (a *App) importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take the board of another program along",
		Subcommands: []*cli.Command{{
			Name: "vibe-kanban", Usage: "take tasks of Vibe Kanban onto the board: of its database, or of its cloud's export", ArgsUsage: "FILE",
			Flags: []cli.Flag{
				&cli.GenericFlag{Name: "project", Usage: "take the tasks of project `NAME`, or id; may be repeated. Without it: the project of this folder", Value: &words{}},
				&cli.BoolFlag{Name: "dry-run", Usage: "say what would be taken along, and write nothing"},
				&cli.BoolFlag{Name: "mine", Usage: "answer for the tasks' words as your own; without it they count as an outsider's"},
				outputFlag("text", "json"),
			},
			Action: func(c *cli.Context) error {
				out, err := outputOf(c, "text", "json")
				if err != nil {
					return err
				}
				if c.NArg() != 1 {
					return refusal.New("forge import vibe-kanban FILE", "forge import vibe-kanban takes one file, got %d words", c.NArg())
				}
				file := c.Args().First()
				if !filepath.IsAbs(file) {
					file = filepath.Join(a.Dir, file)
				}
				return a.importVibeKanban(c.Context, file, vibekanban.How{Projects: wordsOf(c, "project"), Mine: c.Bool("mine")}, c.Bool("dry-run"), out)
			},
		}},
		Action: func(c *cli.Context) error {
			if !c.Args().Present() {
				return cli.ShowSubcommandHelp(c)
			}
			return refusal.New("forge import vibe-kanban", "unknown command %q", "import "+c.Args().First())
		},
	}
}

func (a *App) importVibeKanban(ctx context.Context, file string, how vibekanban.How, dry bool, out string) error {
	read, err := vibekanban.Read(ctx, file)
	if err != nil {
		return err
	}
	how.By = a.by("taken along from Vibe Kanban")

	// Looked at first: what is refused writes nothing, not even an empty board.
	var plan *vibekanban.Plan
	for _, how.Take = range []bool{false, true} {
		if how.Take && (dry || plan.Added == 0) {
			break
		}
		b, err := a.openBoard(ctx, how.Take)
		if err != nil {
			return err
		}
		plan, err = vibekanban.Import(ctx, b, read, how)
		b.Close()
		if err != nil {
			return err
		}
	}
	if plan.DryRun = dry; out == "json" {
		return printJSON(a.Stdout, plan)
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(plan.Text()))
	return err
}
