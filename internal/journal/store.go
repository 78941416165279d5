package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const databaseName = "journal.db"

// Store is an open journal. Its methods may be called by many goroutines, and
// many processes may have the same folder open. Close it when done.
type Store struct {
	dir, path string
	now       func() time.Time
	busy      time.Duration
	sync      string
	upcasters Upcasters
	server    Server // nil: the file of path
	clock     atomic.Pointer[reading]
	patience  time.Duration
	longest   atomic.Int64 // that a transaction on the server may take, in nanoseconds

	turn     chan struct{} // held by whoever writes in this process
	encoding []byte        // of the last event, kept for its room
	durable  *writer
	readers  *sql.DB

	lazy    sync.Mutex // guards what only some commands need
	quick   *writer
	watcher *sql.DB
	whole   Watch // of Changed
	heard   *listener
	closed  bool
}

// Option changes how a journal is opened.
type Option func(*Store)

// WithUpcasters lets events of older versions be read.
func WithUpcasters(u Upcasters) Option { return func(s *Store) { s.upcasters = u } }

// WithClock replaces the clock that heartbeats and row times are taken from.
func WithClock(now func() time.Time) Option { return func(s *Store) { s.now = now } }

// WithBusyTimeout sets how long a locked database is waited for (default 5 s)
// before ErrLocked.
func WithBusyTimeout(d time.Duration) Option { return func(s *Store) { s.busy = d } }

// Open opens the journal of the state folder dir, and makes folder and
// journal when there is none. It brings an older database up to date, and
// refuses a newer one (ErrNewer), one that is damaged or not Forge's
// (ErrBroken), locked (ErrLocked) or not writable (ErrReadOnly).
func Open(ctx context.Context, dir string, options ...Option) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	s := &Store{
		dir:  abs,
		path: filepath.Join(abs, databaseName),
		now:  time.Now,
		busy: 5 * time.Second,
		sync: "FULL",
		turn: make(chan struct{}, 1),
	}
	s.whole.store = s
	for _, option := range options {
		option(s)
	}
	if err := s.open(ctx); err != nil {
		_ = s.Close() // nothing was written; the first error is the one to tell
		return nil, err
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("open journal: %s: %w (%w); set FORGE_STATE_DIR to a folder that can be written", s.dir, ErrReadOnly, err)
	}
	if err := s.lost(); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	var err error
	if s.durable, err = s.newWriter(ctx, s.sync); err != nil {
		return s.explain("open journal", err)
	}
	// Look before the first change: a newer or foreign database stays as it is.
	version, err := s.version(ctx, s.durable)
	if err != nil {
		return s.explain("open journal", err)
	}
	if err := s.useLog(ctx); err != nil {
		return s.explain("open journal", err)
	}
	if version < len(migrations) {
		if err := s.migrate(ctx); err != nil {
			return err
		}
		// SQLite does not make the new file's name durable.
		if err := syncDir(s.dir); err != nil {
			return fmt.Errorf("open journal: %w", err)
		}
	}
	if s.readers, err = s.dial(4, "query_only(1)"); err != nil {
		return s.explain("open journal", err)
	}
	return s.sweepBlobs()
}

// lost finds a database that is gone or empty although there was one: blobs
// are written only after it. To SQLite it would look like a new one, and every
// run would seem never to have been.
func (s *Store) lost() error {
	blobs, err := os.ReadDir(s.blobDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	log, err := os.Stat(s.path + "-wal")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The database is looked at last: a first Open in another process makes
	// it before the others.
	database, err := os.Stat(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !database.Mode().IsRegular() {
		return &BrokenError{File: s.path, What: "not a file"}
	}
	if (err != nil || database.Size() == 0) && (len(blobs) > 0 || (log != nil && log.Size() > 0)) {
		return &BrokenError{File: s.path, What: "the database is missing or empty, but what belongs to it is there"}
	}
	return nil
}

// useLog switches a new database to write-ahead logging. SQLite does not wait
// for the lock this takes, and of two processes that open a new folder at
// once, one finds it taken.
func (s *Store) useLog(ctx context.Context) error {
	for deadline := time.Now().Add(s.busy); ; {
		var mode string
		err := s.durable.conn.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("%s: the file system does not allow write-ahead logging (mode %q); set FORGE_STATE_DIR to a local folder", s.path, mode)
		}
		var lite *sqlite.Error
		if !errors.As(err, &lite) || lite.Code()&0xff != sqlite3.SQLITE_BUSY || time.Now().After(deadline) {
			return err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// errClosed is what a journal says that is used after Close.
var errClosed = errors.New("journal is closed")

// Close waits for a write under way and gives everything back. What was
// appended is durable before; Close only copies the log into the database, so
// its error loses nothing. A second Close does nothing.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if s.heard != nil {
		s.heard.stop()
	}
	var errs []error
	for _, db := range []*sql.DB{s.watcher, s.readers} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.quick != nil {
		errs = append(errs, s.quick.close())
	}
	if s.durable != nil && s.server != nil {
		errs = append(errs, s.durable.close())
	} else if s.durable != nil {
		// SQLite does this for the last one that closes; here also while
		// another process still looks on.
		_, _ = s.durable.conn.ExecContext(context.Background(), `PRAGMA wal_checkpoint(PASSIVE)`)
		errs = append(errs, s.durable.close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// Changed says whether anything was committed to the journal, by this process
// or another, since the last call; the first call says yes. It costs
// microseconds. A Store has one memory for it, so one goroutine should ask;
// others have a Watch each.
func (s *Store) Changed(ctx context.Context) (bool, error) {
	return s.whole.Changed(ctx)
}

// Watch is one more memory for Changed.
func (s *Store) Watch() *Watch { return &Watch{store: s} }

// Watch remembers which state of a journal its owner has seen. One goroutine at
// a time may use it.
type Watch struct {
	store *Store
	asked bool
	seen  int64 // data_version at the last Changed
}

// Changed is as of Store, by the memory of w.
func (w *Watch) Changed(ctx context.Context) (bool, error) {
	s := w.store
	s.lazy.Lock()
	defer s.lazy.Unlock()
	if s.closed {
		return false, fmt.Errorf("watch journal: %w", errClosed)
	}
	if s.server != nil {
		return w.moved(s.listen()), nil
	}
	if s.watcher == nil {
		// One connection of its own: data_version counts what others did.
		db, err := s.dial(1, "query_only(1)")
		if err != nil {
			return false, s.explain("watch journal", err)
		}
		s.watcher = db
	}
	var version int64
	if err := s.watcher.QueryRowContext(ctx, `PRAGMA data_version`).Scan(&version); err != nil {
		return false, s.explain("watch journal", err)
	}
	return w.moved(version), nil
}

func (w *Watch) moved(version int64) bool {
	changed := !w.asked || version != w.seen
	w.asked, w.seen = true, version
	return changed
}
