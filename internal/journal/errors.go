package journal

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"forge/internal/shortage"
)

// What callers branch on. Every error also names the file and a way out.
var (
	// ErrNewer: the database was written by a newer Forge. Nothing was changed.
	ErrNewer = errors.New("journal is of a newer version")
	// ErrLocked: another program kept the database locked for longer than
	// Forge waits. Nothing was changed; trying again is safe.
	ErrLocked = errors.New("journal is locked")
	// ErrBroken is what every *BrokenError is.
	ErrBroken = errors.New("journal is broken")
	// ErrFull: the disk has no room. Nothing was changed.
	ErrFull = errors.New("disk is full")
	// ErrReadOnly: the state folder or the database cannot be written.
	ErrReadOnly = errors.New("journal cannot be written")
	// ErrLease is what every *LeaseError is.
	ErrLease = errors.New("run is held by another process")
	// ErrNoRun: there is no run of that name.
	ErrNoRun = errors.New("unknown run")
	// ErrRunExists: there is a run of that name already.
	ErrRunExists = errors.New("run exists already")
	// ErrUnfinished is what every *UnfinishedError is.
	ErrUnfinished = errors.New("another run is unfinished")
	// ErrSequence: events do not follow the stored tail without a gap.
	ErrSequence = errors.New("events out of sequence")
	// ErrServer: the server with the database could not be reached. What was to
	// be written was not, unless the error says that nobody knows.
	ErrServer = errors.New("the journal's server is not within reach")
	// ErrConsumed: an inbox row was turned into an event before.
	ErrConsumed = errors.New("inbox row is gone")
)

// BrokenError says what is wrong with what is stored, and where. Forge never
// repairs or skips it. errors.Is(err, ErrBroken) holds.
type BrokenError struct {
	File string // the database or the blob
	Run  string // "" when the file as a whole is meant
	Seq  int64  // 0 when no single event is meant
	What string // what is wrong, in a few words
	Err  error  // the cause, may be nil
}

func (e *BrokenError) Error() string {
	where := e.File
	if e.Run != "" {
		where += ": run " + e.Run
	}
	if e.Seq != 0 {
		where += fmt.Sprintf(", event %d", e.Seq)
	}
	text := fmt.Sprintf("%s: %v: %s", where, ErrBroken, e.What)
	if e.Err != nil {
		text += fmt.Sprintf(" (%v)", e.Err)
	}
	return text + "; restore the state folder from a backup, or set it aside and start anew"
}

// Is makes every BrokenError an ErrBroken.
func (e *BrokenError) Is(target error) bool { return target == ErrBroken }

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.Err }

// LeaseError says who holds the run instead. errors.Is(err, ErrLease) holds.
type LeaseError struct {
	Run       string
	Owner     string // id of the holder; "" when the lease was released
	PID       int
	Host      string
	Heartbeat time.Time
}

func (e *LeaseError) Error() string {
	if e.Owner == "" {
		return fmt.Sprintf("run %s: its lease was given back; acquire it again", e.Run)
	}
	return fmt.Sprintf("run %s: %v: process %d on %s, last sign of life %s; end it, or wait %s after its last sign of life",
		e.Run, ErrLease, e.PID, e.Host, e.Heartbeat.Format(time.RFC3339), LeaseTimeout)
}

// Is makes every LeaseError an ErrLease.
func (e *LeaseError) Is(target error) bool { return target == ErrLease }

// UnfinishedError names the runs that are in the way of a new one, newest
// first, at least one. errors.Is(err, ErrUnfinished) holds.
type UnfinishedError struct{ Runs []RunRow }

func (e *UnfinishedError) Error() string {
	r := e.Runs[0]
	if r.Alive {
		return fmt.Sprintf("run %s: %v: it is running as process %d on %s", r.ID, ErrUnfinished, r.Owner.PID, r.Owner.Host)
	}
	return fmt.Sprintf("run %s: %v: resume it first", r.ID, ErrUnfinished)
}

// Is makes every UnfinishedError an ErrUnfinished.
func (e *UnfinishedError) Is(target error) bool { return target == ErrUnfinished }

// explain turns an error of SQLite into one that callers can branch on and a
// person can act on; other errors only get the verb.
func (s *Store) explain(verb string, err error) error {
	if err == nil {
		return nil
	}
	if s.server != nil {
		return s.explainThere(verb, err)
	}
	var lite *sqlite.Error
	if !errors.As(err, &lite) {
		return fmt.Errorf("%s: %w", verb, err)
	}
	// The extended code carries the primary one in its low byte.
	switch lite.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%s: %s: %w by another program (%w); close it and try again", verb, s.path, ErrLocked, err)
	case sqlite3.SQLITE_FULL:
		return fmt.Errorf("%s: %s: %w (%w); make room and try again", verb, s.path, ErrFull, errors.Join(err, s.short(syscall.ENOSPC)))
	case sqlite3.SQLITE_NOMEM:
		return fmt.Errorf("%s: %s: %w (%w)", verb, s.path, err, s.short(syscall.ENOMEM))
	case sqlite3.SQLITE_IOERR:
		return fmt.Errorf("%s: %s: %w (%w)", verb, s.path, err, s.short(s.diskTrouble()))
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		// SQLite does not say that there were no descriptors left.
		if err := openTrouble(s.path); err != nil {
			return fmt.Errorf("%s: %w", verb, err)
		}
		return fmt.Errorf("%s: %s: %w (%w); make %s writable, or set FORGE_STATE_DIR to a folder that is", verb, s.path, ErrReadOnly, err, s.dir)
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s: %w", verb, &BrokenError{File: s.path, What: "not a whole SQLite database", Err: err})
	default:
		return fmt.Errorf("%s: %s: %w", verb, s.path, err)
	}
}

// short is what ran out, where the journal lies.
func (s *Store) short(what syscall.Errno) error { return &shortage.Told{Errno: what, Where: s.path} }

// diskTrouble finds out what is behind an input/output error, of which SQLite
// does not tell.
func (s *Store) diskTrouble() syscall.Errno {
	var limit syscall.Rlimit
	switch {
	case shortage.Lacks(s.path, 64<<10, 1) != nil:
		return syscall.ENOSPC
	case syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) == nil && limit.Cur < 1<<40:
		return syscall.EFBIG
	}
	return syscall.EIO
}

// openTrouble is a shortage that keeps any file from being opened, nil when
// there is none.
func openTrouble(path string) error {
	f, err := os.Open(path)
	if err != nil {
		if shortage.Of(err) != "" {
			return err
		}
		return nil
	}
	_ = f.Close()
	return nil
}
