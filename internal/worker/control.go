package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/board"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/runs"
	"forge/internal/work"
)

// Control steers the loop of one project, whichever process runs it: what it
// says is in rows.
type Control struct {
	Board *board.Opened
	Poke  chan struct{} // of the loop in this process, nil where there is none
}

var _ pages.Floor = Control{}

// Standing is how the loop stands.
func (f Control) Standing(ctx context.Context) (pages.Standing, error) {
	store, project := f.Board.Journal, f.Board.Project
	out := pages.Standing{Running: []int64{}, Later: map[int64]time.Time{}}
	set, err := store.Floor(ctx, project)
	if err != nil {
		return out, err
	}
	out.Paused, out.Drain = set.Paused || set.Drain, set.Drain
	servers, err := store.Servers(ctx, project)
	if err != nil {
		return out, err
	}
	for _, v := range servers {
		if v.Dead {
			continue
		}
		if !out.Serving {
			out.Serving, out.Since = true, v.Since
		}
		if v.Note != "" {
			out.Note = v.Note
		}
	}
	held, err := store.Claims(ctx, project)
	if err != nil {
		return out, err
	}
	now := f.Board.Now()
	for id, c := range held {
		if c.Owner != "" && !c.Dead && now.Sub(c.Heartbeat) <= factory.LeaseTimeout {
			out.Running = append(out.Running, id)
		}
		if c.Later.After(now) {
			out.Later[id] = c.Later
		}
	}
	slices.Sort(out.Running)
	counts, err := store.IssueCounts(ctx, project)
	out.InReview = counts[work.ColumnInReview]
	return out, err
}

// Pause lets nothing be claimed; with paused false the loop goes on, also with
// agents that were left alone.
func (f Control) Pause(ctx context.Context, paused bool, by string) error {
	return f.set(ctx, by, func(s *work.Floor) {
		s.Paused, s.Drain = paused, false
		if !paused {
			s.Breakers = nil
		}
	})
}

// Drain lets nothing be claimed, and the servers end when nothing runs.
func (f Control) Drain(ctx context.Context, by string) error {
	return f.set(ctx, by, func(s *work.Floor) { s.Drain = true })
}

func (f Control) set(ctx context.Context, by string, change func(*work.Floor)) error {
	for {
		s, err := f.Board.Journal.Floor(ctx, f.Board.Project)
		if err != nil {
			return err
		}
		change(&s)
		s.By, s.At = by, f.Board.Now().UTC()
		err = f.Board.Journal.SetFloor(ctx, f.Board.Project, s)
		if !errors.Is(err, work.ErrStale) {
			f.wake()
			return err
		}
	}
}

func (f Control) wake() {
	select {
	case f.Poke <- struct{}{}:
	default:
	}
}

// CancelIssue says that nobody shall work on an issue any more. The process
// that does stops its agents within a moment; what a dead one left running is
// ended here.
func (f Control) CancelIssue(ctx context.Context, id int64, by factory.By) (work.Issue, error) {
	i, err := f.Board.Cancel(ctx, id, by)
	var rule *factory.Refusal
	again := errors.As(err, &rule) && i.State == work.IssueCancelled
	if err != nil && !again {
		return i, err
	}
	f.wake()
	// Those of an issue that is cancelled already are what a death left over.
	some, partsErr := f.cancelParts(ctx, i, by)
	if partsErr != nil || again && !some {
		return i, errors.Join(partsErr, err)
	}
	if err := endTriage(ctx, f.Board, i, by); err != nil {
		return i, err
	}
	return i, f.endLeftovers(ctx, i)
}

// Ends ends what is left of an issue that somebody cancelled together with
// something else: its parts, its triage, its processes.
func (f Control) Ends(ctx context.Context, i work.Issue, by factory.By) error {
	f.wake()
	if _, err := f.cancelParts(ctx, i, by); err != nil {
		return err
	}
	if err := endTriage(ctx, f.Board, i, by); err != nil {
		return err
	}
	return f.endLeftovers(ctx, i)
}

// cancelParts cancels the parts of a cancelled issue that are not over, and
// says whether there were any.
func (f Control) cancelParts(ctx context.Context, i work.Issue, by factory.By) (some bool, err error) {
	parts, err := f.Board.Parts(ctx, i.ID)
	if err != nil {
		return false, err
	}
	by.Note = fmt.Sprintf("issue %d, which it is part of, was cancelled", i.ID)
	for _, part := range parts {
		if part.Column == work.ColumnDone || part.State == work.IssueCancelled {
			continue
		}
		some = true
		if _, err := f.CancelIssue(ctx, part.ID, by); err != nil {
			if now, readErr := f.Board.Journal.Issue(ctx, f.Board.Project, part.ID); readErr == nil && (now.Column == work.ColumnDone || now.State == work.IssueCancelled) {
				continue // somebody was quicker
			}
			return some, err
		}
	}
	return some, nil
}

// endLeftovers ends the processes of a run that nobody drives any more.
func (f Control) endLeftovers(ctx context.Context, i work.Issue) error {
	if i.Run == "" {
		return nil
	}
	row, err := f.Board.Journal.RunOf(ctx, i.Run)
	if errors.Is(err, journal.ErrNoRun) || err == nil && row.Alive {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := f.Board.Journal.Attempts(ctx, i.Run)
	if err != nil {
		return err
	}
	for _, a := range left {
		if err := (runs.Processes{Kill: proc.KillMarked, Log: f.Board.Log}).End(ctx, a.Mark); err != nil {
			return fmt.Errorf("end what %s left running: %w", a.Command, err)
		}
	}
	return nil
}

// Stopped waits until nobody works on an issue any more, and says whether that
// came to pass.
func (f Control) Stopped(ctx context.Context, id int64) (bool, error) {
	patience := time.NewTimer(jobs.CancelWait)
	defer patience.Stop()
	for {
		held, err := f.Board.Journal.Claims(ctx, f.Board.Project)
		if err != nil {
			return false, err
		}
		c := held[id]
		if c.Owner == "" || c.Dead || f.Board.Now().Sub(c.Heartbeat) > factory.LeaseTimeout {
			return true, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-patience.C:
			return false, nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}
