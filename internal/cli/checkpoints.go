package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/journal"
	"forge/internal/work"
)

func (a *App) checkpointsCommand() *cli.Command {
	return &cli.Command{
		Name: "checkpoints", Usage: "list what waits for a person, over all runs",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "all", Aliases: []string{"a"}, Usage: "list answered and expired ones too"},
			&cli.StringFlag{Name: "run", Usage: "of run `ID` alone"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refuse("forge show ID shows one", "forge checkpoints takes no arguments, got %q", c.Args().First())
			}
			return a.listCheckpoints(c.Context, c.String("run"), c.Bool("all"), out)
		},
	}
}

func (a *App) listCheckpoints(ctx context.Context, run string, all bool, output string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	list := []work.Checkpoint{}
	ok, err := p.openStore(ctx, false)
	if err != nil {
		return err
	}
	if ok {
		filter := journal.CheckpointFilter{Status: work.CheckpointPending}
		if all {
			filter.Status = ""
		}
		if run != "" {
			row, err := p.pick(ctx, run)
			if err != nil {
				return err
			}
			filter.Run = row.ID
		}
		found, err := p.checkpoints(ctx, filter)
		if err != nil {
			return err
		}
		list = append(list, found...)
	}
	if output == "json" {
		return printJSON(a.Stdout, map[string]any{"checkpoints": list})
	}
	return p.checkpointTable(list, all)
}

// checkpoints are all that the filter lets through, in the order of their
// opening.
func (p *project) checkpoints(ctx context.Context, filter journal.CheckpointFilter) ([]work.Checkpoint, error) {
	const page = 1000
	var all []work.Checkpoint
	for after := ""; ; {
		found, err := p.store.Checkpoints(ctx, filter, page, after)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
		if len(found) < page {
			return all, nil
		}
		after = found[len(found)-1].ID
	}
}

func (p *project) checkpointTable(list []work.Checkpoint, all bool) error {
	out := p.app.Stdout
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "Nothing waits for a person.")
		return err
	}
	head := []string{"ID", "KIND", "PHASE", "OPENED", "QUESTION"}
	if all {
		head = []string{"ID", "KIND", "PHASE", "OPENED", "STATUS", "BY", "QUESTION"}
	}
	var rows [][]string
	for _, cp := range list {
		row := []string{cp.ID, cp.Kind, cp.Phase, p.app.ago(cp.OpenedAt)}
		if all {
			row = append(row, string(cp.Status), cp.AnsweredBy)
		}
		rows = append(rows, append(row, oneLine(cp.Question, 100)))
	}
	text := table(head, rows)
	if !all {
		text += "\nLook:   forge show ID\nAnswer: forge approve ID | forge request-changes ID -m TEXT | forge reject ID\n"
	}
	_, err := fmt.Fprint(out, harmless(text))
	return err
}

// findCheckpoint is the checkpoint with that id, or the only one that begins
// with it; ".N" is the N-th of the newest run.
func (p *project) findCheckpoint(ctx context.Context, id string) (work.Checkpoint, error) {
	if strings.HasPrefix(id, ".") {
		row, err := p.pick(ctx, "")
		if err != nil {
			return work.Checkpoint{}, err
		}
		id = row.ID + id
	}
	return p.store.Checkpoint(ctx, id)
}

// checkpointArg is the one checkpoint that a command is about.
func checkpointArg(c *cli.Context) (string, error) {
	id, err := oneArg(c.Args().Slice(), "checkpoint")
	if err == nil && id == "" {
		err = refuse("forge checkpoints lists them", "forge %s takes the id of a checkpoint", c.Command.Name)
	}
	return id, err
}
