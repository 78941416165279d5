package report

import (
	"context"
	"fmt"

	"forge/gates"
	"forge/internal/approval"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/text"
	"forge/internal/work"
)

// CheckpointPage is which checkpoints are listed.
type CheckpointPage struct {
	Run, After string
	All        bool // answered and expired ones too
	Limit      int
}

// CheckpointList is a page of checkpoints.
type CheckpointList struct {
	Checkpoints []work.Checkpoint `json:"checkpoints"`
	// Next is what --after takes for the next page; "" when this is the last.
	Next string `json:"next,omitempty"`
}

// Checkpoints costs the same however many checkpoints there are.
func Checkpoints(ctx context.Context, p *project.Checkout, page CheckpointPage) (CheckpointList, error) {
	list := CheckpointList{Checkpoints: []work.Checkpoint{}}
	filter := journal.CheckpointFilter{Status: work.CheckpointPending}
	if page.All {
		filter.Status = ""
	}
	if page.Run != "" {
		row, err := p.PickRun(ctx, page.Run)
		if err != nil {
			return list, err
		}
		filter.Run = row.ID
	}
	after := ""
	if page.After != "" {
		cp, err := approval.Find(ctx, p, page.After)
		if err != nil {
			return list, approval.Refused(err, cp)
		}
		after = cp.ID
	}
	found, err := p.Journal.Checkpoints(ctx, filter, page.Limit+1, after)
	if err != nil {
		return list, err
	}
	if len(found) > page.Limit {
		found = found[:page.Limit]
		list.Next = found[page.Limit-1].ID
	}
	list.Checkpoints = append(list.Checkpoints, found...)
	return list, nil
}

// Text is the page as a table. Words of others in it may still act on a terminal.
func (l CheckpointList) Text(p *project.Checkout, all bool) string {
	body := "Nothing waits for a person.\n"
	if len(l.Checkpoints) > 0 {
		body = l.table(p, all)
	}
	if l.Next != "" {
		body += fmt.Sprintf("\nMore:   forge checkpoints --after %s\n", l.Next)
	}
	return body
}

func (l CheckpointList) table(p *project.Checkout, all bool) string {
	head := []string{"ID", "KIND", "PHASE", "OPENED", "QUESTION"}
	if all {
		head = []string{"ID", "KIND", "PHASE", "OPENED", "STATUS", "BY", "QUESTION"}
	}
	var rows [][]string
	for _, cp := range l.Checkpoints {
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
	return body
}
