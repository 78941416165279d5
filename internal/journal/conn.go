package journal

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"time"

	"modernc.org/sqlite"
)

// Pages of 4 KB in the write-ahead log before a commit also copies them into
// the database, which costs two more fsyncs: at some two pages for an append
// that is one commit in a thousand.
const checkpointPages = 2000

// The pragmas of every connection. recursive_triggers makes INSERT OR REPLACE
// meet the triggers that keep events from being deleted.
func (s *Store) dsn(pragmas ...string) string {
	query := url.Values{"_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", s.busy.Milliseconds()),
		"foreign_keys(1)",
		"recursive_triggers(1)",
		"trusted_schema(0)",
		// On macOS a plain fsync leaves data in the disk's cache; elsewhere
		// these two do nothing.
		"fullfsync(1)",
		"checkpoint_fullfsync(1)",
	}, pragmas...)}
	file := url.URL{Scheme: "file", Path: s.path, RawQuery: query.Encode()}
	return file.String()
}

func (s *Store) dial(limit int, pragmas ...string) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(s.dsn(pragmas...))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(limit)
	db.SetMaxIdleConns(limit)
	return db, nil
}

// writer is one connection that writes, with its prepared statements. It is
// used only inside Store.write, one caller at a time.
type writer struct {
	db       *sql.DB
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
	closing  []Statement // of the transaction that is under way
}

// Statement is SQL of this package, with what its places take.
type Statement struct {
	Query string
	Args  []any
}

func (s *Store) newWriter(ctx context.Context, synchronous string) (*writer, error) {
	db, err := s.dial(1, "synchronous("+synchronous+")", fmt.Sprintf("wal_autocheckpoint(%d)", checkpointPages))
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		db.Close()
		return nil, err
	}
	return &writer{db: db, conn: conn, prepared: map[string]*sql.Stmt{}}, nil
}

func (w *writer) close() error {
	for _, stmt := range w.prepared {
		stmt.Close()
	}
	if w.conn != nil {
		w.conn.Close()
	}
	return w.db.Close()
}

// stmt prepares query once. Queries are constants, so the map stays small.
func (w *writer) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	if stmt, ok := w.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := w.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	w.prepared[query] = stmt
	return stmt, nil
}

// exec runs query and returns the number of rows it changed.
func (w *writer) exec(ctx context.Context, query string, args ...any) (int64, error) {
	stmt, err := w.stmt(ctx, query)
	if err != nil {
		return 0, err
	}
	result, err := stmt.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// last leaves query to the end of the transaction: what else is in it may not read what
// query writes. A server is sent it in one message with the commit.
func (w *writer) last(query string, args ...any) {
	w.closing = append(w.closing, Statement{query, args})
}

// commit ends a transaction of a file.
func (w *writer) commit(ctx context.Context) error {
	for _, s := range append(w.closing, Statement{Query: `COMMIT`}) {
		if _, err := w.exec(ctx, s.Query, s.Args...); err != nil {
			return err
		}
	}
	return nil
}

// row reads one row; sql.ErrNoRows when there is none.
func (w *writer) row(ctx context.Context, query string, args []any, dest ...any) error {
	stmt, err := w.stmt(ctx, query)
	if err != nil {
		return err
	}
	return stmt.QueryRowContext(ctx, args...).Scan(dest...)
}

// write runs do in one transaction that holds SQLite's write lock from its
// beginning. Whatever do returns as an error undoes everything.
//
// ctx is honoured while waiting for the turn and not after: a cancelled write
// must not leave it open whether it happened. From there the busy timeout is
// the limit.
func (s *Store) write(ctx context.Context, w *writer, verb string, do func(context.Context, *writer) error) error {
	return s.writeTo(ctx, w, verb, everything, do)
}

// everything is what a transaction is about that may look at, and change, any
// row; else it is about the rows of one run, by its number, or of one blob.
const everything int64 = 0

// writeTo is write for what is about one run alone. In a file that makes no
// difference; on a server such transactions do not wait for each other.
func (s *Store) writeTo(ctx context.Context, w *writer, verb string, about int64, do func(context.Context, *writer) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", verb, ctx.Err())
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if s.server != nil {
		return s.writeThere(ctx, w, verb, about, do)
	}
	ctx = context.WithoutCancel(ctx)
	if _, err := w.exec(ctx, `BEGIN IMMEDIATE`); err != nil {
		return s.explain(verb, err)
	}
	w.closing = nil
	err := do(ctx, w)
	if err == nil {
		err = w.commit(ctx)
	}
	if err != nil {
		// Some errors make SQLite roll back by itself; then this one has
		// nothing to do and its error says only that.
		_, _ = w.exec(ctx, `ROLLBACK`)
		return s.explain(verb, err)
	}
	return nil
}

// quickly is write without an fsync of its own: the rows survive the death of
// the process, but perhaps not a power cut.
func (s *Store) quickly(ctx context.Context, verb string, about int64, do func(context.Context, *writer) error) error {
	w, err := s.quickWriter(ctx)
	if err != nil {
		return s.explain(verb, err)
	}
	return s.writeTo(ctx, w, verb, about, do)
}

func (s *Store) quickWriter(ctx context.Context) (*writer, error) {
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if s.server != nil {
		// A power cut of the server leaves the processes of other machines alive,
		// of which these rows tell: all of it is durable there.
		return s.durable, nil
	}
	if s.quick == nil {
		w, err := s.newWriter(ctx, "NORMAL")
		if err != nil {
			return nil, err
		}
		s.quick = w
	}
	return s.quick, nil
}

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }
