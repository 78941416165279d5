package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"forge/internal/work"
)

// CheckpointFilter says which checkpoints are meant; empty fields let all
// through.
type CheckpointFilter struct {
	Run    string
	Status work.CheckpointStatus
}

// Checkpoints returns up to limit checkpoints (1 to 1000) in the order of
// their opening, those after the one with the id after ("" = from the first).
// A page costs the same however many there are.
func (s *Store) Checkpoints(ctx context.Context, filter CheckpointFilter, limit int, after string) ([]work.Checkpoint, error) {
	if limit < 1 || limit > 1000 {
		return nil, fmt.Errorf("list checkpoints: limit %d is not in 1 to 1000", limit)
	}
	query, args, err := s.checkpointQuery(ctx, filter, limit, after)
	if err != nil {
		return nil, s.explain("list checkpoints", err)
	}
	found, err := s.readCheckpoints(ctx, query, args...)
	return found, s.explain("list checkpoints", err)
}

func (s *Store) checkpointQuery(ctx context.Context, filter CheckpointFilter, limit int, after string) (string, []any, error) {
	query, args := `SELECT record FROM checkpoints WHERE true`, []any{}
	if filter.Run != "" {
		number, err := s.number(ctx, filter.Run)
		if err != nil {
			return "", nil, err
		}
		query, args = query+` AND run = ?`, append(args, number)
	}
	if filter.Status != "" {
		query, args = query+` AND status = ?`, append(args, string(filter.Status))
	}
	if after != "" {
		var opened int64
		err := s.readers.QueryRowContext(ctx, `SELECT opened FROM checkpoints WHERE id = ?`, after).Scan(&opened)
		if errors.Is(err, sql.ErrNoRows) {
			return "", nil, work.NoCheckpoint("there is no checkpoint %q", after)
		}
		if err != nil {
			return "", nil, err
		}
		query, args = query+` AND (opened, id) > (?, ?)`, append(args, opened, after)
	}
	return query + ` ORDER BY opened, id LIMIT ?`, append(args, limit), nil
}

// Checkpoint returns the checkpoint with that id, or the only one whose id
// begins with it. work.ErrUnknown when there is none or more than one.
func (s *Store) Checkpoint(ctx context.Context, idOrPrefix string) (work.Checkpoint, error) {
	if idOrPrefix == "" {
		return work.Checkpoint{}, work.NoCheckpoint("no checkpoint is named")
	}
	// Every id that begins with it, the shortest (the exact one) first.
	found, err := s.readCheckpoints(ctx, `SELECT record FROM checkpoints WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`,
		idOrPrefix, idOrPrefix+string(utf8.MaxRune))
	switch {
	case err != nil:
		return work.Checkpoint{}, s.explain("find checkpoint", err)
	case len(found) == 0:
		return work.Checkpoint{}, work.NoCheckpoint("there is no checkpoint %q", idOrPrefix)
	case len(found) > 1 && found[0].ID != idOrPrefix:
		return work.Checkpoint{}, work.NoCheckpoint("checkpoint %q may be %s or %s; give more of it", idOrPrefix, found[0].ID, found[1].ID)
	}
	return found[0], nil
}

func (s *Store) readCheckpoints(ctx context.Context, query string, args ...any) ([]work.Checkpoint, error) {
	rows, err := s.readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []work.Checkpoint
	for rows.Next() {
		var record []byte
		if err := rows.Scan(&record); err != nil {
			return nil, err
		}
		c, err := s.decodeCheckpoint(record)
		if err != nil {
			return nil, err
		}
		found = append(found, c)
	}
	return found, rows.Err()
}

func (s *Store) decodeCheckpoint(record []byte) (c work.Checkpoint, err error) {
	if err := json.Unmarshal(record, &c); err != nil {
		return c, &BrokenError{File: s.path, What: "a checkpoint cannot be read", Err: err}
	}
	return c, nil
}

func openCheckpoint(ctx context.Context, w *writer, run int64, c *work.Checkpoint) error {
	record, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("open checkpoint %s: %w", c.ID, err)
	}
	_, err = w.exec(ctx, `INSERT INTO checkpoints (id, run, status, revision, opened, record) VALUES (?, ?, ?, ?, ?, ?)`,
		c.ID, run, string(c.Status), c.Revision, c.OpenedAt.UnixNano(), string(record))
	if err != nil {
		return fmt.Errorf("open checkpoint %s: %w", c.ID, err)
	}
	return nil
}

// Expire closes those of run's checkpoints whose time is over at now and that
// nobody answered, in one durable transaction. It returns the ids of all that
// are closed now, also by an earlier call or by an answer that came too late;
// an id that names no checkpoint of the run is among them, since nobody can
// answer it.
func (s *Store) Expire(ctx context.Context, run string, ids []string, now time.Time) (closed []string, err error) {
	err = s.write(ctx, s.durable, "expire checkpoints of run "+run, func(ctx context.Context, w *writer) error {
		closed = nil
		for _, id := range ids {
			var record []byte
			err := w.row(ctx, `SELECT record FROM checkpoints WHERE id = ? AND run = (SELECT n FROM runs WHERE id = ?)`, []any{id, run}, &record)
			if errors.Is(err, sql.ErrNoRows) {
				closed = append(closed, id)
				continue
			}
			if err != nil {
				return err
			}
			was, err := s.decodeCheckpoint(record)
			if err != nil {
				return err
			}
			if was.Status == work.CheckpointPending && was.ExpiresAt != nil && !now.Before(*was.ExpiresAt) {
				gone := was
				gone.Status = work.CheckpointExpired
				if err := exchange(ctx, w, was, gone); err != nil {
					return err
				}
				was = gone
			}
			if was.Status == work.CheckpointExpired {
				closed = append(closed, id)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return closed, nil
}

// supersede closes a checkpoint that is still pending.
func supersede(ctx context.Context, w *writer, run int64, id string) error {
	var record []byte
	err := w.row(ctx, `SELECT record FROM checkpoints WHERE id = ? AND run = ? AND status = 'pending'`, []any{id, run}, &record)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	var was work.Checkpoint
	if err == nil {
		err = json.Unmarshal(record, &was)
	}
	if err == nil {
		gone := was
		gone.Status = work.CheckpointExpired
		err = exchange(ctx, w, was, gone)
	}
	if err != nil {
		return fmt.Errorf("supersede checkpoint %s: %w", id, err)
	}
	return nil
}
