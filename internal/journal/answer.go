package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"forge/internal/work"
)

// InboxRow is an answer that is not yet an event.
type InboxRow struct {
	ID     int64
	Run    string
	Answer work.Answer // Revision is the one that was answered, never 0
}

// Answer answers a checkpoint once, for any process: the checkpoint and the
// inbox row that tells the owner of the run are one durable transaction. Of
// two answers, however close, one wins. It returns the checkpoint as it is
// now, also when the answer was refused:
//
//	work.ErrUnknown          there is no such checkpoint
//	work.ErrAlreadyResolved  it was answered
//	work.ErrExpired          its time is over, at a.At or before; it stays held
//	work.ErrConflict         a.Revision is neither 0 nor what is asked about
//	work.ErrEmptyFeedback    changes are requested, or critical findings accepted,
//	                         without a comment
//	*AwayError               its run is at a remote, and not claimed here
//
// a.Checkpoint is a whole id; a.Status must be approved, changes_requested or
// rejected, and a.Choice, when given, one of the choices with that answer.
func (s *Store) Answer(ctx context.Context, a work.Answer) (work.Checkpoint, error) {
	var current work.Checkpoint
	var refused error
	verb := "answer checkpoint " + a.Checkpoint
	err := s.write(ctx, s.durable, verb, func(ctx context.Context, w *writer) error {
		var record []byte
		var run int64
		err := w.row(ctx, `SELECT run, record FROM checkpoints WHERE id = ?`, []any{a.Checkpoint}, &run, &record)
		if errors.Is(err, sql.ErrNoRows) {
			return work.ErrUnknown
		}
		if err != nil {
			return err
		}
		if current, err = s.decodeCheckpoint(record); err != nil {
			return err
		}
		if err := present(ctx, w, run); err != nil {
			return err
		}
		was := current
		a := current.WithWords(a) // not the caller's: what follows may run twice
		if refused = resolve(&current, a); refused != nil && current.Status == was.Status {
			return nil
		}
		if err := exchange(ctx, w, was, current); err != nil {
			return err
		}
		if refused != nil {
			return nil
		}
		return deliver(ctx, w, run, current, a)
	})
	if err != nil {
		return work.Checkpoint{}, err
	}
	if refused != nil {
		return current, fmt.Errorf("%s: %w", verb, refused)
	}
	return current, nil
}

// JudgeFiles keeps verdicts on single files with a pending checkpoint, for any
// process. It refuses as Checkpoint.JudgeFiles does, and ErrUnknown; the
// checkpoint is returned as it is now.
func (s *Store) JudgeFiles(ctx context.Context, id string, revision int, verdicts []work.FileVerdict, now time.Time) (work.Checkpoint, error) {
	var current work.Checkpoint
	verb := "judge files of checkpoint " + id
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
		if current, err = was.JudgeFiles(revision, verdicts, now); err != nil {
			return err
		}
		return exchange(ctx, w, was, current)
	})
	return current, err
}

// Tell puts an answer without a checkpoint into run's inbox, for any process: a
// change of the run's level, a message to an agent, or a phase that is to be set
// back. ErrNoRun when there is no such run.
func (s *Store) Tell(ctx context.Context, run string, a work.Answer) error {
	verb := "tell run " + run
	switch {
	case a.Checkpoint != "" || !a.Aside():
		return fmt.Errorf("%s: an answer without a checkpoint changes the policy, is a message or sets a phase back, and nothing else is", verb)
	case !storable(a.At):
		return fmt.Errorf("%s: the time of the answer is not set", verb)
	}
	return s.write(ctx, s.durable, verb, func(ctx context.Context, w *writer) error {
		var number int64
		switch err := w.row(ctx, `SELECT n FROM runs WHERE id = ?`, []any{run}, &number); {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNoRun
		case err != nil:
			return err
		}
		if err := present(ctx, w, number); err != nil {
			return err
		}
		return deliver(ctx, w, number, work.Checkpoint{}, a)
	})
}

