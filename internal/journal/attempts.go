package journal

import (
	"context"
	"fmt"
	"time"

	"forge/internal/work"
)

// AttemptRow says that an attempt may have processes: those whose environment
// carries Mark. After a crash the next owner ends them before it runs the
// command again.
type AttemptRow struct {
	Run     string
	Command work.CommandID
	Mark    string
	Started time.Time
}

func (r AttemptRow) check(run string) error {
	if r.Run != run || r.Command == "" || r.Mark == "" || !storable(r.Started) {
		return fmt.Errorf("attempt %q of run %q: command, mark or time is missing, or it is not of run %q", r.Command, r.Run, run)
	}
	return nil
}

func (r AttemptRow) put(ctx context.Context, w *writer, run int64) error {
	_, err := w.exec(ctx, `INSERT INTO attempts (run, command, mark, started) VALUES (?, ?, ?, ?)
		ON CONFLICT (run, command) DO UPDATE SET mark = excluded.mark, started = excluded.started`,
		run, string(r.Command), r.Mark, r.Started.UnixNano())
	return err
}

func dropAttempt(ctx context.Context, w *writer, run int64, command work.CommandID) error {
	_, err := w.exec(ctx, `DELETE FROM attempts WHERE run = ? AND command = ?`, run, string(command))
	return err
}

// PutAttempt notes an attempt before its first process starts; a row of the
// same command is replaced. It survives the death of this process, which is
// all it is for: a power cut ends the processes too. Refused with a
// *LeaseError when the lease is lost, so that nobody starts agents in a run
// that another has taken over.
func (s *Store) PutAttempt(ctx context.Context, l *Lease, row AttemptRow) error {
	if err := row.check(l.run); err != nil {
		return fmt.Errorf("note attempt: %w", err)
	}
	return s.quickly(ctx, "note attempt", l.number, func(ctx context.Context, w *writer) error {
		if _, _, err := l.fence(ctx, w); err != nil {
			return err
		}
		return row.put(ctx, w, l.number)
	})
}

// DropAttempt takes the note back when all processes of the attempt are gone.
// One that is not there is no error.
func (s *Store) DropAttempt(ctx context.Context, l *Lease, command work.CommandID) error {
	return s.quickly(ctx, "drop attempt", l.number, func(ctx context.Context, w *writer) error {
		if _, _, err := l.fence(ctx, w); err != nil {
			return err
		}
		return dropAttempt(ctx, w, l.number, command)
	})
}

// Attempts returns the attempts of run that may have processes.
func (s *Store) Attempts(ctx context.Context, run string) ([]AttemptRow, error) {
	found, err := s.attempts(ctx, run)
	return found, s.explain("read attempts", err)
}

func (s *Store) attempts(ctx context.Context, run string) ([]AttemptRow, error) {
	number, err := s.number(ctx, run)
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.QueryContext(ctx, `SELECT command, mark, started FROM attempts WHERE run = ? ORDER BY started, command`, number)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []AttemptRow
	for rows.Next() {
		row := AttemptRow{Run: run}
		var command string
		var started int64
		if err := rows.Scan(&command, &row.Mark, &started); err != nil {
			return nil, err
		}
		row.Command, row.Started = work.CommandID(command), fromNano(started)
		found = append(found, row)
	}
	return found, rows.Err()
}
