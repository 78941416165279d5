package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// hookMemory is how long a webhook is remembered. One that comes again later is
// a hint like any other: what it points at is read again. A new event in the very
// words of an old one is heard by the next poll.
const hookMemory = 30 * 24 * time.Hour

const selectTracker = `SELECT t.tracker, t.remote, coalesce(p.id, ''), coalesce(t.issue, 0), t.hash, t.judged, t.revision, t.bare, t.posted, t.heard
	FROM tracker_issues t LEFT JOIN projects p ON p.n = t.project`

func scanTracker(rows *sql.Rows) (t work.TrackerIssue, err error) {
	err = rows.Scan(&t.Tracker, &t.Remote, &t.Project, &t.Issue, &t.Hash, &t.Judged, &t.Revision, &t.SeenBare, &t.Posted, &t.Heard)
	return t, err
}

// TrackerIssue is what is remembered of one issue of a tracker; ok is false
// when nothing is.
func (s *Store) TrackerIssue(ctx context.Context, tracker string, remote int64) (t work.TrackerIssue, ok bool, err error) {
	err = s.each(ctx, selectTracker+` WHERE t.tracker = ? AND t.remote = ?`, []any{tracker, remote}, func(rows *sql.Rows) (err error) {
		t, err = scanTracker(rows)
		ok = true
		return err
	})
	return t, ok, s.explain("read tracker", err)
}

// TrackerIssueOf is what an issue of a board is bound to; ok is false when it
// is bound to nothing.
func (s *Store) TrackerIssueOf(ctx context.Context, project string, issue int64) (t work.TrackerIssue, ok bool, err error) {
	err = s.each(ctx, selectTracker+` WHERE t.issue = ? AND t.project = (SELECT n FROM projects WHERE id = ?)`, []any{issue, project}, func(rows *sql.Rows) (err error) {
		t, err = scanTracker(rows)
		ok = true
		return err
	})
	return t, ok, s.explain("read tracker", err)
}

// TrackerIssues are the issues of a tracker that are bound to issues of a
// project, by number.
func (s *Store) TrackerIssues(ctx context.Context, project, tracker string) (list []work.TrackerIssue, err error) {
	err = s.each(ctx, selectTracker+` WHERE t.tracker = ? AND p.id = ? ORDER BY t.remote`, []any{tracker, project}, func(rows *sql.Rows) error {
		t, err := scanTracker(rows)
		list = append(list, t)
		return err
	})
	return list, s.explain("read tracker", err)
}

// ImportIssue binds an issue of a tracker to a new issue of a board, in one
// durable transaction: work.ErrStale when it is bound already, to whichever
// board, and then nothing is written.
func (s *Store) ImportIssue(ctx context.Context, t work.TrackerIssue, c work.BoardChange) (work.Issue, error) {
	if t.Tracker == "" || t.Remote < 1 || len(c.Issues) != 1 || c.Issues[0].Issue.ID != 0 {
		return work.Issue{}, fmt.Errorf("import issue %d of %q: it is not one new issue", t.Remote, t.Tracker)
	}
	if err := CheckBoardChange(c); err != nil {
		return work.Issue{}, fmt.Errorf("import issue %d: %w", t.Remote, err)
	}
	var issue work.Issue
	err := s.write(ctx, s.durable, fmt.Sprintf("import issue %d", t.Remote), func(ctx context.Context, w *writer) error {
		stored, err := applyBoard(ctx, w, c)
		if err != nil {
			return err
		}
		issue = stored[0]
		n, err := w.exec(ctx, `INSERT INTO tracker_issues (tracker, remote, project, issue, hash, judged, revision, bare, posted, heard)
			SELECT ?1, ?2, n, ?4, ?5, ?6, ?7, ?8, ?9, ?10 FROM projects WHERE id = ?3
			ON CONFLICT (tracker, remote) DO UPDATE SET project = excluded.project, issue = excluded.issue, hash = excluded.hash, judged = excluded.judged, heard = CASE WHEN tracker_issues.heard > excluded.heard THEN tracker_issues.heard ELSE excluded.heard END
			WHERE tracker_issues.issue IS NULL`,
			t.Tracker, t.Remote, c.Project, issue.ID, t.Hash, t.Judged, t.Revision, t.SeenBare, t.Posted, t.Heard)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: issue %d of %s is bound", work.ErrStale, t.Remote, t.Tracker)
		}
		return err
	})
	if err != nil {
		return work.Issue{}, err
	}
	return issue, nil
}

