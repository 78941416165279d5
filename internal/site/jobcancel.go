package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	pages "forge/factory/web"
	"forge/internal/approval"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/text"
)

// errRunOver is what is answered where there is nothing to cancel.
var errRunOver = &pages.Complaint{Status: 409, What: "This run is over: there is nothing to cancel."}

// Cancel ends a run or job for good: whoever drives it stops its agents, and
// then the end is written. An issue's run is its issue's to cancel.
func (j *Jobs) Cancel(ctx context.Context, run, by string) error {
	row, err := j.p.Journal.RunOf(ctx, run)
	if errors.Is(err, journal.ErrNoRun) {
		return fmt.Errorf("%w: run %s", fs.ErrNotExist, run)
	}
	if err != nil {
		return err
	}
	switch {
	case row.Issue != 0:
		return &pages.Complaint{Status: 409, What: fmt.Sprintf("This run is of issue #%d.", row.Issue), Fix: "Cancel the issue."}
	case row.Outcome.Final():
		return errRunOver
	}
	j.mu.Lock()
	j.ending[run] = true
	j.mu.Unlock()
	defer func() {
		j.mu.Lock()
		delete(j.ending, run)
		j.mu.Unlock()
	}()
	_, err = jobs.Cancel(ctx, j.p, run, "cancelled by "+text.FirstLine(by, 200), jobs.CancelOptions{
		Judged: approval.JudgedIn(j.p),
		Stop:   j.stopHere,
	})
	switch {
	case errors.Is(err, jobs.ErrOver):
		return errRunOver
	case errors.Is(err, jobs.ErrTakenUp):
		return &pages.Complaint{Status: 503, What: "Another process takes this run up again and again.", Fix: "Try again in a moment."}
	}
	return forPages(err)
}

// stopHere stops this process's driving of a run, and says whether it did drive
// it.
func (j *Jobs) stopHere(ctx context.Context, run string) (bool, error) {
	j.mu.Lock()
	now := j.driven[run]
	j.mu.Unlock()
	if now == nil {
		return false, nil
	}
	now.stop()
	return true, j.stopped(ctx, run)
}

// stopped waits until this process has left a run.
func (j *Jobs) stopped(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, jobs.CancelWait)
	defer cancel()
	for {
		j.mu.Lock()
		_, still := j.driven[run]
		j.mu.Unlock()
		if !still {
			return nil
		}
		select {
		case <-ctx.Done():
			return &pages.Complaint{Status: 503, What: "Its agents are still being stopped.", Fix: "Try again in a moment."}
		case <-time.After(50 * time.Millisecond):
		}
	}
}
