package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// JoinRun is AcquireRun for an owner that is not one process: where the owner of
// that id holds the run, whichever process asks gets the same lease, and a heartbeat
// is noted. An engine that has its appends done by several workers joins before each;
// that no two of them append at once is its matter, and that of the events' sequence.
func (s *Store) JoinRun(ctx context.Context, run string, owner Owner) (*Lease, error) {
	l := &Lease{store: s, run: run}
	held := false
	err := s.write(ctx, s.durable, "join run "+run, func(ctx context.Context, w *writer) error {
		var h holder
		err := w.row(ctx, `SELECT n, epoch, owner, pid, host, boot, started, heartbeat FROM runs WHERE id = ?`, []any{run},
			append([]any{&l.number, &l.epoch}, h.fields()...)...)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return ErrNoRun
		case err != nil:
			return err
		case owner.ID == "":
			return fmt.Errorf("join run %s: its owner is empty", run)
		}
		if held = h.id.Valid && h.id.String == owner.ID; !held {
			return nil
		}
		_, err = w.exec(ctx, `UPDATE runs SET heartbeat = ? WHERE n = ? AND epoch = ?`, s.now().UnixNano(), l.number, l.epoch)
		return err
	})
	if err != nil {
		return nil, err
	}
	if held {
		return l, nil
	}
	return s.AcquireRun(ctx, run, owner)
}

// KeepJoined notes a heartbeat of an owner that holds a run; it is false where the
// owner does not, and then nothing is changed. An engine whose appends are far apart
// calls it every HeartbeatEvery, whichever of its processes is at work.
func (s *Store) KeepJoined(ctx context.Context, run string, owner Owner) (kept bool, err error) {
	err = s.quickly(ctx, "keep run "+run, everything, func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `UPDATE runs SET heartbeat = ? WHERE id = ? AND owner = ?`, s.now().UnixNano(), run, owner.ID)
		kept = n == 1
		return err
	})
	return kept && err == nil, err
}
