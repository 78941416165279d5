package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"forge/internal/work"
)

// MaxIssuePage is the longest page of issues or history.
const MaxIssuePage = 1000

// Issue returns one issue. work.ErrNoIssue when there is none.
func (s *Store) Issue(ctx context.Context, project string, id int64) (work.Issue, error) {
	verb := fmt.Sprintf("read issue %d", id)
	number, err := s.board(ctx, project)
	if err != nil {
		return work.Issue{}, s.explain(verb, err)
	}
	var i work.Issue
	err = s.each(ctx, `SELECT id, rank, record, description FROM issues WHERE project = ? AND id = ?`, []any{number, id}, func(rows *sql.Rows) error {
		i, err = s.scanIssue(rows, project)
		return err
	})
	if err == nil && i.ID == 0 {
		err = fmt.Errorf("%w %d", work.ErrNoIssue, id)
	}
	return i, s.explain(verb, err)
}

// Issues returns up to limit issues (1 to MaxIssuePage) without their
// descriptions: those of one column in its order after the place after, or,
// without a column, those of the project by number, after being a number. ""
// = from the first. A page of an unfiltered column costs the same however many
// issues there are.
func (s *Store) Issues(ctx context.Context, f work.IssueFilter, limit int, after string) ([]work.Issue, error) {
	if limit < 1 || limit > MaxIssuePage {
		return nil, fmt.Errorf("list issues: limit %d is not in 1 to %d", limit, MaxIssuePage)
	}
	query, args := `SELECT id, rank, record, '' FROM issues i WHERE project = (SELECT n FROM projects WHERE id = ?)`, []any{f.Project}
	if f.Label != "" {
		query += ` AND EXISTS (SELECT 1 FROM issue_labels l WHERE l.project = i.project AND l.label = ? AND l.issue = i.id)`
		args = append(args, f.Label)
	}
	if f.Search != "" {
		query += ` AND (title LIKE ? ESCAPE '\' OR description LIKE ? ESCAPE '\')`
		pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(f.Search) + "%"
		args = append(args, pattern, pattern)
	}
	if f.Column != "" {
		query += ` AND col = ? AND rank > ? ORDER BY rank LIMIT ?`
		args = append(args, string(f.Column), after, limit)
	} else {
		number, _ := strconv.ParseInt(after, 10, 64) // what is no number is before the first
		query += ` AND id > ? ORDER BY id LIMIT ?`
		args = append(args, number, limit)
	}
	var list []work.Issue
	err := s.each(ctx, query, args, func(rows *sql.Rows) error {
		i, err := s.scanIssue(rows, f.Project)
		list = append(list, i)
		return err
	})
	if err == nil && len(list) == 0 {
		_, err = s.board(ctx, f.Project)
	}
	return list, s.explain("list issues", err)
}

// IssueCounts says how many issues stand in each column.
func (s *Store) IssueCounts(ctx context.Context, project string) (map[work.Column]int, error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("count issues", err)
	}
	counts := map[work.Column]int{}
	err = s.each(ctx, `SELECT col, count(*) FROM issues WHERE project = ? GROUP BY col`, []any{number}, func(rows *sql.Rows) error {
		var column string
		var n int
		err := rows.Scan(&column, &n)
		counts[work.Column(column)] = n
		return err
	})
	return counts, s.explain("count issues", err)
}

// Blockers says which issues each of ids needs that are not done, smallest
// number first; one that nothing blocks is not a key.
func (s *Store) Blockers(ctx context.Context, project string, ids []int64) (map[int64][]int64, error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("read needs", err)
	}
	blockers := map[int64][]int64{}
	if len(ids) == 0 {
		return blockers, nil
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("read needs: %w", err)
	}
	// CROSS JOIN: in this order, not in the one that SQLite guesses to be better.
	err = s.each(ctx, `SELECT n.issue, n.need FROM json_each(?) asked
		CROSS JOIN issue_needs n ON n.project = ? AND n.issue = CAST(asked.value AS BIGINT)
		CROSS JOIN issues i ON i.project = n.project AND i.id = n.need
		WHERE i.col <> 'done' ORDER BY n.issue, n.need`, []any{string(list), number}, func(rows *sql.Rows) error {
		var issue, need int64
		err := rows.Scan(&issue, &need)
		blockers[issue] = append(blockers[issue], need)
		return err
	})
	return blockers, s.explain("read needs", err)
}

