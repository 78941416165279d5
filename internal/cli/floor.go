package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"forge/factory"
	pages "forge/factory/web"
	"forge/internal/jobs"
	"forge/internal/journal"
	"forge/internal/proc"
	"forge/internal/runs"
	"forge/internal/work"
)

// floor steers the loop of one project, whichever process runs it: what it
// says is in rows.
type floor struct {
	board *issueBoard
	poke  chan struct{} // of the loop in this process, nil where there is none
}

var _ pages.Floor = floor{}

// Standing is how the loop stands.
func (f floor) Standing(ctx context.Context) (pages.Standing, error) {
	store, project := f.board.Journal, f.board.Project
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
	now := f.board.Now()
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
func (f floor) Pause(ctx context.Context, paused bool, by string) error {
	return f.set(ctx, by, func(s *work.Floor) {
		s.Paused, s.Drain = paused, false
		if !paused {
			s.Breakers = nil
		}
	})
}

// Drain lets nothing be claimed, and the servers end when nothing runs.
func (f floor) Drain(ctx context.Context, by string) error {
	return f.set(ctx, by, func(s *work.Floor) { s.Drain = true })
}

func (f floor) set(ctx context.Context, by string, change func(*work.Floor)) error {
	for {
		s, err := f.board.Journal.Floor(ctx, f.board.Project)
		if err != nil {
			return err
		}
		change(&s)
		s.By, s.At = by, f.board.Now().UTC()
		err = f.board.Journal.SetFloor(ctx, f.board.Project, s)
		if !errors.Is(err, work.ErrStale) {
			f.wake()
			return err
		}
	}
}

func (f floor) wake() {
	select {
	case f.poke <- struct{}{}:
	default:
	}
}

// CancelIssue says that nobody shall work on an issue any more. The process
// that does stops its agents within a moment; what a dead one left running is
// ended here.
func (f floor) CancelIssue(ctx context.Context, id int64, by factory.By) (work.Issue, error) {
	i, err := f.board.Cancel(ctx, id, by)
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
	if err := f.board.endTriage(ctx, i, by); err != nil {
		return i, err
	}
	return i, f.endLeftovers(ctx, i)
}

// cancelParts cancels the parts of a cancelled issue that are not over, and
// says whether there were any.
func (f floor) cancelParts(ctx context.Context, i work.Issue, by factory.By) (some bool, err error) {
	parts, err := f.board.parts(ctx, i.ID)
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
			if now, readErr := f.board.Journal.Issue(ctx, f.board.Project, part.ID); readErr == nil && (now.Column == work.ColumnDone || now.State == work.IssueCancelled) {
				continue // somebody was quicker
			}
			return some, err
		}
	}
	return some, nil
}

// parts are the issues that are part of another. They are younger than that.
func (b *issueBoard) parts(ctx context.Context, parent int64) ([]work.Issue, error) {
	var out []work.Issue
	for after := parent; ; {
		page, err := b.Journal.Issues(ctx, work.IssueFilter{Project: b.Project}, journal.MaxIssuePage, strconv.FormatInt(after, 10))
		if err != nil {
			return nil, err
		}
		for _, i := range page {
			if after = i.ID; i.Parent == parent {
				out = append(out, i)
			}
		}
		if len(page) < journal.MaxIssuePage {
			return out, nil
		}
	}
}

// endLeftovers ends the processes of a run that nobody drives any more.
func (f floor) endLeftovers(ctx context.Context, i work.Issue) error {
	if i.Run == "" {
		return nil
	}
	row, err := f.board.Journal.RunOf(ctx, i.Run)
	if errors.Is(err, journal.ErrNoRun) || err == nil && row.Alive {
		return nil
	}
	if err != nil {
		return err
	}
	left, err := f.board.Journal.Attempts(ctx, i.Run)
	if err != nil {
		return err
	}
	for _, a := range left {
		if err := (runs.Processes{Kill: proc.KillMarked, Log: f.board.Log}).End(ctx, a.Mark); err != nil {
			return fmt.Errorf("end what %s left running: %w", a.Command, err)
		}
	}
	return nil
}

// stopped waits until nobody works on an issue any more, and says whether that
// came to pass.
func (f floor) stopped(ctx context.Context, id int64) (bool, error) {
	patience := time.NewTimer(jobs.CancelWait)
	defer patience.Stop()
	for {
		held, err := f.board.Journal.Claims(ctx, f.board.Project)
		if err != nil {
			return false, err
		}
		c := held[id]
		if c.Owner == "" || c.Dead || f.board.Now().Sub(c.Heartbeat) > factory.LeaseTimeout {
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
