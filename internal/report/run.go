package report

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"forge/internal/journal"
	"forge/internal/narrate"
	"forge/internal/project"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
	"forge/orchestrator"
)

// RunStatus is forge status --output json.
type RunStatus struct {
	orchestrator.RunStanding
	Phases      []PhaseStatus                     `json:"phases"`
	Checkpoints []orchestrator.CheckpointStanding `json:"checkpoints"`
	Job         *orchestrator.JobStanding         `json:"job,omitempty"`
}

// PhaseStatus is one phase of it.
type PhaseStatus struct {
	orchestrator.PhaseStanding
	Pull *pullrequest.Shown `json:"pull,omitempty"`
}

// StatusOf is where a run stands, with the questions that were asked of it.
func StatusOf(r journal.RunRow, s *orchestrator.State, asked []work.Checkpoint) RunStatus {
	out := RunStatus{
		RunStanding: s.Standing(project.RunState(r), r.Outcome), Phases: []PhaseStatus{}, Checkpoints: []orchestrator.CheckpointStanding{}, Job: s.JobStanding(),
	}
	out.Stalled = r.Stalled
	for _, n := range s.Order {
		p := s.View(n)
		out.Phases = append(out.Phases, PhaseStatus{PhaseStanding: p.Standing(), Pull: pullrequest.ShownOf(p)})
	}
	for _, cp := range asked {
		out.Checkpoints = append(out.Checkpoints, orchestrator.StandingOf(cp))
	}
	return out
}

// Status is where a run stands, as text: with the table of its phases and what
// became of its result, "" where that is not known. Words of others in it may
// still act on a terminal.
func Status(p *project.Checkout, r journal.RunRow, s *orchestrator.State, asked []work.Checkpoint, phases, landed string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %s\n", narrate.NounOf(s), r.ID, Standing(r, s))
	branch := s.Spec.Base.Branch
	switch {
	case s.Spec.Issue != nil && branch == "":
		branch = "of the target" // nobody's HEAD
	case branch == "":
		branch = "detached HEAD"
	}
	rows := [][]string{
		{"  policy", cmp.Or(s.Spec.Policy.Preset, "of its own")},
		{"  branch", s.Spec.Branch},
		{"  base", text.Short(s.Spec.Base.Commit) + " (" + branch + ")"},
		{"  began", r.Created.Local().Format(time.DateTime) + " (" + p.Ago(r.Created) + "), last event " + p.Ago(r.Updated)},
		{"  cost", narrate.MoneyText(s.Ledger)},
	}
	now := p.Now()
	if !project.Driven(r) {
		now = r.Updated
	}
	if took := narrate.TookText(s, now); took != "" {
		rows = append(rows, []string{"  time", took})
	}
	if s.Job != nil {
		rows = append([][]string{{"  job", text.OneLine(s.Spec.Job.Description, 100)}}, rows...)
	}
	if r.Owner != nil && project.Driven(r) {
		rows = append(rows, []string{"  driver", fmt.Sprintf("process %d on %s", r.Owner.PID, r.Owner.Host)})
	}
	b.WriteString(text.Table(rows[0], rows[1:]))
	b.WriteString("\n" + phases + narrate.ProofsText(s) + Pulls(s))
	if result := narrate.ResultText(s, landed) + narrate.AssumedText(s) + narrate.FollowUpsText(s) + narrate.LessonsText(s, ""); result != "" {
		b.WriteString("\n" + result)
	}
	if kept := narrate.KeptText(s, ""); kept != "" {
		b.WriteString("\n" + kept)
	}
	b.WriteString(nextSteps(r, s, asked, p.Now()))
	return b.String()
}

// Landed is what the board says of an issue whose result is done.
func Landed(ctx context.Context, p *project.Checkout, s *orchestrator.State) string {
	if s.Spec.Issue == nil {
		return ""
	}
	all, err := p.Journal.Projects(ctx)
	if err != nil {
		return ""
	}
	for _, project := range all {
		i, err := p.Journal.Issue(ctx, project.ID, s.Spec.Issue.ID)
		if err == nil && project.Root == p.Base.RepoRoot && i.Run == s.Run && i.Column == work.ColumnDone {
			return IssueStanding(i)
		}
	}
	return ""
}

