package journal

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Server is a database on a server, which keeps a journal for any number of
// machines in place of the file. Its pools take the SQL of this package as
// SQLite takes it. Its methods may be called by many goroutines.
type Server interface {
	// Name is the database in errors, without a password.
	Name() string
	// Pool is a pool of at most limit connections. One for reading carries a
	// query out again on another connection when the first is lost.
	Pool(limit int, reading bool) *sql.DB
	// Migrate looks at the database and brings it up to date. ErrNewer and
	// ErrBroken as of Open; then nothing was changed.
	Migrate(ctx context.Context) error
	// Begin begins a transaction on a connection, and lets it wait for those that
	// are about the same: a run's number, a blob, or everything. Whoever listens
	// is told when it is committed.
	Begin(ctx context.Context, conn *sql.Conn, about int64) (Begun, error)
	// Commit carries statements out, one after the other, and commits; the first that
	// cannot be is its error, and nothing is committed then.
	Commit(ctx context.Context, conn *sql.Conn, last []Statement) error
	// Committed says what became of a transaction whose connection was lost while
	// it was committed. It waits until the server knows.
	Committed(ctx context.Context, id string) (bool, error)
	// Listen calls changed after everything that anybody committed, until ctx is
	// done; it may call it more often, and does so whenever it may have missed one.
	Listen(ctx context.Context, changed func())
	// Last is the last number that a column of a table gave to a row, within a
	// transaction; SetLast lets it go on after one.
	Last(ctx context.Context, conn *sql.Conn, table, column string) (int64, error)
	SetLast(ctx context.Context, conn *sql.Conn, table, column string, last int64) error
	// Explain is what a driver's error means: ErrServer, ErrLocked, ErrFull,
	// ErrReadOnly, or nil.
	Explain(err error) error
}

// Begun is a transaction that was begun on a server.
type Begun struct {
	ID  string    // by which Committed finds it
	Now time.Time // by the server's clock
	// Up is since when the server is up: until then nobody could say that he lives.
	Up time.Time
}

// How long a transaction on a server may take, and how long a lost server is
// waited for.
const (
	transactionTimeout = time.Minute
	defaultPatience    = 15 * time.Minute
)

// WithPatience sets how long a server that was lost is waited for before
// ErrServer (default 15 minutes). It does not matter for Open, which waits for
// none.
func WithPatience(d time.Duration) Option { return func(s *Store) { s.patience = d } }

// OpenServer opens the journal that a server keeps. A server that does not answer
// is not waited for: ErrServer. The other errors are those of Open.
func OpenServer(ctx context.Context, server Server, options ...Option) (*Store, error) {
	s := &Store{path: server.Name(), server: server, patience: defaultPatience, turn: make(chan struct{}, 1)}
	s.whole.store = s
	s.longest.Store(int64(transactionTimeout))
	for _, option := range options {
		option(s)
	}
	if s.now == nil {
		// Until the first transaction the clock of this machine is as good as any.
		s.clock.Store(&reading{server: time.Now(), here: time.Now()})
		s.now = s.serverNow
	}
	if err := server.Migrate(ctx); err != nil {
		return nil, s.explain("open journal", err)
	}
	s.durable = &writer{db: server.Pool(1, false), prepared: map[string]*sql.Stmt{}}
	s.readers = server.Pool(4, true)
	// A transaction that changes nothing: may this user write, and what time is it?
	if err := s.write(ctx, s.durable, "open journal", func(context.Context, *writer) error { return nil }); err != nil {
		_ = s.Close() // the first error is the one to tell
		return nil, err
	}
	return s, nil
}

// reading is the server's clock as it was read at a moment of this process.
// Time goes on by the monotonic clock, whatever happens to the clock of this
// machine.
type reading struct{ server, here, up time.Time }

func (s *Store) serverNow() time.Time {
	r := s.clock.Load()
	return r.server.Add(time.Since(r.here)).UTC()
}

// beat is the last sign of life of a holder. A server that was away could not
// have heard one: what was there before it came up counts from then.
func (s *Store) beat(h *holder) time.Time {
	at := fromNano(h.heartbeat)
	if r := s.clock.Load(); r != nil && at.Before(r.up) {
		return r.up
	}
	return at
}

// local is a time of the server by this machine's clock, for callers who compare
// it with that.
func (s *Store) local(t time.Time) time.Time {
	if s.clock.Load() == nil {
		return t
	}
	return t.Add(time.Now().UTC().Sub(s.serverNow()))
}

