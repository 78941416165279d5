package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) jobListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Usage: "list the jobs of this project", Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Args().Present() {
				return refusal.New("forge job show JOB shows one", "forge job list takes no arguments, got %q", c.Args().First())
			}
			return a.listJobs(c.Context, out)
		},
	}
}

// jobSummary is one job of forge job list --output json.
type jobSummary struct {
	Job         string          `json:"job"`
	Status      gates.JobStatus `json:"status"`
	State       string          `json:"state"` // as in forge status
	Outcome     work.RunOutcome `json:"outcome,omitempty"`
	Description string          `json:"description"`
	Expert      string          `json:"expert,omitempty"`
	Level       string          `json:"level"`
	Phases      int             `json:"phases"` // so far
	Branch      string          `json:"branch"`
	Created     time.Time       `json:"created"`
	Updated     time.Time       `json:"updated"`
	CostUSD     *float64        `json:"cost_usd"`    // null = unknown
	Checkpoints []string        `json:"checkpoints"` // that wait for a person
}

// jobStatus is how a job stands. One that waits for an answer is pending
// review; one that was answered, or whose process is gone, is to be resumed and
// counts as processing.
func jobStatus(r journal.RunRow, open []string) gates.JobStatus {
	switch r.Outcome {
	case work.RunCompleted:
		return gates.JobCompleted
	case work.RunCancelled:
		return gates.JobCancelled
	case work.RunFailed:
		return gates.JobFailed
	}
	if len(open) > 0 {
		return gates.JobPendingReview
	}
	return gates.JobProcessing
}

func (p *checkout) summaryOf(ctx context.Context, row journal.RunRow, s *orchestrator.State) (jobSummary, error) {
	pending, err := approval.Checkpoints(ctx, p.Checkout, journal.CheckpointFilter{Run: row.ID, Status: work.CheckpointPending})
	if err != nil {
		return jobSummary{}, err
	}
	open := []string{}
	for _, cp := range pending {
		open = append(open, cp.ID)
	}
	j := s.Spec.Job
	return jobSummary{
		Job: row.ID, Status: jobStatus(row, open), State: project.RunState(row), Outcome: row.Outcome, Description: j.Description, Expert: j.Expert,
		Level: s.Spec.Policy.Preset, Phases: s.Job.Phases, Branch: s.Spec.Branch, Created: row.Created.UTC(), Updated: row.Updated.UTC(),
		CostUSD: s.Ledger.Cost(), Checkpoints: open,
	}, nil
}

func (a *App) listJobs(ctx context.Context, output string) error {
	p, err := a.findProject(ctx)
	if err != nil {
		return err
	}
	defer p.Close()
	list := []jobSummary{}
	ok, err := p.OpenStore(ctx, false)
	if err != nil {
		return err
	}
	if ok {
		jobs, err := jobsOf(ctx, p.Checkout)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			one, err := p.summaryOf(ctx, j.row, j.state)
			if err != nil {
				return err
			}
			list = append(list, one)
		}
	}
	if output == "json" {
		return printJSON(a.Stdout, map[string]any{"jobs": list})
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(a.Stdout, `This project has no jobs: forge job start -d "…" starts one.`)
		return err
	}
	var rows [][]string
	for _, j := range list {
		rows = append(rows, []string{j.Job, string(j.Status), j.Level, fmt.Sprint(j.Phases), a.env().Ago(j.Updated), text.OneLine(j.Description, 60)})
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table([]string{"JOB", "STATUS", "LEVEL", "PHASES", "LAST EVENT", "DESCRIPTION"}, rows)))
	return err
}
