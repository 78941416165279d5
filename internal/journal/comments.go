package journal

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"forge/internal/work"
)

// CommentLine keeps a comment on a line with a pending checkpoint, for any
// process. It refuses as Checkpoint.CommentLine does, and ErrUnknown; the
// checkpoint is returned as it is now.
func (s *Store) CommentLine(ctx context.Context, id string, revision int, l work.LineComment, now time.Time) (work.Checkpoint, error) {
	return s.amend(ctx, "comment on checkpoint "+id, id, func(c work.Checkpoint) (work.Checkpoint, error) {
		return c.CommentLine(revision, l, now)
	})
}

// DropComment takes a comment back, as Checkpoint.DropComment says.
func (s *Store) DropComment(ctx context.Context, id string, revision, comment int, by string, now time.Time) (work.Checkpoint, error) {
	return s.amend(ctx, "take back a comment on checkpoint "+id, id, func(c work.Checkpoint) (work.Checkpoint, error) {
		return c.DropComment(revision, comment, by, now)
	})
}

// amend changes a pending checkpoint without answering it. An answer that is
// given at the same time comes before or after, never between: what was said by
// then is part of it.
func (s *Store) amend(ctx context.Context, verb, id string, change func(work.Checkpoint) (work.Checkpoint, error)) (work.Checkpoint, error) {
	var current work.Checkpoint
	err := s.write(ctx, s.durable, verb, func(ctx context.Context, w *writer) error {
		var record []byte
		var run int64
		switch err := w.row(ctx, `SELECT run, record FROM checkpoints WHERE id = ?`, []any{id}, &run, &record); {
		case errors.Is(err, sql.ErrNoRows):
			return work.ErrUnknown
		case err != nil:
			return err
		}
		if err := present(ctx, w, run); err != nil {
			return err
		}
		was, err := s.decodeCheckpoint(record)
		if err != nil {
			return err
		}
		if current, err = change(was); err != nil {
			current = was
			return err
		}
		return exchange(ctx, w, was, current)
	})
	return current, err
}

// EditFile keeps a file that a person edited with a pending checkpoint, as
// Checkpoint.EditFile says. Of two that have seen the same, one is refused.
func (s *Store) EditFile(ctx context.Context, id string, revision int, seen string, e work.FileEdit, now time.Time) (work.Checkpoint, error) {
	return s.amend(ctx, "edit a file at checkpoint "+id, id, func(c work.Checkpoint) (work.Checkpoint, error) {
		return c.EditFile(revision, seen, e, now)
	})
}

// DropEdit takes an edit back, as Checkpoint.DropEdit says.
func (s *Store) DropEdit(ctx context.Context, id string, revision int, path, seen string, now time.Time) (work.Checkpoint, error) {
	return s.amend(ctx, "take back an edit at checkpoint "+id, id, func(c work.Checkpoint) (work.Checkpoint, error) {
		return c.DropEdit(revision, path, seen, now)
	})
}
