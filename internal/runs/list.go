package runs

import (
	"slices"

	"forge/factory/triage"
	"forge/internal/journal"
)

// WithoutTriage leaves threads of triage out of a list of runs.
func WithoutTriage(rows []journal.RunRow, err error) ([]journal.RunRow, error) {
	return slices.DeleteFunc(rows, func(r journal.RunRow) bool { return triage.IsThread(r.ID) }), err
}
