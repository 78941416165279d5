package tracker

import (
	"context"
	"maps"
	"slices"

	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

// simStore is a board with what is remembered of a tracker, in memory. Whoever
// writes through it may die right before or right after.
type simStore struct {
	*journaltest.MemoryBoard
	rows  map[int64]work.TrackerIssue
	mark  work.TrackerMark
	hooks map[string]bool
	dies  func() // before and after each write of the factory's process
}

func (s *simStore) write(do func() error) error {
	s.dies()
	err := do()
	if err == nil {
		s.dies()
	}
	return err
}

func (s *simStore) TrackerIssue(_ context.Context, _ string, remote int64) (work.TrackerIssue, bool, error) {
	row, ok := s.rows[remote]
	return row, ok, nil
}

func (s *simStore) TrackerIssueOf(_ context.Context, _ string, issue int64) (work.TrackerIssue, bool, error) {
	for _, row := range s.rows {
		if row.Issue == issue {
			return row, true, nil
		}
	}
	return work.TrackerIssue{}, false, nil
}

func (s *simStore) TrackerIssues(context.Context, string, string) (out []work.TrackerIssue, _ error) {
	for _, n := range slices.Sorted(maps.Keys(s.rows)) {
		if s.rows[n].Issue != 0 {
			out = append(out, s.rows[n])
		}
	}
	return out, nil
}

func (s *simStore) ImportIssue(ctx context.Context, t work.TrackerIssue, c work.BoardChange) (i work.Issue, err error) {
	return i, s.write(func() error {
		if s.rows[t.Remote].Issue != 0 {
			return work.ErrStale
		}
		stored, err := s.MemoryBoard.ChangeBoard(ctx, c)
		if err != nil {
			return err
		}
		i = stored[0]
		t.Project, t.Issue = c.Project, i.ID
		s.rows[t.Remote] = t
		return nil
	})
}

func (s *simStore) KeepTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error {
	return s.write(func() error {
		if c != nil {
			if _, err := s.MemoryBoard.ChangeBoard(ctx, *c); err != nil {
				return err
			}
		}
		was := s.rows[t.Remote]
		t.Project, t.Issue, t.Heard = was.Project, was.Issue, was.Heard
		s.rows[t.Remote] = t
		return nil
	})
}

func (s *simStore) HearTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error {
	return s.write(func() error {
		row := s.rows[t.Remote]
		if row.Heard >= t.Heard {
			return work.ErrStale
		}
		if c != nil {
			if _, err := s.MemoryBoard.ChangeBoard(ctx, *c); err != nil {
				return err
			}
		}
		row.Heard = t.Heard
		s.rows[t.Remote] = row
		return nil
	})
}

func (s *simStore) TrackerMark(context.Context, string) (work.TrackerMark, error) { return s.mark, nil }

func (s *simStore) SetTrackerMark(_ context.Context, _ string, m work.TrackerMark) error {
	return s.write(func() error { s.mark = m; return nil })
}

func (s *simStore) NewHook(_ context.Context, _ string, known []string) (bool, error) {
	fresh := !s.hooks[known[0]]
	s.hooks[known[0]] = true
	return fresh, nil
}

func (s *simStore) ChangeBoard(ctx context.Context, c work.BoardChange) (out []work.Issue, err error) {
	return out, s.write(func() (err error) {
		out, err = s.MemoryBoard.ChangeBoard(ctx, c)
		return err
	})
}

// lines is the whole history of the board, in order.
func (s *simStore) lines() (out []work.IssueEntry) {
	cards, _ := s.Issues(context.Background(), work.IssueFilter{Project: simBoard}, 1000, "")
	for _, i := range cards {
		of, _ := s.IssueHistory(context.Background(), simBoard, i.ID, 100000, 0)
		out = append(out, of...)
	}
	slices.SortFunc(out, func(a, b work.IssueEntry) int { return int(a.Seq - b.Seq) })
	return out
}

func (s *simStore) BoardEnd(context.Context) (end int64, _ error) {
	for _, l := range s.lines() {
		end = l.Seq
	}
	return end, nil
}

func (s *simStore) BoardLines(_ context.Context, _ string, after int64, limit int) (out []work.IssueEntry, _ error) {
	for _, l := range s.lines() {
		if l.Seq > after && len(out) < limit {
			out = append(out, l)
		}
	}
	return out, nil
}
