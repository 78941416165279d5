package git

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"forge/internal/atomicfile"
)

// refLock is a lock that a git of Forge's takes in the user's repository while
// it writes a reference, and the id that it writes into it.
type refLock struct {
	Path string `json:"path"`
	ID   string `json:"id,omitempty"` // "" = the lock stays empty
}

// refChange is what is noted while such a git is at work: it may be killed, and
// its locks would keep the user's own git from working.
type refChange struct {
	Begun time.Time `json:"begun"`
	Locks []refLock `json:"locks"`
}

// locksOf are the locks that a git takes to point ref at id, or to remove it.
func (s *Store) locksOf(ref, id string) []refLock {
	locks := []refLock{{filepath.Join(s.commonDir, filepath.FromSlash(ref)+".lock"), id}}
	if id == "" {
		locks = append(locks, refLock{filepath.Join(s.commonDir, "packed-refs.lock"), ""})
	}
	return locks
}

// setUserRef points ref in the user's repository at id, or removes it when id is
// "". old is as in UpdateRef.
func (s *Store) setUserRef(ctx context.Context, ref, id, old, message string) error {
	held, err := s.holdMoves(ctx, settleWait)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	args := []string{"update-ref", "--no-deref", "-m", message, ref, id}
	if id == "" {
		args = []string{"update-ref", "--no-deref", "-d", ref}
	}
	if old != "" {
		args = append(args, old)
	}
	return s.changeRefs(ctx, s.locksOf(ref, id), call{args: args, held: held})
}

// changeRefs runs a git that takes locks in the user's repository. Whoever calls
// it holds the moves.
func (s *Store) changeRefs(ctx context.Context, locks []refLock, c call) error {
	if err := s.freeRefs(ctx); err != nil {
		return err
	}
	note, err := json.Marshal(refChange{Begun: time.Now(), Locks: locks})
	if err != nil {
		return err
	}
	if err := atomicfile.Write(s.notes("refs.json"), note, 0o600); err != nil {
		return err
	}
	_, err = s.inUser(ctx, c)
	var said *CommandError
	if err != nil && (!errors.As(err, &said) || said.Code < 0) {
		return errors.Join(err, s.freeRefs(context.WithoutCancel(ctx))) // it was killed by itself
	}
	return errors.Join(err, os.Remove(s.notes("refs.json")))
}

// freeRefs removes the locks that the git of a dead Forge left on references.
// That git is known to be dead, since its own lock on the moves is free.
func (s *Store) freeRefs(ctx context.Context) error {
	data, err := os.ReadFile(s.notes("refs.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var note refChange
	if err == nil {
		err = json.Unmarshal(data, &note)
	}
	if err != nil {
		return fmt.Errorf("read which references were being written, %s: %w", s.notes("refs.json"), err)
	}
	for _, lock := range note.Locks {
		if err := removeDead(ctx, lock, note.Begun); err != nil {
			return fmt.Errorf("remove %s, which a dead git left: %w", lock.Path, err)
		}
	}
	return os.Remove(s.notes("refs.json"))
}

// removeDead removes a lock of a dead git. A lock counts as its only when it is
// not older than that git's beginning, holds what that git writes or the
// beginning of it, and has been there for longer than any git takes. Any other
// is left alone.
func removeDead(ctx context.Context, lock refLock, begun time.Time) error {
	for {
		info, err := os.Lstat(lock.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		data, err := os.ReadFile(lock.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		whole := ""
		if lock.ID != "" {
			whole = lock.ID + "\n"
		}
		// File systems round times, by up to two seconds.
		if info.ModTime().Before(begun.Add(-2*time.Second)) || !strings.HasPrefix(whole, string(data)) {
			return nil
		}
		if wait := staleLock - time.Since(info.ModTime()); wait > 0 && wait <= staleLock {
			if err := pause(ctx, min(wait, 100*time.Millisecond)); err != nil {
				return err
			}
			continue
		}
		if err := os.Remove(lock.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}
