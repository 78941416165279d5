package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"forge/internal/work"
)

// SharedVersion is which version a shared file has; 0 = there is none.
func (s *Store) SharedVersion(ctx context.Context, name string) (version int64, err error) {
	err = s.each(ctx, `SELECT version FROM shared WHERE name = ?`, []any{name}, func(rows *sql.Rows) error { return rows.Scan(&version) })
	return version, s.explain("look at shared "+name, err)
}

// Shared is a small file that all processes of a factory share; version 0 = there
// is none.
func (s *Store) Shared(ctx context.Context, name string) (data []byte, version int64, err error) {
	err = s.each(ctx, `SELECT data, version FROM shared WHERE name = ?`, []any{name}, func(rows *sql.Rows) error { return rows.Scan(&data, &version) })
	return data, version, s.explain("read shared "+name, err)
}

// PutShared replaces a shared file, durably, if it has the version seen; else it
// returns work.ErrStale and changes nothing.
func (s *Store) PutShared(ctx context.Context, name string, data []byte, seen int64) error {
	if name == "" {
		return errors.New("write a shared file: it has no name")
	}
	return s.write(ctx, s.durable, "write shared "+name, func(ctx context.Context, w *writer) error {
		n, err := w.exec(ctx, `INSERT INTO shared (name, version, at, data) SELECT ?1, 1, ?2, ?3 WHERE ?4 = 0 ON CONFLICT (name) DO NOTHING`,
			name, s.now().UnixNano(), string(data), seen)
		if err == nil && n == 0 {
			n, err = w.exec(ctx, `UPDATE shared SET version = version + 1, at = ?1, data = ?2 WHERE name = ?3 AND version = ?4`, s.now().UnixNano(), string(data), name, seen)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: shared %s", work.ErrStale, name)
		}
		return err
	})
}