// HearTracker remembers that the calls of a comment were acted on, with the change
// of the board's issue that they make, or none, in one durable transaction:
// work.ErrStale when that or a later comment was heard before, and then nothing is
// written.
func (s *Store) HearTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error {
	if c != nil {
		if err := CheckBoardChange(*c); err != nil {
			return fmt.Errorf("change called issue %d: %w", t.Issue, err)
		}
		if t.Issue == 0 || t.Project != c.Project || len(c.Issues) != 1 || c.Issues[0].Issue.ID != t.Issue {
			return fmt.Errorf("change called issue %d: the change is of another", t.Issue)
		}
	}
	return s.write(ctx, s.durable, fmt.Sprintf("hear a call of issue %d of a tracker", t.Remote), func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `UPDATE tracker_issues SET heard = ?3 WHERE tracker = ?1 AND remote = ?2 AND heard < ?3`, t.Tracker, t.Remote, t.Heard)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: comment %d of issue %d of %s was heard", work.ErrStale, t.Heard, t.Remote, t.Tracker)
		}
		if err == nil && c != nil {
			_, err = applyBoard(ctx, w, *c)
		}
		return err
	})
}

// KeepTracker remembers what is known of an issue of a tracker, with a change
// of the board's issue that it is bound to, or none, in one durable
// transaction. What it is bound to is not changed by it.
func (s *Store) KeepTracker(ctx context.Context, t work.TrackerIssue, c *work.BoardChange) error {
	if t.Tracker == "" || t.Remote < 1 {
		return errors.New("remember an issue of a tracker: it has no name")
	}
	if c != nil {
		if err := CheckBoardChange(*c); err != nil {
			return fmt.Errorf("change imported issue %d: %w", t.Issue, err)
		}
		if t.Issue == 0 || t.Project != c.Project || len(c.Issues) != 1 || c.Issues[0].Issue.ID != t.Issue {
			return fmt.Errorf("change imported issue %d: the change is of another", t.Issue)
		}
	}
	return s.write(ctx, s.durable, fmt.Sprintf("remember issue %d of a tracker", t.Remote), func(ctx context.Context, w *writer) error {
		if c != nil {
			if _, err := applyBoard(ctx, w, *c); err != nil {
				return err
			}
		}
		_, err := w.exec(ctx, `INSERT INTO tracker_issues (tracker, remote, hash, judged, revision, bare, posted) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (tracker, remote) DO UPDATE SET hash = excluded.hash, judged = excluded.judged, revision = excluded.revision, bare = excluded.bare, posted = excluded.posted`,
			t.Tracker, t.Remote, t.Hash, t.Judged, t.Revision, t.SeenBare, t.Posted)
		return err
	})
}

// TrackerMark is how far a tracker was read.
func (s *Store) TrackerMark(ctx context.Context, tracker string) (m work.TrackerMark, err error) {
	var since int64
	err = s.readers.QueryRowContext(ctx, `SELECT etag, since FROM trackers WHERE tracker = ?`, tracker).Scan(&m.ETag, &since)
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	if since != 0 {
		m.Since = fromNano(since)
	}
	return m, s.explain("read tracker", err)
}

// SetTrackerMark remembers how far a tracker was read.
func (s *Store) SetTrackerMark(ctx context.Context, tracker string, m work.TrackerMark) error {
	return s.write(ctx, s.durable, "remember how far a tracker was read", func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, `INSERT INTO trackers (tracker, etag, since) VALUES (?, ?, ?)
			ON CONFLICT (tracker) DO UPDATE SET etag = excluded.etag, since = excluded.since`, tracker, m.ETag, nanoOrZero(m.Since))
		return err
	})
}

// NewHook remembers a webhook by the words that know it again; false when any of
// them came before. Nothing more is remembered then, so that a webhook which is
// sent again and again fills nothing.
func (s *Store) NewHook(ctx context.Context, tracker string, known []string) (fresh bool, err error) {
	came, err := s.hookCame(ctx, tracker, known)
	if err != nil || came {
		return false, err
	}
	err = s.write(ctx, s.durable, "remember a webhook", func(ctx context.Context, w *writer) error {
		now := s.now().UnixNano()
		if _, err := w.exec(ctx, `DELETE FROM tracker_hooks WHERE at < ?`, now-hookMemory.Nanoseconds()); err != nil {
			return err
		}
		fresh = true
		for _, word := range known {
			n, err := w.exec(ctx, `INSERT INTO tracker_hooks (tracker, delivery, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, tracker, word, now)
			if err != nil {
				return err
			}
			fresh = fresh && n == 1
		}
		return nil
	})
	return fresh && err == nil, err
}

// hookCame says whether one of the words is remembered. It only reads: who sends
// the same again costs no write.
func (s *Store) hookCame(ctx context.Context, tracker string, known []string) (came bool, err error) {
	since := s.now().Add(-hookMemory).UnixNano()
	for _, word := range known {
		err := s.readers.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM tracker_hooks WHERE tracker = ? AND delivery = ? AND at >= ?)`, tracker, word, since).Scan(&came)
		if err != nil || came {
			return came, s.explain("look for a webhook", err)
		}
	}
	return false, nil
}
