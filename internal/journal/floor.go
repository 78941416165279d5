package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"forge/internal/work"
)

// Floor is how the loop of a project is to go on. One that nobody ever changed
// has version 0.
func (s *Store) Floor(ctx context.Context, project string) (work.Floor, error) {
	var f work.Floor
	number, err := s.board(ctx, project)
	if err != nil {
		return f, s.explain("read floor", err)
	}
	err = s.each(ctx, `SELECT version, record FROM floors WHERE project = ?`, []any{number}, func(rows *sql.Rows) error {
		var version int64
		var record []byte
		if err := rows.Scan(&version, &record); err != nil {
			return err
		}
		if err := json.Unmarshal(record, &f); err != nil {
			return &BrokenError{File: s.path, What: "how the loop of " + project + " stands cannot be read", Err: err}
		}
		f.Version = version
		return nil
	})
	return f, s.explain("read floor", err)
}

// SetFloor replaces how the loop is to go on, durably, if f.Version is the
// stored one; else it returns work.ErrStale and changes nothing.
func (s *Store) SetFloor(ctx context.Context, project string, f work.Floor) error {
	was := f.Version
	f.Version++
	record, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("change floor: %w", err)
	}
	return s.write(ctx, s.durable, "change floor", func(ctx context.Context, w *writer) error {
		var number, stored int64
		err := w.row(ctx, `SELECT n, coalesce((SELECT version FROM floors WHERE project = n), 0) FROM projects WHERE id = ?`, []any{project}, &number, &stored)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fmt.Errorf("%w %q", ErrNoProject, project)
		case err != nil:
			return err
		case stored != was:
			return fmt.Errorf("%w: how the loop of %s is to go on", work.ErrStale, project)
		}
		_, err = w.exec(ctx, `INSERT INTO floors (project, version, record) VALUES (?1, ?2, ?3)
			ON CONFLICT (project) DO UPDATE SET version = excluded.version, record = excluded.record`, number, f.Version, string(record))
		return err
	})
}

// Serve says that owner works on a project's board, and why it claims nothing;
// it is repeated as a heartbeat. Servers that are gone are forgotten.
func (s *Store) Serve(ctx context.Context, project string, owner Owner, note string) error {
	return s.quickly(ctx, "serve board", everything, func(ctx context.Context, w *writer) error {
		now := s.now().UnixNano()
		n, err := w.exec(ctx, `INSERT INTO servers (project, owner, pid, host, boot, started, since, heartbeat, note)
			SELECT n, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8 FROM projects WHERE id = ?1
			ON CONFLICT (project, owner) DO UPDATE SET heartbeat = excluded.heartbeat, note = excluded.note`,
			project, owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, now, note)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w %q", ErrNoProject, project)
		}
		if err == nil {
			_, err = w.exec(ctx, `DELETE FROM servers WHERE heartbeat < ?`, now-10*LeaseTimeout.Nanoseconds())
		}
		return err
	})
}

// Leave says that owner works on a project's board no more.
func (s *Store) Leave(ctx context.Context, project string, owner Owner) error {
	return s.quickly(ctx, "leave board", everything, func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, `DELETE FROM servers WHERE project = (SELECT n FROM projects WHERE id = ?) AND owner = ?`, project, owner.ID)
		return err
	})
}

// Servers are the processes that said they work on a project's board and did
// not leave, the oldest first. Those without a heartbeat for LeaseTimeout are
// counted among the dead.
func (s *Store) Servers(ctx context.Context, project string) ([]work.Server, error) {
	number, err := s.board(ctx, project)
	if err != nil {
		return nil, s.explain("list servers", err)
	}
	var list []work.Server
	now := s.now()
	err = s.each(ctx, `SELECT since, note, owner, pid, host, boot, started, heartbeat FROM servers WHERE project = ? ORDER BY since, owner`, []any{number}, func(rows *sql.Rows) error {
		var h holder
		var since int64
		var v work.Server
		if err := rows.Scan(append([]any{&since, &v.Note}, h.fields()...)...); err != nil {
			return err
		}
		v.Owner, v.PID, v.Host, v.Since, v.Heartbeat, v.Dead = h.id.String, h.owner.PID, h.owner.Host, s.local(fromNano(since)), s.local(s.beat(&h)), !s.holds(&h, now)
		list = append(list, v)
		return nil
	})
	return list, s.explain("list servers", err)
}

// Unheard are the answers that no run of a project's issues has heard yet, by
// issue, the oldest first.
func (s *Store) Unheard(ctx context.Context, project string) (map[int64][]work.Answer, error) {
	out := map[int64][]work.Answer{}
	err := s.each(ctx, `SELECT r.issue, i.answer FROM inbox i JOIN runs r ON r.n = i.run WHERE r.project = ? AND r.issue <> 0 ORDER BY i.id`, []any{project}, func(rows *sql.Rows) error {
		var issue int64
		var text []byte
		var a work.Answer
		if err := rows.Scan(&issue, &text); err != nil {
			return err
		}
		if err := json.Unmarshal(text, &a); err != nil {
			return &BrokenError{File: s.path, What: fmt.Sprintf("an answer to a run of issue %d cannot be read", issue), Err: err}
		}
		out[issue] = append(out[issue], a)
		return nil
	})
	return out, s.explain("list answers", err)
}

// From the project's begun issues on, step by step along an index: what waits
// elsewhere in the journal, however much, is not read.
const selectOverdue = `SELECT r.id, c.record ->> 'expires_at' FROM projects p
	CROSS JOIN issues i ON i.project = p.n AND i.col IN ('in_progress', 'in_review')
	CROSS JOIN runs r ON r.id = i.record ->> 'run'
	CROSS JOIN checkpoints c ON c.run = r.n AND c.status = 'pending'
	WHERE p.id = ? AND c.record ->> 'expires_at' IS NOT NULL`

// Overdue are the runs among IssueRuns that ask what nobody answered in time.
func (s *Store) Overdue(ctx context.Context, project string, now time.Time) (map[string]bool, error) {
	out := map[string]bool{}
	err := s.each(ctx, selectOverdue, []any{project}, func(rows *sql.Rows) error {
		var run, text string
		if err := rows.Scan(&run, &text); err != nil {
			return err
		}
		end, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return &BrokenError{File: s.path, What: "until when run " + run + " may be answered cannot be read", Err: err}
		}
		if !now.Before(end) {
			out[run] = true
		}
		return nil
	})
	return out, s.explain("list overdue questions", err)
}
