package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// Schedules are how the schedules of a project stand, by name.
func (s *Store) Schedules(ctx context.Context, project string) (list []work.ScheduleRow, err error) {
	err = s.each(ctx, `SELECT s.name, s.due, s.issue, s.paused, s.note FROM schedules s JOIN projects p ON p.n = s.project WHERE p.id = ? ORDER BY s.name`,
		[]any{project}, func(rows *sql.Rows) error {
			row, due := work.ScheduleRow{Project: project}, int64(0)
			if err := rows.Scan(&row.Name, &due, &row.Issue, &row.Paused, &row.Note); err != nil {
				return err
			}
			if due != 0 {
				row.Due = fromNano(due)
			}
			list = append(list, row)
			return nil
		})
	return list, s.explain("read schedules", err)
}

// KeepSchedule notes what was decided about a schedule, with the issue that it puts
// on the board, or none, in one durable transaction: work.ErrStale when somebody
// decided since it stood at was, and then nothing is written. A pause is not
// changed by it.
func (s *Store) KeepSchedule(ctx context.Context, row work.ScheduleRow, was time.Time, c *work.BoardChange) (issue work.Issue, err error) {
	if row.Project == "" || row.Name == "" {
		return issue, errors.New("note a schedule: it has no name")
	}
	if c != nil {
		if err := CheckBoardChange(*c); err != nil {
			return issue, fmt.Errorf("schedule %s: %w", row.Name, err)
		}
		if c.Project != row.Project || len(c.Issues) != 1 || c.Issues[0].Issue.ID != 0 {
			return issue, fmt.Errorf("schedule %s: it is not one new issue", row.Name)
		}
	}
	err = s.write(ctx, s.durable, "note schedule "+row.Name, func(ctx context.Context, w *writer) error {
		if c != nil {
			stored, err := applyBoard(ctx, w, *c)
			if err != nil {
				return err
			}
			issue = stored[0]
			row.Issue = issue.ID
		}
		n, err := w.exec(ctx, `INSERT INTO schedules (project, name, due, issue, paused, note) SELECT n, ?2, ?3, ?4, 0, ?5 FROM projects WHERE id = ?1
			ON CONFLICT (project, name) DO UPDATE SET due = excluded.due, issue = excluded.issue, note = excluded.note WHERE schedules.due = ?6`,
			row.Project, row.Name, nanoOrZero(row.Due), row.Issue, row.Note, nanoOrZero(was))
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: schedule %s was decided on", work.ErrStale, row.Name)
		}
		return err
	})
	return issue, err
}

// PauseSchedule lets a schedule put nothing on the board, or again.
func (s *Store) PauseSchedule(ctx context.Context, project, name string, paused bool, note string) error {
	return s.write(ctx, s.durable, "pause schedule "+name, func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `UPDATE schedules SET paused = ?3, note = ?4 WHERE name = ?2 AND project = (SELECT n FROM projects WHERE id = ?1)`, project, name, paused, note)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: schedule %s was not seen yet", work.ErrUnknown, name)
		}
		return err
	})
}
