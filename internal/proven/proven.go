// Package proven remembers which verifies of a project were green, so that the
// same tree is not proven twice by the same commands on the same machine.
//
// A record is written by Forge alone, in the project's state folder, which no
// agent in a sandbox sees. It carries a sum, and is believed only when the journal
// of its run bears it out, which whoever reads it has to see to. A key that was
// red once is marked, and no record of it counts as long as the mark stands.
package proven

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"forge/internal/atomicfile"
	"forge/internal/work"
)

// Bounds of what is kept for a project.
const (
	// MostRecords is how many files are kept, those written last.
	MostRecords = 1000
	// MostAge is how long they are kept.
	MostAge = 30 * 24 * time.Hour
)

const (
	version   = 1 // of the form of a record
	greenName = ".green"
	redName   = ".red"
)

// Store keeps records in one folder, which must be out of every agent's reach.
// Several processes may use it at once.
type Store struct {
	dir string
	now func() time.Time
}

// New returns the store in dir, which is made when needed. now is the clock.
func New(dir string, now func() time.Time) *Store { return &Store{dir: dir, now: now} }

// file is the form of a record.
type file struct {
	Version int             `json:"version"`
	Sum     string          `json:"sum"` // of Green, as it stands
	Green   json.RawMessage `json:"green"`
}

// Find returns the record of key. One that is missing, damaged, of another
// release or marked as red is none.
func (s *Store) Find(key string) (green work.ProvenBefore, ok bool) {
	path, err := s.path(key)
	if err != nil {
		return green, false
	}
	if _, err := os.Lstat(path + redName); !errors.Is(err, fs.ErrNotExist) {
		return green, false
	}
	data, err := os.ReadFile(path + greenName)
	if err != nil {
		return green, false
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil || f.Version != version || f.Sum != sumOf(key, f.Green) {
		return green, false
	}
	if err := json.Unmarshal(f.Green, &green); err != nil || green.Key != key {
		return work.ProvenBefore{}, false
	}
	return green, true
}

// Keep writes the record of a green verify, and drops what is beyond the bounds.
// Of a key that is marked as red nothing is kept.
func (s *Store) Keep(green work.ProvenBefore) error {
	path, err := s.path(green.Key)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path + redName); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	said, err := json.Marshal(green)
	if err != nil {
		return fmt.Errorf("keep a proof: %w", err)
	}
	data, err := json.Marshal(file{Version: version, Sum: sumOf(green.Key, said), Green: said})
	if err == nil {
		err = s.write(path+greenName, data)
	}
	if err != nil {
		return fmt.Errorf("keep a proof: %w", err)
	}
	return s.Prune(MostAge, false, nil)
}

// Refute marks key as red: whatever was or will be green of it counts for nothing
// as long as the mark is kept.
func (s *Store) Refute(key string) error {
	path, err := s.path(key)
	if err == nil {
		err = s.write(path+redName, nil)
	}
	if err != nil {
		return fmt.Errorf("refute a proof: %w", err)
	}
	return nil
}

// Prune removes what was written before keep ago and what is beyond MostRecords.
// dry removes nothing. A nil say is fine; it is told of each file.
func (s *Store) Prune(keep time.Duration, dry bool, say func(path string)) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune proofs: %w", err)
	}
	type aged struct {
		path string
		at   time.Time
	}
	var all []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, aged{filepath.Join(s.dir, e.Name()), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.path, b.path)) })
	var errs []error
	for i, one := range all {
		if i < MostRecords && s.now().Sub(one.at) <= keep {
			continue
		}
		if say != nil {
			say(one.path)
		}
		if !dry {
			if err := os.Remove(one.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("prune proofs: %w", err))
			}
		}
	}
	return errors.Join(errs...)
}

func (s *Store) write(path string, data []byte) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(path, data, 0o600)
}

// path is where the files of key stand, without their ending.
func (s *Store) path(key string) (string, error) {
	if key == "" || strings.Trim(key, "0123456789abcdef") != "" {
		return "", fmt.Errorf("%q is no key of a proof", key)
	}
	return filepath.Join(s.dir, key), nil
}

func sumOf(key string, data []byte) string {
	sum := sha256.Sum256(append([]byte(key+"\n"), data...))
	return hex.EncodeToString(sum[:])
}
