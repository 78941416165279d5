// Package opened keeps which files of a tree its proof opened. It is filled by
// green proofs and read where changes are held against the evidence: a file of
// data that the tests read by a path which no line spells is found in no other
// way.
package opened

import (
	"cmp"
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
)

// What is kept. A green proof that counts for a run of the commands is not traced
// again: what it opened has to outlive its record, of which internal/proven keeps
// fewer, and none for longer.
const (
	MostAge   = 31 * 24 * time.Hour
	MostFiles = 4000
	MostBytes = 256 << 20
)

// Store is a folder with files for each tree. It may be removed while nothing
// runs: what is not there was not traced.
type Store struct{ dir string }

// New returns the store below dir, which is made when something is kept. A
// store without a folder keeps nothing.
func New(dir string) Store { return Store{dir} }

// Keep notes the files of a tree that its proof opened, by their paths with
// slashes.
func (s Store) Keep(tree string, paths []string) error {
	if s.dir == "" || !named(tree) {
		return nil
	}
	sorted := append([]string{}, paths...)
	slices.Sort(sorted)
	data, err := json.Marshal(slices.Compact(sorted))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := atomicfile.Write(s.file(tree), data, 0o600); err != nil {
		return err
	}
	return s.Prune(time.Now(), false, nil)
}

// Prune removes what was written more than MostAge before now, and the oldest of
// what is beyond MostFiles or MostBytes. dry removes nothing. A nil say is fine;
// it is told of each file.
func (s Store) Prune(now time.Time, dry bool, say func(path string)) error {
	if s.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune what proofs opened: %w", err)
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	var bytes int64
	for i, info := range all {
		bytes += info.Size()
		if i < MostFiles && bytes <= MostBytes && now.Sub(info.ModTime()) <= MostAge {
			continue
		}
		path := filepath.Join(s.dir, info.Name())
		if say != nil {
			say(path)
		}
		if dry {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("prune what proofs opened: %w", err)
		}
	}
	return nil
}

// KeepWrites notes that the proof of a tree writes to the evidence of that tree:
// it is red where it cannot.
func (s Store) KeepWrites(tree string) error {
	if s.dir == "" || !named(tree) {
		return nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	return atomicfile.Write(s.writes(tree), nil, 0o600)
}

// Writes says that the proof of a tree writes to its evidence; false when nobody
// knows.
func (s Store) Writes(tree string) bool {
	if s.dir == "" || !named(tree) {
		return false
	}
	_, err := os.Stat(s.writes(tree))
	return err == nil
}

// Of are the files that the proof of a tree opened; nil when it was not traced.
func (s Store) Of(tree string) []string {
	if s.dir == "" || !named(tree) {
		return nil
	}
	data, err := os.ReadFile(s.file(tree))
	if err != nil {
		return nil
	}
	paths := []string{}
	if json.Unmarshal(data, &paths) != nil {
		return nil
	}
	return paths
}

func (s Store) file(tree string) string { return filepath.Join(s.dir, tree+".json") }

func (s Store) writes(tree string) string { return filepath.Join(s.dir, tree+".writes") }

// named says that a tree's name is one of git's.
func named(tree string) bool {
	return len(tree) >= 40 && !slices.ContainsFunc([]byte(tree), func(c byte) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'f')
	})
}
