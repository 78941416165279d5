package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	pages "forge/factory/web"
	"forge/internal/journal"
	"forge/internal/text"
)

// errRunOver is what is answered where there is nothing to cancel.
var errRunOver = &pages.Complaint{Status: 409, What: "This run is over: there is nothing to cancel."}

// Cancel ends a run or job for good: whoever drives it stops its agents, and
// then the end is written. An issue's run is its issue's to cancel.
func (j *siteJobs) Cancel(ctx context.Context, run, by string) error {
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
	lease, err := j.take(ctx, run)
	if err != nil {
		return forPages(err)
	}
	st, err := endJob(ctx, j.p, lease, "cancelled by "+text.FirstLine(by, 200))
	if err = errors.Join(err, lease.Release(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	if err := j.shop.e.Repo.DropBase(ctx, st.Run); err != nil {
		j.p.Log.Warn("drop the ref that kept the base", "err", err)
	}
	return nil
}

// take stops whoever drives a run, and takes the run over. What is just being
// resumed while it is asked is stopped as soon as it is driven.
func (j *siteJobs) take(ctx context.Context, run string) (*journal.Lease, error) {
	self := journal.Self()
	for end := time.Now().Add(cancelWait); ; {
		row, err := j.p.Journal.RunOf(ctx, run)
		if err != nil {
			return nil, err
		}
		if row.Outcome.Final() {
			return nil, errRunOver
		}
		j.mu.Lock()
		now := j.driven[run]
		j.mu.Unlock()
		switch {
		case now != nil:
			now.stop()
			err = j.stopped(ctx, run)
		case row.Alive && row.Owner != nil && row.Owner.PID == self.PID && row.Owner.Host == self.Host:
			err = journal.ErrLease // it begins, or ends, within this process
		default:
			err = stopOwner(ctx, j.p, row)
		}
		var lease *journal.Lease
		if err == nil {
			lease, err = j.p.Journal.AcquireRun(ctx, run, journal.Self())
		}
		if !errors.Is(err, journal.ErrLease) {
			return lease, err
		}
		if time.Now().After(end) {
			return nil, &pages.Complaint{Status: 503, What: "Another process takes this run up again and again.", Fix: "Try again in a moment."}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// stopped waits until this process has left a run.
func (j *siteJobs) stopped(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, cancelWait)
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