// Standing says in words where a run stands.
func Standing(r journal.RunRow, s *orchestrator.State) string {
	why := ""
	if r.Stalled != "" {
		return "waits: " + r.Stalled
	}
	if s.Reason != "" && r.Outcome != "" && s.Reason != string(r.Outcome) {
		why = " (" + s.Reason + ")"
	}
	switch state := project.RunState(r); state {
	case project.StateFinished:
		return string(r.Outcome) + why
	case string(work.RunInterrupted):
		if r.Outcome == "" {
			return "interrupted (its process died)"
		}
		return state + why
	case string(work.RunFrozen):
		if len(s.Open) == 0 {
			return state + why
		}
		return "frozen, it waits for a person"
	default:
		return state + why
	}
}

// nextSteps says what a person can do now.
func nextSteps(r journal.RunRow, s *orchestrator.State, asked []work.Checkpoint, now time.Time) string {
	var b strings.Builder
	open, answered := 0, 0
	for _, cp := range asked {
		switch {
		case cp.Status == work.CheckpointPending:
			if open++; open == 1 {
				b.WriteString("\nIt waits for you:\n")
			}
			fmt.Fprintf(&b, "  %s  %s%s\n%s", cp.ID, cp.Question, untilWhen(cp, now), narrate.ChoicesText(cp))
		case s.Open[cp.ID] != nil:
			answered++
			fmt.Fprintf(&b, "\nAnswered: %s %s by %s\n", cp.ID, cp.Status, cp.AnsweredBy)
		}
	}
	if open > 0 {
		b.WriteString("Look:   forge show ID\nAnswer: forge approve ID | forge request-changes ID -m TEXT | forge reject ID\n")
	}
	switch state := project.RunState(r); {
	case state == project.StateRunning:
		fmt.Fprintf(&b, "\nFollow: forge logs --follow --run %s\n", r.ID)
	case state == string(work.RunFrozen) && answered == 0:
		fmt.Fprintf(&b, "Then:   forge resume %s\n", r.ID)
	case state != project.StateFinished:
		fmt.Fprintf(&b, "\nGo on:  forge resume %s\n", r.ID)
	case r.Outcome == work.RunFailed:
		fmt.Fprintf(&b, "\nAgain:  forge resume %s   (opens the next attempt of what failed)\n", r.ID)
	}
	fmt.Fprintf(&b, "Why:    forge why --run %s\n", r.ID)
	return b.String()
}

// OtherUnfinished names the runs beside id that something is left to do in.
func OtherUnfinished(ctx context.Context, p *project.Checkout, id string) (string, error) {
	rows, err := p.Journal.Unfinished(ctx)
	text := ""
	for _, r := range rows {
		if r.ID != id && r.Issue == 0 {
			text += fmt.Sprintf("\nAlso unfinished: run %s (%s): forge status --run %s\n", r.ID, project.RunState(r), r.ID)
		}
	}
	return text, err
}

// PhaseTable is the table of all phases of a run. driven says that a process
// drives it.
func PhaseTable(s *orchestrator.State, driven bool) string { return tableOf(s, s.Order, driven) }

func tableOf(s *orchestrator.State, phases []string, driven bool) string {
	var rows [][]string
	for _, n := range phases {
		ph := s.View(n)
		name := ph.Plan.Name
		if ph.Plan.Repository != "" {
			name += " (in " + ph.Plan.Repository + ")"
		}
		rows = append(rows, []string{n, name, ph.Word(driven), fmt.Sprintf("%d/%d", ph.Spent, ph.Budget), Reason(ph)})
	}
	return text.Table([]string{"PHASE", "NAME", "STATE", "ITERATIONS", "WHY"}, rows)
}

// BusyTable is the table of the phases on which something can be seen to
// happen; the others are counted.
func BusyTable(s *orchestrator.State, driven bool) string {
	var busy []string
	done, waiting := 0, 0
	for _, n := range s.Order {
		switch ph := s.View(n); {
		case ph.Outcome == work.PhaseDone:
			done++
		case ph.Outcome == "" && ph.Stage == orchestrator.StageWaiting:
			waiting++
		default:
			busy = append(busy, n)
		}
	}
	return tableOf(s, busy, driven) + fmt.Sprintf("and %d done, %d waiting\n", done, waiting)
}

// Reason says why a phase stands as it does, "" where there is nothing to say.
func Reason(p *orchestrator.View) string {
	if said := p.NotRun(); said != "" {
		return said
	}
	body := string(p.Reason)
	if p.Cause != "" {
		body += " of " + p.Cause
	}
	if p.Detail != "" {
		if body != "" {
			body += ": "
		}
		body += text.FirstLine(p.Detail, 100)
	}
	if p.Proof == work.ProofClaim {
		body += "by its word alone"
	}
	return body
}
