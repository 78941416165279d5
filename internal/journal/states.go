package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// SaveState keeps the folded state of run as of event seq, so that a reader
// need not begin at the first event. It is disposable: not durable, and
// replaced by the next.
func (s *Store) SaveState(ctx context.Context, run string, seq int64, state []byte) error {
	return s.quickly(ctx, "save state", everything, func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `INSERT INTO states (run, seq, hash, state)
			SELECT r.n, ?2, e.hash, ?3 FROM runs r JOIN events e ON e.id = r.n << 32 | ?2 WHERE r.id = ?1
			ON CONFLICT (run) DO UPDATE SET seq = excluded.seq, hash = excluded.hash, state = excluded.state`, run, seq, state)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: run %q has no event %d", ErrNoRun, run, seq)
		}
		return err
	})
}

// LoadState returns the last saved state of run and the event it belongs to.
// A nil state: there is none, or its event is not in the journal any more;
// fold from the beginning.
func (s *Store) LoadState(ctx context.Context, run string) (seq int64, state []byte, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT s.seq, s.state FROM states s JOIN runs r ON r.n = s.run
		JOIN events e ON e.id = r.n << 32 | s.seq AND e.hash = s.hash WHERE r.id = ?`, run).Scan(&seq, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	return seq, state, s.explain("load state", err)
}
