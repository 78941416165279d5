package cli

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/report"
	"forge/internal/text"
)

func (a *App) showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show what a checkpoint asks, and what is judged", ArgsUsage: "ID",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "stat", Usage: "list the changed files without the changes"},
			remoteFlag("look at what the remote `NAME` has, without taking it over"),
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := checkpointArg(c)
			if err != nil {
				return err
			}
			p, done, err := a.openLook(c, runOfCheckpoint(id))
			if err != nil {
				return err
			}
			defer done()
			cp, err := approval.Find(c.Context, p.Checkout, id)
			if err != nil {
				return approval.Refused(err, cp)
			}
			s, err := approval.ReadRecord(c.Context, p.Checkout, cp, c.Bool("stat"))
			if err != nil {
				return err
			}
			if out == "json" {
				return printJSON(a.Stdout, s)
			}
			if _, err := fmt.Fprint(a.Stdout, text.Harmless(report.Checkpoint(p.Checkout, s))); err != nil || s.Diff == "" {
				return err
			}
			if _, err := fmt.Fprintln(a.Stdout); err != nil {
				return err
			}
			return a.printPatch(s.Diff)
		},
	}
}
