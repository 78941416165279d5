package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/approval"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/todos"
	"forge/internal/work"
	"forge/orchestrator"
)

func (a *App) jobShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "show a job's plan, workspace, todos and archive, and what it waits for", ArgsUsage: "[JOB]",
		Flags: []cli.Flag{outputFlag("text", "json")},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			id, err := oneArg(c.Args().Slice(), "job")
			if err != nil {
				return err
			}
			p, err := a.openJournal(c.Context)
			if err != nil {
				return err
			}
			defer p.Close()
			return p.showJob(c.Context, id, out)
		},
	}
}

// shownJob is forge job show --output json.
type shownJob struct {
	jobSummary
	jobs.Folder
	Phase   string            `json:"phase,omitempty"` // the last one
	Claim   *work.Completion  `json:"claim"`           // what the agent says of the end; null = nothing
	Waits   []work.Checkpoint `json:"waits"`
	Sources []string          `json:"data_sources"`
}

func (p *checkout) showJob(ctx context.Context, id, output string) error {
	row, s, err := pickJob(ctx, p.Checkout, id)
	if err != nil {
		return err
	}
	out := shownJob{Waits: []work.Checkpoint{}, Sources: append([]string{}, s.Spec.Job.Sources...)}
	if out.jobSummary, err = p.summaryOf(ctx, row, s); err != nil {
		return err
	}
	waits, err := approval.Checkpoints(ctx, p.Checkout, journal.CheckpointFilter{Run: row.ID, Status: work.CheckpointPending})
	if err != nil {
		return err
	}
	out.Waits = append(out.Waits, waits...)
	commit := jobs.FolderCommit(s)
	if last := jobs.LastPhase(s); last != nil {
		out.Phase, out.Claim = last.Number, last.Complete
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return err
	}
	if out.Folder, err = jobs.ReadFolder(ctx, repo, commit); err != nil {
		return fmt.Errorf("read the documents of job %s: %w", row.ID, err)
	}
	if output == "json" {
		return printJSON(p.app.Stdout, out)
	}
	_, err = fmt.Fprint(p.app.Stdout, text.Harmless(p.jobText(row, s, out)))
	return err
}

func (p *checkout) jobText(row journal.RunRow, s *orchestrator.State, j shownJob) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Job %s: %s\n", j.Job, strings.ReplaceAll(string(j.Status), "_", " "))
	rows := [][]string{
		{"  what", text.OneLine(j.Description, 200)},
		{"  level", j.Level},
		{"  state", standingOf(row, s)},
		{"  branch", j.Branch},
		{"  began", p.Ago(row.Created) + ", last event " + p.Ago(row.Updated)},
		{"  cost", narrate.MoneyText(s.Ledger)},
	}
	for _, more := range [][]string{{"  expert", j.Expert}, {"  data", strings.Join(j.Sources, ", ")}, {"  documents", strings.Join(j.Documents, ", ")}} {
		if more[1] != "" {
			rows = append(rows, more)
		}
	}
	b.WriteString(text.Table(rows[0], rows[1:]))
	if len(s.Order) > 0 {
		b.WriteString("\n" + phaseTable(s) + narrate.KeptText(s, ""))
	}
	b.WriteString(folderText(j.Folder))
	if j.Claim != nil {
		fmt.Fprintf(&b, "\nThe agent says that the job is complete: %s\n", text.OneLine(j.Claim.Summary, 400))
	}
	b.WriteString(jobNext(row, j))
	return b.String()
}

// folderText shows a job's documents, the plan first.
func folderText(j jobs.Folder) string {
	var b strings.Builder
	for _, doc := range [][2]string{{"plan.md", j.Plan}, {"workspace.md", j.Workspace}} {
		if doc[1] == "" {
			fmt.Fprintf(&b, "\n%s: not written yet\n", doc[0])
			continue
		}
		fmt.Fprintf(&b, "\n%s:\n%s\n", doc[0], text.Indent(pullrequest.PaperText(doc[1])))
	}
	b.WriteString("\n" + todos.Tell(j.Todos))
	if len(j.Archive) > 0 {
		fmt.Fprintf(&b, "\narchive/: %s\n", strings.Join(j.Archive, ", "))
	}
	return b.String()
}

// jobNext says what a person can do now.
func jobNext(row journal.RunRow, j shownJob) string {
	var b strings.Builder
	for _, cp := range j.Waits {
		fmt.Fprintf(&b, "\nIt waits for you: %s\n", cp.Question)
		fmt.Fprintf(&b, "  forge show %s\n  forge approve %s [--level PRESET]\n  forge request-changes %s -m TEXT\n  forge reject %s\n", cp.ID, cp.ID, cp.ID, cp.ID)
	}
	switch state := project.RunState(row); {
	case state == project.StateRunning:
		fmt.Fprintf(&b, "\nFollow: forge logs --follow --run %s\n", row.ID)
	case row.Outcome == work.RunFailed:
		fmt.Fprintf(&b, "\nAgain:  forge job resume %s   (opens the next attempt of what failed)\n", row.ID)
	case state != project.StateFinished && len(j.Waits) > 0:
		fmt.Fprintf(&b, "Then:   forge job resume %s\nEnd it: forge job cancel %s\n", row.ID, row.ID)
	case state != project.StateFinished:
		fmt.Fprintf(&b, "\nGo on:  forge job resume %s\nEnd it: forge job cancel %s\n", row.ID, row.ID)
	}
	return b.String()
}
