package worker

import (
	"context"
	"errors"

	"forge/factory/triage"
	"forge/internal/journal"
)

// newest is the last thread of an issue, and the number of the next; ok is
// false when there is none yet.
func (d *triager) newest(ctx context.Context, issue int64) (found journal.RunRow, next int, ok bool, err error) {
	for n := 1; ; n++ {
		row, err := d.worker.Journal.RunOf(ctx, triage.ThreadID(issue, n))
		if errors.Is(err, journal.ErrNoRun) {
			return found, n, ok, nil
		}
		if err != nil {
			return found, n, false, err
		}
		// A journal may hold the boards of several checkouts.
		if row.Project == d.worker.Project && row.Events > 0 {
			found, ok = row, true
		}
	}
}
