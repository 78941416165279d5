package embedded

import (
	"context"
	"fmt"

	"forge/orchestrator"
)

// expire closes the checkpoints whose time is over and asks again. The record
// is closed first: an answer that a door accepted before is then in the inbox,
// and none is accepted afterwards, so that none is lost.
func (r *session) expire(ctx context.Context) error {
	if !r.s.Live || r.s.Stopping != nil {
		return nil
	}
	now := r.Now()
	due := r.s.Overdue(now)
	if len(due) == 0 {
		return nil
	}
	closed, err := r.Journal.Expire(context.WithoutCancel(ctx), due, now)
	if err != nil {
		return fmt.Errorf("close checkpoints whose time is over: %w", err)
	}
	if len(closed) > 0 {
		if err := r.feed(ctx, orchestrator.Overdue{Checkpoints: closed}); err != nil {
			return err
		}
	}
	if len(closed) < len(due) {
		return r.takeAnswers(ctx, true)
	}
	return nil
}
