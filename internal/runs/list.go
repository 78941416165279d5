package runs

import (
	"slices"

	"forge/factory/triage"
	"forge/internal/journal"
	"forge/internal/work"
	"forge/orchestrator"
)

// WithoutTriage leaves threads of triage out of a list of runs.
func WithoutTriage(rows []journal.RunRow, err error) ([]journal.RunRow, error) {
	return slices.DeleteFunc(rows, func(r journal.RunRow) bool { return triage.IsThread(r.ID) }), err
}

// FinishedWhole says that every phase of the run is done.
func FinishedWhole(s *orchestrator.State) bool {
	return !slices.ContainsFunc(s.Order, func(n string) bool { return s.Phases[n].Outcome != work.PhaseDone })
}
