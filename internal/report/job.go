package report

import (
	"context"
	"fmt"
	"strings"
	"time"

	"forge/gates"
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

// JobSummary is one job of forge job list --output json.
type JobSummary struct {
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

// JobStatus is how a job stands. One that waits for an answer is pending
// review; one that was answered, or whose process is gone, is to be resumed and
// counts as processing.
func JobStatus(r journal.RunRow, open []string) gates.JobStatus {
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

// Summarize reads what waits in a job.
func Summarize(ctx context.Context, p *project.Checkout, row journal.RunRow, s *orchestrator.State) (JobSummary, error) {
	pending, err := approval.Checkpoints(ctx, p, journal.CheckpointFilter{Run: row.ID, Status: work.CheckpointPending})
	if err != nil {
		return JobSummary{}, err
	}
	open := []string{}
	for _, cp := range pending {
		open = append(open, cp.ID)
	}
	j := s.Spec.Job
	return JobSummary{
		Job: row.ID, Status: JobStatus(row, open), State: project.RunState(row), Outcome: row.Outcome, Description: j.Description, Expert: j.Expert,
		Level: s.Spec.Policy.Preset, Phases: s.Job.Phases, Branch: s.Spec.Branch, Created: row.Created.UTC(), Updated: row.Updated.UTC(),
		CostUSD: s.Ledger.Cost(), Checkpoints: open,
	}, nil
}

// Job is forge job show --output json.
type Job struct {
	JobSummary
	jobs.Folder
	Phase   string            `json:"phase,omitempty"` // the last one
	Claim   *work.Completion  `json:"claim"`           // what the agent says of the end; null = nothing
	Waits   []work.Checkpoint `json:"waits"`
	Sources []string          `json:"data_sources"`
}

// Text is the job for a person. Words of others in it may still act on a
// terminal.
func (j Job) Text(p *project.Checkout, row journal.RunRow, s *orchestrator.State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Job %s: %s\n", j.Job, strings.ReplaceAll(string(j.Status), "_", " "))
	rows := [][]string{
		{"  what", text.OneLine(j.Description, 200)},
		{"  level", j.Level},
		{"  state", Standing(row, s)},
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
		b.WriteString("\n" + PhaseTable(s, project.Driven(row)) + narrate.KeptText(s, ""))
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
func jobNext(row journal.RunRow, j Job) string {
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

// ReadJob reads a job with its documents, and what waits in it.
func ReadJob(ctx context.Context, p *project.Checkout, row journal.RunRow, s *orchestrator.State) (Job, error) {
	out := Job{Waits: []work.Checkpoint{}, Sources: append([]string{}, s.Spec.Job.Sources...)}
	var err error
	if out.JobSummary, err = Summarize(ctx, p, row, s); err != nil {
		return out, err
	}
	waits, err := approval.Checkpoints(ctx, p, journal.CheckpointFilter{Run: row.ID, Status: work.CheckpointPending})
	if err != nil {
		return out, err
	}
	out.Waits = append(out.Waits, waits...)
	commit := jobs.FolderCommit(s)
	if last := jobs.LastPhase(s); last != nil {
		out.Phase, out.Claim = last.Number, last.Complete
	}
	repo, err := p.Repo(ctx)
	if err != nil {
		return out, err
	}
	if out.Folder, err = jobs.ReadFolder(ctx, repo, commit); err != nil {
		return out, fmt.Errorf("read the documents of job %s: %w", row.ID, err)
	}
	return out, nil
}
