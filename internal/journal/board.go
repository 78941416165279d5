package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"forge/internal/work"
)

// ErrNoProject says that there is no board of that name.
var ErrNoProject = errors.New("unknown project")

// PutProject makes the board of a project, or notes that its checkout is
// somewhere else now.
func (s *Store) PutProject(ctx context.Context, p work.BoardProject) error {
	if p.ID == "" || !storable(p.Created) {
		return errors.New("put project: its id is empty or the time is not set")
	}
	return s.write(ctx, s.durable, "put project "+p.ID, func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, `INSERT INTO projects (id, root, created) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET root = excluded.root`,
			p.ID, p.Root, p.Created.UnixNano())
		return err
	})
}

// Projects are all projects with a board, the oldest first.
func (s *Store) Projects(ctx context.Context) ([]work.BoardProject, error) {
	var list []work.BoardProject
	err := s.each(ctx, `SELECT id, root, created FROM projects ORDER BY n`, nil, func(rows *sql.Rows) error {
		var p work.BoardProject
		var created int64
		if err := rows.Scan(&p.ID, &p.Root, &created); err != nil {
			return err
		}
		p.Created = fromNano(created)
		list = append(list, p)
		return nil
	})
	return list, s.explain("list projects", err)
}

// ChangeBoard makes a change true, with its lines of history, in one durable
// transaction, and returns its issues as they are stored now: new ones with
// their numbers, all with their versions.
//
//	ErrNoProject     there is no such board
//	work.ErrNoIssue  an issue, or one that it needs, is not there
//	work.ErrStale    an issue, a place in a column or the needs are no longer as
//	                 they were when the change was decided; look and decide again
func (s *Store) ChangeBoard(ctx context.Context, c work.BoardChange) ([]work.Issue, error) {
	if err := CheckBoardChange(c); err != nil {
		return nil, fmt.Errorf("change board: %w", err)
	}
	var stored []work.Issue
	err := s.write(ctx, s.durable, "change board", func(ctx context.Context, w *writer) (err error) {
		stored, err = applyBoard(ctx, w, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return stored, nil
}

// applyBoard makes a checked change true, inside a transaction.
func applyBoard(ctx context.Context, w *writer, c work.BoardChange) ([]work.Issue, error) {
	stored := make([]work.Issue, len(c.Issues))
	t := boardWrite{w: w, project: c.Project}
	if err := t.open(ctx, c.Graph); err != nil {
		return nil, err
	}
	if err := t.rerank(ctx, c.Ranks); err != nil {
		return nil, err
	}
	if c.Board != nil {
		if err := t.note(ctx, 0, *c.Board); err != nil {
			return nil, err
		}
	}
	for i, ic := range c.Issues {
		issue, err := t.put(ctx, ic, c.Graph != nil)
		if err != nil {
			return nil, err
		}
		if err := t.note(ctx, issue.ID, ic.Entry); err != nil {
			return nil, err
		}
		stored[i] = issue
	}
	return stored, nil
}

// CheckBoardChange says what is wrong with a change whatever the board holds.
func CheckBoardChange(c work.BoardChange) error {
	if (len(c.Ranks) > 0) != (c.Board != nil) {
		return errors.New("new rank keys and their line of history go together")
	}
	seen := map[int64]bool{}
	for _, ic := range c.Issues {
		i := ic.Issue
		if problems := i.Check(); len(problems) > 0 {
			return fmt.Errorf("issue %d: %s", i.ID, problems[0])
		}
		switch {
		case i.Project != c.Project:
			return fmt.Errorf("issue %d is of project %q, not of %q", i.ID, i.Project, c.Project)
		case (i.ID == 0) != (i.Version == 0) || i.ID < 0 || i.Version < 0:
			return fmt.Errorf("issue %d has version %d", i.ID, i.Version)
		case i.ID != 0 && seen[i.ID]:
			return fmt.Errorf("issue %d is changed twice", i.ID)
		case i.Rank == "" && i.Version == 0:
			return errors.New("a new issue has no place in its column")
		case i.Rank != "" && (i.Rank <= ic.Low || ic.High != "" && i.Rank >= ic.High):
			return fmt.Errorf("the place %q of issue %d is not between %q and %q", i.Rank, i.ID, ic.Low, ic.High)
		case !storable(i.Created) || !storable(i.Changed) || !storable(ic.Entry.At):
			return fmt.Errorf("issue %d: a time is not set", i.ID)
		case ic.Entry.By == "" || ic.Entry.Action == "":
			return fmt.Errorf("issue %d: its line of history does not say who did what", i.ID)
		case i.Version == 0 && len(i.Needs) > 0 && c.Graph == nil:
			return errors.New("a new issue has needs that were judged on no revision")
		}
		seen[i.ID] = true
	}
	return nil
}

// boardWrite is one change of a project's board, inside its transaction.
type boardWrite struct {
	w       *writer
	project string
	number  int64
}

func (t *boardWrite) open(ctx context.Context, judged *int64) error {
	var graph int64
	err := t.w.row(ctx, `SELECT n, graph FROM projects WHERE id = ?`, []any{t.project}, &t.number, &graph)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w %q", ErrNoProject, t.project)
	}
	if err != nil || judged == nil {
		return err
	}
	if graph != *judged {
		return fmt.Errorf("%w: what issues need of each other", work.ErrStale)
	}
	_, err = t.w.exec(ctx, `UPDATE projects SET graph = graph + 1 WHERE n = ?`, t.number)
	return err
}

// rerank gives new keys in two steps: a new key may be one that another issue
// is still to give up.
func (t *boardWrite) rerank(ctx context.Context, ranks []work.RankChange) error {
	for _, r := range ranks {
		// No key has a point.
		n, err := t.w.exec(ctx, `UPDATE issues SET rank = '.' || ? WHERE project = ? AND id = ? AND rank = ?`, r.To, t.number, r.Issue, r.From)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: the place of issue %d", work.ErrStale, r.Issue)
		}
	}
	for _, r := range ranks {
		if _, err := t.w.exec(ctx, `UPDATE issues SET rank = ? WHERE project = ? AND id = ?`, r.To, t.number, r.Issue); err != nil {
			return err
		}
	}
	return nil
}

// put stores one issue if the stored one, and its place, are what it was made
// from.
func (t *boardWrite) put(ctx context.Context, c work.IssueChange, needs bool) (work.Issue, error) {
	i, was := c.Issue, c.Issue.Version
	if i.ID == 0 {
		if err := t.w.row(ctx, `UPDATE projects SET issues = issues + 1 WHERE n = ? RETURNING issues`, []any{t.number}, &i.ID); err != nil {
			return i, err
		}
	}
	if i.Rank != "" {
		if err := t.free(ctx, i, c.Low, c.High); err != nil {
			return i, err
		}
	}
	i.Version++
	i.Created, i.Changed = i.Created.UTC(), i.Changed.UTC()
	record, err := encodeIssue(i)
	if err != nil {
		return i, err
	}
	query, args := `INSERT INTO issues (version, col, rank, title, record, description, project, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING rank`,
		[]any{i.Version, string(i.Column), i.Rank, i.Title, record, i.Description, t.number, i.ID}
	if was != 0 {
		// Without a rank the column must be the stored one: else the rank is
		// empty, which the table refuses.
		query, args = `UPDATE issues SET version = ?1, col = ?2, rank = CASE WHEN ?3 = '' AND col = ?2 THEN rank ELSE ?3 END, title = ?4, record = ?5, description = ?6
			WHERE project = ?7 AND id = ?8 AND version = ?9 RETURNING rank`, append(args, was)
	}
	err = t.w.row(ctx, query, args, &i.Rank)
	if errors.Is(err, sql.ErrNoRows) {
		return i, t.stale(ctx, i.ID, was)
	}
	if err != nil {
		return i, err
	}
	return i, t.link(ctx, i, was == 0, needs)
}

// free finds out whether the place of an issue lies between the keys that it
// was chosen between. An issue that nobody put there may be next to it by now,
// or have the very key, and a column may have got new keys altogether.
func (t *boardWrite) free(ctx context.Context, i work.Issue, low, high string) error {
	var prev, next string
	var taken bool
	err := t.w.row(ctx, `SELECT
		coalesce((SELECT max(rank) FROM issues WHERE project = ?1 AND col = ?2 AND rank < ?3 AND id <> ?4), ''),
		coalesce((SELECT min(rank) FROM issues WHERE project = ?1 AND col = ?2 AND rank > ?3 AND id <> ?4), ''),
		EXISTS (SELECT 1 FROM issues WHERE project = ?1 AND col = ?2 AND rank = ?3 AND id <> ?4)`,
		[]any{t.number, string(i.Column), i.Rank, i.ID}, &prev, &next, &taken)
	if err == nil && (taken || prev != low || next != high) {
		err = fmt.Errorf("%w: the place of issue %d in %s", work.ErrStale, i.ID, i.Column)
	}
	return err
}

// link keeps the tables that issues are found by.
func (t *boardWrite) link(ctx context.Context, i work.Issue, fresh, needs bool) error {
	if !fresh {
		if _, err := t.w.exec(ctx, `DELETE FROM issue_labels WHERE project = ? AND issue = ?`, t.number, i.ID); err != nil {
			return err
		}
	}
	for _, label := range i.Labels {
		if _, err := t.w.exec(ctx, `INSERT INTO issue_labels (project, label, issue) VALUES (?, ?, ?)`, t.number, label, i.ID); err != nil {
			return err
		}
	}
	if !needs {
		return t.sameNeeds(ctx, i)
	}
	if _, err := t.w.exec(ctx, `DELETE FROM issue_needs WHERE project = ? AND issue = ?`, t.number, i.ID); err != nil {
		return err
	}
	for _, need := range i.Needs {
		n, err := t.w.exec(ctx, `INSERT INTO issue_needs (project, issue, need) SELECT project, ?, id FROM issues WHERE project = ? AND id = ?`, i.ID, t.number, need)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w %d, which issue %d needs", work.ErrNoIssue, need, i.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameNeeds refuses needs that changed without having been judged.
func (t *boardWrite) sameNeeds(ctx context.Context, i work.Issue) error {
	stmt, err := t.w.stmt(ctx, `SELECT need FROM issue_needs WHERE project = ? AND issue = ? ORDER BY need`)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryContext(ctx, t.number, i.ID)
	if err != nil {
		return err
	}
	defer rows.Close()
	var stored []int64
	for rows.Next() {
		var need int64
		if err := rows.Scan(&need); err != nil {
			return err
		}
		stored = append(stored, need)
	}
	if err = rows.Err(); err == nil && !slices.Equal(stored, i.Needs) {
		err = fmt.Errorf("the needs of issue %d changed and were judged on no revision", i.ID)
	}
	return err
}

// stale says why no row had the version.
func (t *boardWrite) stale(ctx context.Context, id, version int64) error {
	var now int64
	err := t.w.row(ctx, `SELECT version FROM issues WHERE project = ? AND id = ?`, []any{t.number, id}, &now)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%w %d", work.ErrNoIssue, id)
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("issue %d: %w: version %d was read, version %d is stored", id, work.ErrStale, version, now)
}

func (t *boardWrite) note(ctx context.Context, issue int64, e work.IssueEntry) error {
	e.Issue, e.At = issue, e.At.UTC()
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = t.w.exec(ctx, `INSERT INTO issue_history (project, issue, at, entry) VALUES (?, ?, ?, ?)`, t.number, issue, e.At.UnixNano(), string(text))
	return err
}
