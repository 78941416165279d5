package runs

import (
	"context"
	"slices"

	"forge/factory/triage"
	"forge/internal/journal"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
	"forge/orchestrator"
)

// WithoutTriage leaves threads of triage out of a list of runs.
func WithoutTriage(rows []journal.RunRow, err error) ([]journal.RunRow, error) {
	return slices.DeleteFunc(rows, func(r journal.RunRow) bool { return triage.IsThread(r.ID) }), err
}

// FinishedWhole says that every phase of the run is done.
func FinishedWhole(s *orchestrator.State) bool {
	return !slices.ContainsFunc(s.Order, func(n string) bool { return s.View(n).Outcome != work.PhaseDone })
}

// PickAll are the runs that are named, each once; all of them when none is.
func PickAll(ctx context.Context, p *project.Checkout, names []string) ([]journal.RunRow, error) {
	if len(names) == 0 {
		return WithoutTriage(p.Journal.Runs(ctx))
	}
	var out []journal.RunRow
	seen := map[string]bool{}
	for _, name := range names {
		if name == "" {
			return nil, refusal.New("forge status --all lists them", "--runs names no run")
		}
		row, err := p.PickRun(ctx, name)
		if err != nil {
			return nil, err
		}
		if !seen[row.ID] {
			seen[row.ID] = true
			out = append(out, row)
		}
	}
	return out, nil
}
