package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/draft"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
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
			if c.IsSet("remote") {
				return a.listFarCheckpoints(c.Context, c.String("remote"), checkpointPage{run: c.String("run"), all: c.Bool("all"), limit: limit, after: c.String("after"), output: out})
			}
			return a.listCheckpoints(c.Context, checkpointPage{run: c.String("run"), all: c.Bool("all"), limit: limit, after: c.String("after"), output: out})
		},
	}
}

// How many checkpoints a page has, and at most.
const (
	pageOfCheckpoints = 50
	mostCheckpoints   = 999
)

// checkpointPage is which checkpoints are listed.
type checkpointPage struct {
	run, after string
	all        bool
	limit      int
	output     string
}

// listedCheckpoints is forge checkpoints --output json.
type listedCheckpoints struct {
	Checkpoints []work.Checkpoint `json:"checkpoints"`
	// Next is what --after takes for the next page; "" when this is the last.
	Next string `json:"next,omitempty"`
	// Drafts are plans and interviews that wait; on the first page, of all runs.
	Drafts []draft.Waiting `json:"drafts,omitempty"`
}

func (a *App) listCheckpoints(ctx context.Context, page checkpointPage) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	list := listedCheckpoints{Checkpoints: []work.Checkpoint{}}
	ok, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	if ok {
		if list, err = checkpointPageOf(ctx, p.Checkout, page); err != nil {
			return err
		}
	}
	if page.run == "" && page.after == "" {
		if list.Drafts, err = draft.Waits(p.Checkout); err != nil {
			return err
		}
	}
	return p.printCheckpoints(list, page)
}

// listFarCheckpoints lists what the remote has; a damaged record there does not
// hide the others.
func (a *App) listFarCheckpoints(ctx context.Context, remote string, page checkpointPage) error {
	p, done, errs, err := a.lookFar(ctx, remote, page.run)
	if err != nil {
		return err
	}
	defer done()
	list, err := checkpointPageOf(ctx, p.Checkout, page)
	if err != nil {
		return errors.Join(err, errs)
	}
	return errors.Join(p.printCheckpoints(list, page), errs)
}

func (p *checkout) printCheckpoints(list listedCheckpoints, page checkpointPage) error {
	a := p.app
	if page.output == "json" {
		return printJSON(a.Stdout, list)
	}
	if len(list.Checkpoints) > 0 || len(list.Drafts) == 0 {
		if err := p.checkpointTable(list.Checkpoints, page.all); err != nil {
			return err
		}
	}
	more := ""
	if list.Next != "" {
		more = fmt.Sprintf("\nMore:   forge checkpoints --after %s\n", list.Next)
	}
	_, err := fmt.Fprint(a.Stdout, more+text.Harmless(draft.Listed(list.Drafts, p.Ago)))
	return err
}

// checkpointPageOf costs the same however many checkpoints there are.
func checkpointPageOf(ctx context.Context, p *project.Checkout, page checkpointPage) (listedCheckpoints, error) {
	list := listedCheckpoints{Checkpoints: []work.Checkpoint{}}
	filter := journal.CheckpointFilter{Status: work.CheckpointPending}
	if page.all {
		filter.Status = ""
	}
	if page.run != "" {
		row, err := p.PickRun(ctx, page.run)
		if err != nil {
			return list, err
		}
		filter.Run = row.ID
	}
	after := ""
	if page.after != "" {
		cp, err := approval.Find(ctx, p, page.after)
		if err != nil {
			return list, approval.Refused(err, cp)
		}
		after = cp.ID
	}
	found, err := p.Journal.Checkpoints(ctx, filter, page.limit+1, after)
	if err != nil {
		return list, err
	}
	if len(found) > page.limit {
		found = found[:page.limit]
		list.Next = found[page.limit-1].ID
	}
	list.Checkpoints = append(list.Checkpoints, found...)
	return list, nil
}

func (p *checkout) checkpointTable(list []work.Checkpoint, all bool) error {
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
		if over, ok := gates.Expire(cp, p.Now()); ok {
			cp = over
			cp.Question = "(its time is over) " + cp.Question
		}
		row := []string{cp.ID, cp.Kind, cp.Phase, p.Ago(cp.OpenedAt)}
		if all {
			row = append(row, string(cp.Status), cp.AnsweredBy)
		}
		rows = append(rows, append(row, text.OneLine(cp.Question, 100)))
	}
	body := text.Table(head, rows)
	if !all {
		body += "\nLook:   forge show ID\nAnswer: forge approve ID | forge request-changes ID -m TEXT | forge reject ID\n"
	}
	_, err := fmt.Fprint(out, text.Harmless(body))
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
