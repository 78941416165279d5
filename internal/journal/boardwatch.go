package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"forge/internal/work"
)

// BoardLines returns up to limit lines (1 to MaxIssuePage) of the history of a
// project's whole board, the oldest first, those after line after.
func (s *Store) BoardLines(ctx context.Context, project string, after int64, limit int) ([]work.IssueEntry, error) {
	if limit < 1 || limit > MaxIssuePage {
		return nil, fmt.Errorf("read the board's history: limit %d is not in 1 to %d", limit, MaxIssuePage)
	}
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("read the board's history", err)
	}
	var list []work.IssueEntry
	// +project: by number of the line, of which there are few new ones, and not
	// by the index of a project's issues.
	err = s.each(ctx, `SELECT seq, entry FROM issue_history WHERE seq > ? AND +project = ? ORDER BY seq LIMIT ?`, []any{after, number, limit},
		func(rows *sql.Rows) error {
			var seq int64
			var text []byte
			if err := rows.Scan(&seq, &text); err != nil {
				return err
			}
			var e work.IssueEntry
			if err := json.Unmarshal(text, &e); err != nil {
				return &BrokenError{File: s.path, What: fmt.Sprintf("line %d of the board's history cannot be read", seq), Err: err}
			}
			e.Seq = seq
			list = append(list, e)
			return nil
		})
	return list, s.explain("read the board's history", err)
}

// BoardEnd is the number of the last line of any board's history, 0 = none.
func (s *Store) BoardEnd(ctx context.Context) (seq int64, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT seq FROM issue_history ORDER BY seq DESC LIMIT 1`).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return seq, s.explain("read the board's history", err)
}

// Dependents are the issues of a project that need an issue, by number.
func (s *Store) Dependents(ctx context.Context, project string, id int64) ([]int64, error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("read needs", err)
	}
	var list []int64
	err = s.each(ctx, `SELECT issue FROM issue_needs WHERE project = ? AND need = ? ORDER BY issue`, []any{number, id}, func(rows *sql.Rows) error {
		var issue int64
		err := rows.Scan(&issue)
		list = append(list, issue)
		return err
	})
	return list, s.explain("read needs", err)
}

// RunsSpent says what runs took so far; one that nothing is known of is not a key.
func (s *Store) RunsSpent(ctx context.Context, runs []string) (map[string]work.RunSpent, error) {
	spent := map[string]work.RunSpent{}
	if len(runs) == 0 {
		return spent, nil
	}
	list, err := json.Marshal(runs)
	if err != nil {
		return nil, fmt.Errorf("read what runs took: %w", err)
	}
	err = s.each(ctx, `SELECT r.id, coalesce(sum(u.usd), 0.0), count(*) FILTER (WHERE u.usd IS NULL),
		coalesce((SELECT time FROM events WHERE id = (SELECT max(id) FROM events WHERE id > r.n << 32 AND id < (r.n + 1) << 32)), r.created) - r.created
		FROM json_each(?) asked CROSS JOIN runs r ON r.id = asked.value CROSS JOIN usage u ON u.run = r.n GROUP BY r.n`, []any{string(list)}, func(rows *sql.Rows) error {
		var run string
		var usd float64
		var unknown int
		var took work.RunSpent
		err := rows.Scan(&run, &usd, &unknown, &took.Lasting)
		if took.USD = &usd; unknown > 0 {
			took.USD = nil
		}
		spent[run] = took
		return err
	})
	return spent, s.explain("read what runs took", err)
}

// Version is another number after everything that anybody committed to the
// journal. It costs microseconds, and any number of goroutines may ask.
func (s *Store) Version(ctx context.Context) (int64, error) {
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if s.closed {
		return 0, fmt.Errorf("read the journal's version: %w", errClosed)
	}
	if s.server != nil {
		return s.listen(), nil
	}
	if s.watcher == nil {
		db, err := s.dial(1, "query_only(1)") // as of Changed
		if err != nil {
			return 0, s.explain("read the journal's version", err)
		}
		s.watcher = db
	}
	var version int64
	err := s.watcher.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version)
	return version, s.explain("read the journal's version", err)
}
