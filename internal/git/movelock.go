package git

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"forge/internal/atomicfile"
)

// notes is where the notes about moves of this checkout lie: other checkouts may
// share the repository.
func (s *Store) notes(name ...string) string {
	root := sha256.Sum256([]byte(s.root))
	return filepath.Join(append([]string{s.repo, "moves", fmt.Sprintf("%x", root[:8])}, name...)...)
}

// holdMoves makes this process the only one that moves the checkout. The lock
// is the system's and is inherited by every git that works on a move: it is
// free when all of them are dead. Errors: *notMoved.
func (s *Store) holdMoves(ctx context.Context, wait time.Duration) (*os.File, error) {
	path := s.notes("lock")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(wait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if time.Now().After(until) {
			return nil, errors.Join(&notMoved{why: "another Forge, or a git that one began, is at work in the checkout"}, f.Close())
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
}

func (s *Store) writeMove(m *move) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return atomicfile.Write(s.notes("move.json"), data, 0o600)
}

// readMove returns the record of a move that was begun, nil when there is none.
func (s *Store) readMove() (*move, error) {
	data, err := os.ReadFile(s.notes("move.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &move{}
	if err == nil {
		err = json.Unmarshal(data, m)
	}
	if err == nil && (m.Root != s.root || m.GitDir == "" || checkIDs(m.From, m.To) != nil || checkRef(m.Branch) != nil) {
		err = errors.New("it is of another checkout")
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of a move of the checkout, %s: %w", s.notes("move.json"), err)
	}
	return m, nil
}

// forgetMove ends a move: the record goes first, since it speaks of the stage.
func (s *Store) forgetMove(m *move) error {
	if err := os.Remove(s.notes("move.json")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return removeAll(m.stage())
}

func (m *move) indexLock() string { return filepath.Join(m.GitDir, "index.lock") }

// ownsIndex says that the lock of the index is this move's.
func (m *move) ownsIndex() bool {
	data, err := os.ReadFile(m.indexLock())
	return err == nil && string(data) == "forge "+m.ID+"\n"
}

// lockIndex locks the user's index as every git does, by a file that must not
// be there. Its content says whose it is. Errors: *notMoved.
func (m *move) lockIndex(ctx context.Context) error {
	for until := time.Now().Add(lockWait); ; {
		if m.ownsIndex() {
			return nil
		}
		// With its content or not at all; some disks know no second names.
		err := os.Link(m.stage("lock"), m.indexLock())
		if err != nil && !errors.Is(err, fs.ErrExist) {
			err = m.writeLock()
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if time.Now().After(until) {
			return &notMoved{why: "another git holds " + m.indexLock() + " (when none is running, remove that file)"}
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func (m *move) writeLock() error {
	f, err := os.OpenFile(m.indexLock(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("forge " + m.ID + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		err = errors.Join(err, os.Remove(m.indexLock()))
	}
	return err
}

func (m *move) unlockIndex() error {
	if !m.ownsIndex() {
		return nil
	}
	return os.Remove(m.indexLock())
}
