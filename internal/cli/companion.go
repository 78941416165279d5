package cli

import (
	"github.com/urfave/cli/v2"

	pages "forge/factory/web"
	"forge/internal/companion"
	"forge/internal/refusal"
	"forge/internal/site"
)

func (a *App) askCommand() *cli.Command {
	return &cli.Command{
		Name: "ask", Usage: "ask the companion about a run, or about the whole project", ArgsUsage: "[RUN] QUESTION",
		Description: "The model of [llm] answers; what it looks up is shown. It changes nothing: what it proposes is done\n" +
			"where you say yes at a terminal. See docs/companion.md.",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			args := c.Args().Slice()
			if err == nil && (len(args) == 0 || len(args) > 2) {
				err = refusal.New(`forge ask [RUN] "QUESTION"; forge status names the run`, "forge ask takes a question, and before it a run")
			}
			if err != nil {
				return err
			}
			b, err := a.openBoard(c.Context, true)
			if err != nil {
				return err
			}
			defer b.Close()
			t := &companion.Terminal{Out: a.Stdout, Of: site.Talked(b).Companion, By: pages.Asker{Name: b.User(), Role: pages.RoleAdmin, Door: "cli"}, Quiet: out == "json"}
			if len(args) == 2 {
				row, err := b.PickRun(c.Context, args[0])
				if err != nil {
					return err
				}
				t.Run = row.ID
			}
			if a.terminal() && !t.Quiet {
				t.Confirm = a.confirm
			}
			turn, err := t.Ask(c.Context, args[len(args)-1])
			if err == nil && t.Quiet {
				err = printJSON(a.Stdout, turn)
			}
			if err == nil && turn.Failed != "" {
				err = codeError(exitUnjudged)
			}
			return err
		},
	}
}