// BoardGraph returns what all issues of a project need of each other.
func (s *Store) BoardGraph(ctx context.Context, project string) (work.BoardGraph, error) {
	// One statement, so that needs and revision are of one moment.
	g := work.BoardGraph{Needs: map[int64][]int64{}}
	known := false
	err := s.each(ctx, `SELECT p.graph, i.id, n.need FROM projects p LEFT JOIN issues i ON i.project = p.n
		LEFT JOIN issue_needs n ON n.project = i.project AND n.issue = i.id WHERE p.id = ? ORDER BY i.id, n.need`, []any{project}, func(rows *sql.Rows) error {
		var id, need sql.NullInt64
		if err := rows.Scan(&g.Revision, &id, &need); err != nil {
			return err
		}
		known = true
		switch {
		case need.Valid:
			g.Needs[id.Int64] = append(g.Needs[id.Int64], need.Int64)
		case id.Valid:
			g.Needs[id.Int64] = nil
		}
		return nil
	})
	if err == nil && !known {
		err = fmt.Errorf("%w %q", ErrNoProject, project)
	}
	return g, s.explain("read needs", err)
}

// RanksAround returns the keys in a column next to rank, on either side; ""
// where the column ends. Around "" are the last key and the first.
func (s *Store) RanksAround(ctx context.Context, project string, column work.Column, rank string) (prev, next string, err error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return "", "", s.explain("read ranks", err)
	}
	err = s.readers.QueryRowContext(ctx, `SELECT
		coalesce((SELECT max(rank) FROM issues WHERE project = ?1 AND col = ?2 AND (?3 = '' OR rank < ?3)), ''),
		coalesce((SELECT min(rank) FROM issues WHERE project = ?1 AND col = ?2 AND rank > ?3), '')`,
		number, string(column), rank).Scan(&prev, &next)
	return prev, next, s.explain("read ranks", err)
}

// ColumnRanks returns every issue of a column with its key as From, in order.
func (s *Store) ColumnRanks(ctx context.Context, project string, column work.Column) ([]work.RankChange, error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("read ranks", err)
	}
	var list []work.RankChange
	err = s.each(ctx, `SELECT id, rank FROM issues WHERE project = ? AND col = ? ORDER BY rank`, []any{number, string(column)}, func(rows *sql.Rows) error {
		var r work.RankChange
		err := rows.Scan(&r.Issue, &r.From)
		list = append(list, r)
		return err
	})
	return list, s.explain("read ranks", err)
}

// IssueHistory returns up to limit lines (1 to MaxIssuePage) of an issue's
// history, the newest first, those before line before (0 = from the newest).
// Issue 0 is the board as a whole.
func (s *Store) IssueHistory(ctx context.Context, project string, id int64, limit int, before int64) ([]work.IssueEntry, error) {
	if limit < 1 || limit > MaxIssuePage {
		return nil, fmt.Errorf("read history: limit %d is not in 1 to %d", limit, MaxIssuePage)
	}
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("read history", err)
	}
	var list []work.IssueEntry
	err = s.each(ctx, `SELECT seq, entry FROM issue_history WHERE project = ?1 AND issue = ?2 AND (?3 = 0 OR seq < ?3) ORDER BY seq DESC LIMIT ?4`,
		[]any{number, id, before, limit}, func(rows *sql.Rows) error {
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
	return list, s.explain("read history", err)
}

// board is the number of a project's row.
func (s *Store) board(ctx context.Context, project string) (n int64, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT n FROM projects WHERE id = ?`, project).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		err = fmt.Errorf("%w %q", ErrNoProject, project)
	}
	return n, err
}

// each runs one query and calls scan for every row.
func (s *Store) each(ctx context.Context, query string, args []any, scan func(*sql.Rows) error) error {
	rows, err := s.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// encodeIssue leaves out what has a column of its own and may be long, or
// change without a version.
func encodeIssue(i work.Issue) (string, error) {
	i.Project, i.Rank, i.Description = "", "", ""
	text, err := json.Marshal(i)
	return string(text), err
}

func (s *Store) scanIssue(rows *sql.Rows, project string) (i work.Issue, err error) {
	var id int64
	var rank, description string
	var record []byte
	if err := rows.Scan(&id, &rank, &record, &description); err != nil {
		return i, err
	}
	if err := json.Unmarshal(record, &i); err != nil || i.ID != id {
		return i, &BrokenError{File: s.path, What: fmt.Sprintf("issue %d cannot be read", id), Err: err}
	}
	i.Project, i.Rank, i.Description = project, rank, description
	return i, nil
}
