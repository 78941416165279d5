package orchestrator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"forge/internal/work"
)

// A checkpoint may have an end. What nobody answered until then stays held: its
// record is closed, and the same question is asked again under another id. The
// phase never leaves its wait meanwhile, so that nothing, not even a freer
// policy, can take the silence for a yes.

// expiry is until when a checkpoint that is opened now may be answered; nil =
// for ever.
func (d *decision) expiry() *time.Time {
	secs := d.s.Spec.Settings.CheckpointExpirySecs
	if secs <= 0 {
		return nil
	}
	end := d.now.UTC().Add(time.Duration(secs) * time.Second)
	return &end
}

// overdue asks again what nobody answered in time.
func (d *decision) overdue(f Overdue) {
	s := d.s
	if !s.Live || s.Stopping != nil {
		return
	}
	asked := s.Asked
	for i, id := range f.Checkpoints {
		cp := s.Open[id]
		if cp == nil || cp.ExpiresAt == nil || slices.Contains(f.Checkpoints[:i], id) {
			continue
		}
		asked++
		again := *cp
		again.ID, again.OpenedAt, again.ExpiresAt = fmt.Sprintf("%s.%d", s.Run, asked), d.now.UTC(), d.expiry()
		d.phase(cp.Phase, work.CheckpointOverdue, CheckpointOverdueData{ID: id, Again: again.ID})
		d.phase(cp.Phase, work.CheckpointOpened, again)
	}
}

func applyOverdue(s *State, _ *Phase, _ work.Event, d CheckpointOverdueData) { delete(s.Open, d.ID) }

// overdue are the open checkpoints whose time is over at now, in the order of
// their ids.
func (s *State) overdue(now time.Time) []string {
	var out []string
	for id, cp := range s.Open {
		if cp.ExpiresAt != nil && !now.Before(*cp.ExpiresAt) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// expire closes the checkpoints whose time is over and asks again. The record
// is closed first: an answer that a door accepted before is then in the inbox,
// and none is accepted afterwards, so that none is lost.
func (r *session) expire(ctx context.Context) error {
	if !r.s.Live || r.s.Stopping != nil {
		return nil
	}
	now := r.Now()
	due := r.s.overdue(now)
	if len(due) == 0 {
		return nil
	}
	closed, err := r.Journal.Expire(context.WithoutCancel(ctx), due, now)
	if err != nil {
		return fmt.Errorf("close checkpoints whose time is over: %w", err)
	}
	if len(closed) > 0 {
		if err := r.feed(ctx, Overdue{Checkpoints: closed}); err != nil {
			return err
		}
	}
	if len(closed) < len(due) {
		return r.takeAnswers(ctx, true)
	}
	return nil
}
