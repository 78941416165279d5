package runs

import (
	"context"
	"slices"

	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// PickResumable is the run that is named, or the newest that can go on.
func PickResumable(ctx context.Context, p *project.Checkout, id string) (journal.RunRow, error) {
	row, err := p.PickRun(ctx, id)
	if err != nil {
		return row, err
	}
	if id == "" {
		rows, err := p.Journal.Unfinished(ctx)
		if err != nil {
			return row, err
		}
		rows = slices.DeleteFunc(rows, func(r journal.RunRow) bool { return r.Issue != 0 })
		if len(rows) > 0 {
			row = rows[0]
		}
		if row.Issue != 0 {
			return row, refusal.New("forge factory goes on with it; forge resume RUN does it here", "the runs of this project are of issues: the newest is %s", row.ID)
		}
	}
	switch row.Outcome {
	case work.RunCompleted, work.RunCancelled:
		return row, refusal.New("forge run starts a new one", "run %s is %s: there is nothing to go on with", row.ID, row.Outcome)
	}
	return row, nil
}