// writeThere is write on a server. A connection that is lost before the commit
// took everything with it: then do runs again, on another one. At the commit the
// server is asked what became of it. So do may run more than once, and must not
// build on what an earlier call left.
func (s *Store) writeThere(ctx context.Context, w *writer, verb string, about int64, do func(context.Context, *writer) error) error {
	began := time.Now()
	for {
		err := s.tryThere(ctx, w, about, do)
		var open *openError
		if err == nil || errors.As(err, &open) || !s.away(err) || time.Since(began) >= s.patience {
			return s.explain(verb, err)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: %w", verb, ctx.Err())
		}
	}
}

// errDropped tells the pool that a connection is not to be used again.
var errDropped = fmt.Errorf("given up: %w", driver.ErrBadConn)

func (s *Store) away(err error) bool { return errors.Is(s.server.Explain(err), ErrServer) }

// openError is a transaction of which nobody knows whether it was committed.
type openError struct{ err error }

func (e *openError) Error() string {
	return fmt.Sprintf("whether it was written is not known (%v)", e.err)
}

func (e *openError) Unwrap() error { return e.err }

func (s *Store) tryThere(waiting context.Context, w *writer, about int64, do func(context.Context, *writer) error) error {
	if w.conn == nil {
		conn, err := w.db.Conn(waiting) // waits for a server that is away
		if err != nil {
			return err
		}
		w.conn = conn
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(waiting), time.Duration(s.longest.Load()))
	defer cancel()
	begun, err := s.server.Begin(ctx, w.conn, about)
	if err != nil {
		w.drop()
		return err
	}
	if s.clock.Load() != nil {
		s.clock.Store(&reading{server: begun.Now, here: time.Now(), up: begun.Up})
	}
	w.closing = nil
	if err = do(ctx, w); err == nil {
		err = s.server.Commit(ctx, w.conn, w.closing)
		if err == nil || !s.away(err) {
			return w.undone(ctx, err)
		}
		w.drop()
		known, cancel := context.WithTimeout(context.WithoutCancel(waiting), s.patience)
		defer cancel()
		committed, lost := s.server.Committed(known, begun.ID)
		switch {
		case lost != nil:
			return &openError{err: lost}
		case committed:
			return nil
		}
		return err
	}
	if s.away(err) {
		w.drop()
		return err
	}
	return w.undone(ctx, err)
}

// undone gives the connection back after a refusal, rolled back; err as it is.
func (w *writer) undone(ctx context.Context, err error) error {
	if err != nil {
		if _, rollback := w.conn.ExecContext(ctx, `ROLLBACK`); rollback != nil {
			w.drop()
		}
	}
	return err
}

// drop closes the connection, with what was prepared on it and whatever
// transaction is open on it.
func (w *writer) drop() {
	for query, stmt := range w.prepared {
		stmt.Close()
		delete(w.prepared, query)
	}
	_ = w.conn.Raw(func(any) error { return errDropped }) // a bad connection does not go back into the pool
	_ = w.conn.Close()
	w.conn = nil
}

// explainThere is explain for a server.
func (s *Store) explainThere(verb string, err error) error {
	kind := s.server.Explain(err)
	switch {
	case kind == nil || errors.Is(err, kind):
		return fmt.Errorf("%s: %w", verb, err)
	case errors.Is(kind, ErrServer):
		return fmt.Errorf("%s: %s: %w (%w); start it, or look at the address in the variable of [store] url_env", verb, s.path, kind, err)
	case errors.Is(kind, ErrLocked):
		return fmt.Errorf("%s: %s: %w by another transaction (%w); try again", verb, s.path, kind, err)
	case errors.Is(kind, ErrFull):
		return fmt.Errorf("%s: %s: %w (%w); make room there and try again", verb, s.path, kind, err)
	case errors.Is(kind, ErrReadOnly):
		return fmt.Errorf("%s: %s: %w (%w); let its user make tables in this schema and write to them", verb, s.path, kind, err)
	}
	return fmt.Errorf("%s: %s: %w (%w)", verb, s.path, kind, err)
}

// listener counts what was committed on a server.
type listener struct {
	count  atomic.Int64
	cancel context.CancelFunc
	over   sync.WaitGroup
}

// listen is a number that is another one after everything that was committed.
// The first call begins to listen; the caller holds lazy.
func (s *Store) listen() int64 {
	if s.heard == nil {
		ctx, cancel := context.WithCancel(context.Background())
		s.heard = &listener{cancel: cancel}
		s.heard.over.Go(func() { s.server.Listen(ctx, func() { s.heard.count.Add(1) }) })
	}
	return s.heard.count.Load()
}

func (l *listener) stop() {
	l.cancel()
	l.over.Wait()
}
