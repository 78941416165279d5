package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/internal/draft"
	"forge/internal/refusal"
	"forge/internal/report"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) checkpointsCommand() *cli.Command {
	return &cli.Command{
		Name: "checkpoints", Aliases: []string{"inbox"}, Usage: "list what waits for a person, over all runs, and drafts that do",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "list answered and expired ones too"},
			&cli.StringFlag{Name: "run", Usage: "of run `ID` alone"},
			remoteFlag("list what waits at the remote `NAME`, without taking it over"),
			&cli.IntFlag{Name: "limit", Usage: "list at most `N`", Value: pageOfCheckpoints},
			&cli.StringFlag{Name: "after", Usage: "go on after checkpoint `ID`, the last one of the page before"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refusal.New("forge show ID shows one", "forge checkpoints takes no arguments, got %q", c.Args().First())
			}
			limit := c.Int("limit")
			if limit < 1 || limit > mostCheckpoints {
				return refusal.New(fmt.Sprintf("use 1 to %d, and --after for what comes then", mostCheckpoints), "--limit %d is not a number of checkpoints", limit)
			}
			page := report.CheckpointPage{Run: c.String("run"), All: c.Bool("all"), Limit: limit, After: c.String("after")}
			if c.IsSet("remote") {
				return a.listFarCheckpoints(c.Context, c.String("remote"), page, out)
			}
			return a.listCheckpoints(c.Context, page, out)
		},
	}
}

// How many checkpoints a page has, and at most.
const (
	pageOfCheckpoints = 50
	mostCheckpoints   = 999
)

// listedCheckpoints is forge checkpoints --output json.
type listedCheckpoints struct {
	report.CheckpointList
	// Drafts are plans and interviews that wait; on the first page, of all runs.
	Drafts []draft.Waiting `json:"drafts,omitempty"`
}

func (a *App) listCheckpoints(ctx context.Context, page report.CheckpointPage, output string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	list := listedCheckpoints{CheckpointList: report.CheckpointList{Checkpoints: []work.Checkpoint{}}}
	ok, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	if ok {
		if list.CheckpointList, err = report.Checkpoints(ctx, p.Checkout, page); err != nil {
			return err
		}
	}
	if page.Run == "" && page.After == "" {
		if list.Drafts, err = draft.Waits(p.Checkout); err != nil {
			return err
		}
	}
	return p.printCheckpoints(list, page.All, output)
}

// listFarCheckpoints lists what the remote has; a damaged record there does not
// hide the others.
func (a *App) listFarCheckpoints(ctx context.Context, remote string, page report.CheckpointPage, output string) error {
	p, done, errs, err := a.lookFar(ctx, remote, page.Run)
	if err != nil {
		return err
	}
	defer done()
	list, err := report.Checkpoints(ctx, p.Checkout, page)
	if err != nil {
		return errors.Join(err, errs)
	}
	return errors.Join(p.printCheckpoints(listedCheckpoints{CheckpointList: list}, page.All, output), errs)
}

func (p *checkout) printCheckpoints(list listedCheckpoints, all bool, output string) error {
	if output == "json" {
		return printJSON(p.app.Stdout, list)
	}
	waits := ""
	if len(list.Checkpoints) > 0 || len(list.Drafts) == 0 {
		waits = list.Text(p.Checkout, all)
	}
	_, err := fmt.Fprint(p.app.Stdout, text.Harmless(waits+draft.Listed(list.Drafts, p.Ago)))
	return err
}

// checkpointArg is the one checkpoint that a command is about.
func checkpointArg(c *cli.Context) (string, error) {
	id, err := oneArg(c.Args().Slice(), "checkpoint")
	if err == nil && id == "" {
		err = refusal.New("forge checkpoints lists them", "forge %s takes the id of a checkpoint", c.Command.Name)
	}
	return id, err
}
