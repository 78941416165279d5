// Package postgres keeps a journal in a schema of a Postgres database: the SQL
// of internal/journal in Postgres's words, its tables, its locks, and what tells
// other machines of a change.
package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"forge/internal/journal"
	"forge/internal/refusal"
)

// Server is a schema of a database. It is a journal.Server.
type Server struct {
	config   *pgx.ConnConfig
	name     string
	variable string
	tell     func(string)
	patience time.Duration
	schema   string // known after Migrate
	texts    sync.Map
	writer   string // this process's row of writers
	begun    atomic.Int64

	mu    sync.Mutex
	since time.Time // the server is away; zero = it answers
}

// The settings of every connection, unless the URL has them. A client that
// stands still in the middle of a transaction holds a lock that others wait for:
// the server ends it, before the others give up.
func defaults() map[string]string {
	return map[string]string{
		"application_name":                    "forge",
		"lock_timeout":                        "20000",
		"idle_in_transaction_session_timeout": "10000",
	}
}

// New is the server that url leads to; variable is where the url came from, for
// errors. tell is told, in a sentence, that the server is away and that it is
// back; patience is how long it is waited for. Nothing is connected.
func New(variable, url string, patience time.Duration, tell func(string)) (*Server, error) {
	wrong := func(what string, args ...any) error {
		return refusal.New("give it as postgres://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full", "the variable %s "+what, append([]any{variable}, args...)...)
	}
	switch {
	case url == "":
		return nil, wrong("is not set, and [store] url_env names it")
	case !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://"):
		return nil, wrong("does not hold the URL of a Postgres database")
	}
	config, err := pgx.ParseConfig(url)
	if err != nil {
		var parse *pgconn.ParseConfigError
		if errors.As(err, &parse) && parse.Unwrap() != nil {
			err = parse.Unwrap() // without the URL
		}
		return nil, wrong("holds a URL that cannot be used: %v", err)
	}
	for key, value := range defaults() {
		if _, set := config.RuntimeParams[key]; !set {
			config.RuntimeParams[key] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	name := fmt.Sprintf("postgres://%s@%s:%d/%s", config.User, config.Host, config.Port, config.Database)
	if path := config.RuntimeParams["search_path"]; path != "" {
		name += "?search_path=" + path
	}
	if tell == nil {
		tell = func(string) {}
	}
	return &Server{config: config, name: name, variable: variable, tell: tell, patience: patience, writer: rand.Text()}, nil
}

// Name is as of journal.Server.
func (s *Server) Name() string { return s.name }

// Pool is as of journal.Server. Its connections are waited for.
func (s *Server) Pool(limit int, reading bool) *sql.DB {
	config := s.config.Copy()
	if reading {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	db := sql.OpenDB(&connector{server: s, config: config, reading: reading})
	db.SetMaxOpenConns(limit)
	db.SetMaxIdleConns(limit)
	return db
}

// wait calls dial until it works, its error is none that waiting mends, ctx is
// done or patience is at its end.
func (s *Server) wait(ctx context.Context, patience time.Duration, dial func() error) error {
	pause := 50 * time.Millisecond
	for began := time.Now(); ; pause = min(2*pause, 2*time.Second) {
		err := dial()
		if err == nil {
			s.answered()
			return nil
		}
		if !errors.Is(s.Explain(err), journal.ErrServer) {
			return err
		}
		s.lost(err)
		if time.Since(began)+pause > patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lost and answered say once for each outage that it began, and that it ended.
func (s *Server) lost(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = time.Now()
		s.tell(fmt.Sprintf("the journal's server does not answer: %s (%v); agents go on, and what is to be written waits up to %s for it", s.name, err, s.patience))
	}
}

func (s *Server) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.since.IsZero() {
		s.tell(fmt.Sprintf("the journal's server answers again after %s: %s", time.Since(s.since).Round(time.Second), s.name))
		s.since = time.Time{}
	}
}

// dial is one connection beside the pools.
func (s *Server) dial(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	return conn, plain(err)
}

// plainError is an error of pgx, which writes several lines, in one.
type plainError struct{ err error }

func (e *plainError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e *plainError) Unwrap() error { return e.err }

func plain(err error) error {
	if err == nil {
		return nil
	}
	return &plainError{err}
}

// key is a number for the lock of this schema.
func (s *Server) key() int32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte("forge journal " + s.schema))
	return int32(h.Sum32())
}

// channel is where this schema's changes are told.
func (s *Server) channel() string { return fmt.Sprintf("forge_%08x", uint32(s.key())) }

// Begin is as of journal.Server. What is about everything waits for whatever is
// under way, and lets nothing begin; what is about one run, or one blob, waits
// for the same alone. The clock is read after the wait. All of it is one message
// to the server and one back.
func (s *Server) Begin(ctx context.Context, conn *sql.Conn, about int64) (begun journal.Begun, err error) {
	var batch pgx.Batch
	batch.Queue(`BEGIN`)
	if end, set := ctx.Deadline(); set && time.Until(end) > time.Hour {
		// What may take that long may stand still meanwhile.
		batch.Queue(`SET LOCAL idle_in_transaction_session_timeout = 0`)
	}
	key := s.key()
	if about == 0 {
		batch.Queue(`SELECT pg_advisory_xact_lock($1)`, int64(key))
	} else {
		// The lock of two numbers is another than that of one.
		batch.Queue(`SELECT pg_advisory_xact_lock_shared($1), pg_advisory_xact_lock($2, $3)`, int64(key), key, int32(about^about>>32))
	}
	number := s.begun.Add(1)
	var now, up int64
	batch.Queue(`INSERT INTO writers (id, n, at) VALUES ($1, $2, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
		ON CONFLICT (id) DO UPDATE SET n = excluded.n, at = excluded.at
		RETURNING at, (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint, pg_notify($3, '')`, s.writer, number, s.channel()).
		QueryRow(func(row pgx.Row) error { return row.Scan(&now, &up, nil) })
	err = conn.Raw(func(held any) error {
		c := held.(*connection)
		return c.lost(c.Conn.Conn().SendBatch(ctx, &batch).Close())
	})
	return journal.Begun{ID: strconv.FormatInt(number, 10), Now: time.UnixMicro(now).UTC(), Up: time.UnixMicro(up).UTC()}, err
}

// Commit is as of journal.Server. All of it is one message to the server and one back. A
// commit that the server turned into a rollback is an error.
func (s *Server) Commit(ctx context.Context, conn *sql.Conn, last []journal.Statement) error {
	return conn.Raw(func(held any) error {
		c := held.(*connection)
		var batch pgx.Batch
		for _, statement := range last {
			args := slices.Clone(statement.Args)
			for i := range args {
				value := driver.NamedValue{Value: args[i]}
				if err := c.CheckNamedValue(&value); err != nil {
					return err
				}
				args[i] = value.Value
			}
			batch.Queue(s.translated(statement.Query), args...)
		}
		batch.Queue(`COMMIT`).Exec(func(tag pgconn.CommandTag) error {
			if tag.String() != `COMMIT` {
				return fmt.Errorf("the server answered a commit with %s", tag)
			}
			return nil
		})
		return c.lost(c.Conn.Conn().SendBatch(ctx, &batch).Close())
	})
}

// Committed is as of journal.Server: each transaction writes its number into the
// row of its process. (The server's own numbers do not do: one that was not
// committed is given again after a crash.) Whoever asks waits for a transaction
// that still holds the row.
func (s *Server) Committed(ctx context.Context, id string) (bool, error) {
	var last string
	err := s.wait(ctx, s.patience, func() error {
		conn, err := s.dial(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		return conn.QueryRow(ctx, `INSERT INTO writers (id, n, at) VALUES ($1, 0, 0) ON CONFLICT (id) DO UPDATE SET at = writers.at RETURNING n::text`, s.writer).Scan(&last)
	})
	if err != nil {
		return false, fmt.Errorf("ask what became of a transaction: %w", err)
	}
	return last == id, nil
}

// How long a connection that listens may be silent before it is tried.
const listenPing = 30 * time.Second

// Listen is as of journal.Server.
func (s *Server) Listen(ctx context.Context, changed func()) {
	for ctx.Err() == nil {
		// A server that is away is waited for without end: who looks on has
		// nothing else to do.
		_ = s.wait(ctx, 1<<62, func() error { return s.listen(ctx, changed) })
		select {
		case <-time.After(time.Second): // an error that waiting does not mend
		case <-ctx.Done():
		}
	}
}

func (s *Server) listen(ctx context.Context, changed func()) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, `LISTEN `+s.channel()); err != nil {
		return err
	}
	s.answered()
	changed() // whatever came while nobody listened
	for {
		waiting, cancel := context.WithTimeout(ctx, listenPing)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			changed()
		case pgconn.Timeout(err) && !conn.IsClosed():
			if err := conn.Ping(ctx); err != nil {
				return err
			}
		default:
			return &lostError{err}
		}
	}
}

// Last is as of journal.Server.
func (s *Server) Last(ctx context.Context, conn *sql.Conn, table, column string) (last int64, err error) {
	err = conn.QueryRowContext(ctx, `SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence(?, ?)::regclass), 0)`, table, column).Scan(&last)
	return last, err
}

// SetLast is as of journal.Server.
func (s *Server) SetLast(ctx context.Context, conn *sql.Conn, table, column string, last int64) error {
	if last == 0 {
		return nil // the first is 1
	}
	_, err := conn.ExecContext(ctx, `SELECT setval(pg_get_serial_sequence(?, ?), ?)`, table, column, last)
	return err
}
