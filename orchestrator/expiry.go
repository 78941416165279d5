package orchestrator

import (
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

// Overdue are the open checkpoints whose time is over at now, in the order of
// their ids.
func (s *State) Overdue(now time.Time) []string {
	var out []string
	for id, cp := range s.Open {
		if cp.ExpiresAt != nil && !now.Before(*cp.ExpiresAt) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}
