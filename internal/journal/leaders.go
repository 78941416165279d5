package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"forge/internal/work"
)

// Leader is who does what one process of all is to do, as it stands. One that
// nobody ever did has epoch 0.
func (s *Store) Leader(ctx context.Context, name string) (work.Leader, error) {
	l := work.Leader{Name: name}
	now := s.now()
	err := s.each(ctx, `SELECT epoch, owner, pid, host, boot, started, heartbeat FROM leaders WHERE name = ?`, []any{name}, func(rows *sql.Rows) error {
		var h holder
		if err := rows.Scan(append([]any{&l.Epoch}, h.fields()...)...); err != nil {
			return err
		}
		if h.id.Valid {
			l.Owner, l.PID, l.Host, l.Dead = h.id.String, h.owner.PID, h.owner.Host, !s.holds(&h, now)
		}
		l.Heartbeat = s.local(s.beat(&h))
		return nil
	})
	return l, s.explain("read who leads", err)
}

// Lead makes owner the leader, or says that it is one still, if things stand as
// seen says; else it returns work.ErrStale and changes nothing. Whoever takes over
// has a higher epoch than all before. Whether that may be done is the caller's to
// judge.
func (s *Store) Lead(ctx context.Context, owner Owner, seen work.Leader) (work.Leader, error) {
	l := work.Leader{Name: seen.Name, Epoch: seen.Epoch, Owner: owner.ID, PID: owner.PID, Host: owner.Host}
	if owner.ID == "" || seen.Name == "" {
		return l, errors.New("lead: who, or what, is empty")
	}
	if seen.Owner != owner.ID {
		l.Epoch++
	}
	err := s.quickly(ctx, "lead "+seen.Name, everything, func(ctx context.Context, w *writer) error {
		l.Heartbeat = s.now().UTC()
		n, err := w.exec(ctx, `INSERT INTO leaders (name, epoch, owner, pid, host, boot, started, heartbeat) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 WHERE ?9 = 0
			ON CONFLICT (name) DO NOTHING`,
			l.Name, l.Epoch, owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, l.Heartbeat.UnixNano(), seen.Epoch)
		if err == nil && n == 0 {
			n, err = w.exec(ctx, `UPDATE leaders SET epoch = ?1, owner = ?2, pid = ?3, host = ?4, boot = ?5, started = ?6, heartbeat = ?7
				WHERE name = ?8 AND epoch = ?9 AND coalesce(owner, '') = ?10`,
				l.Epoch, owner.ID, owner.PID, owner.Host, owner.Boot, owner.StartTime, l.Heartbeat.UnixNano(), l.Name, seen.Epoch, seen.Owner)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: who leads %s", work.ErrStale, l.Name)
		}
		return err
	})
	l.Heartbeat = s.local(l.Heartbeat)
	return l, err
}

// StopLeading gives back what l leads, so that the next need not wait. Of what
// another one leads by now it changes nothing.
func (s *Store) StopLeading(ctx context.Context, l work.Leader) error {
	return s.quickly(ctx, "stop leading "+l.Name, everything, func(ctx context.Context, w *writer) error {
		_, err := w.exec(ctx, `UPDATE leaders SET owner = NULL WHERE name = ? AND epoch = ? AND owner = ?`, l.Name, l.Epoch, l.Owner)
		return err
	})
}