// resolve turns a pending checkpoint into an answered one, or into an expired
// one, or says why not.
func resolve(c *work.Checkpoint, a work.Answer) error {
	switch a.Status {
	case work.CheckpointApproved, work.CheckpointChangesRequested, work.CheckpointRejected:
	default:
		return fmt.Errorf("%q is not an answer; approved, changes_requested and rejected are", a.Status)
	}
	if !storable(a.At) {
		return errors.New("the time of the answer is not set")
	}
	switch {
	case c.Status == work.CheckpointExpired:
		return work.ErrExpired
	case c.Status != work.CheckpointPending:
		return fmt.Errorf("%w: %s by %s", work.ErrAlreadyResolved, c.Status, c.AnsweredBy)
	case c.ExpiresAt != nil && !a.At.Before(*c.ExpiresAt):
		c.Status = work.CheckpointExpired
		return work.ErrExpired
	case a.Revision != 0 && a.Revision != c.Revision:
		return fmt.Errorf("%w: revision %d was judged, revision %d is asked about", work.ErrConflict, a.Revision, c.Revision)
	case a.Status == work.CheckpointApproved && len(c.SentBack()) > 0:
		return fmt.Errorf("%w: not all of it is approved (%s)", work.ErrConflict, strings.Join(c.SentBack(), ", "))
	case c.Wordless(a.Status, a.Choice, a.Comment):
		return work.ErrEmptyFeedback
	case c.HoldsEdits(a) != nil:
		return c.HoldsEdits(a)
	case a.Choice != "" && !offers(c, a):
		return fmt.Errorf("it offers no choice %q for %s", a.Choice, a.Status)
	}
	at := a.At.UTC()
	c.Status, c.Comment, c.Choice, c.AnsweredBy, c.Door, c.AnsweredAt = a.Status, a.Comment, a.Choice, a.By, a.Door, &at
	return nil
}

func offers(c *work.Checkpoint, a work.Answer) bool {
	for _, choice := range c.Choices {
		if choice.Name == a.Choice && choice.Answer == a.Status {
			return true
		}
	}
	return false
}

// exchange stores now if the stored one is still what was read. The write
// lock alone makes it so; the condition keeps it so whatever changes around.
func exchange(ctx context.Context, w *writer, was, now work.Checkpoint) error {
	record, err := json.Marshal(now)
	if err != nil {
		return err
	}
	n, err := w.exec(ctx, `UPDATE checkpoints SET status = ?, record = ? WHERE id = ? AND status = 'pending' AND revision = ?`,
		string(now.Status), string(record), now.ID, was.Revision)
	if err == nil && n != 1 {
		err = work.ErrAlreadyResolved
	}
	return err
}

func deliver(ctx context.Context, w *writer, run int64, c work.Checkpoint, a work.Answer) error {
	a.Revision = c.Revision
	row, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = w.exec(ctx, `INSERT INTO inbox (run, answer) VALUES (?, ?)`, run, string(row))
	return err
}

// Inbox returns the answers for run that are not yet events, the oldest first.
func (s *Store) Inbox(ctx context.Context, run string) ([]InboxRow, error) {
	rows, err := s.inbox(ctx, run)
	return rows, s.explain("read inbox", err)
}

func (s *Store) inbox(ctx context.Context, run string) ([]InboxRow, error) {
	number, err := s.number(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.QueryContext(ctx, `SELECT id, answer FROM inbox WHERE run = ? ORDER BY id`, number)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var inbox []InboxRow
	for rows.Next() {
		row := InboxRow{Run: run}
		var answer []byte
		if err := rows.Scan(&row.ID, &answer); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(answer, &row.Answer); err != nil {
			return nil, &BrokenError{File: s.path, Run: run, What: fmt.Sprintf("inbox row %d cannot be read", row.ID), Err: err}
		}
		inbox = append(inbox, row)
	}
	return inbox, rows.Err()
}
