package warm

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"forge/internal/filetree"
)

// Prune removes layers that a newer one took the place of, those of toolchains
// that are not used any more, those that nobody used for keep (0 = however
// long), and what was left half made. What is lent stays. dry removes nothing. A
// nil say is fine; it is told of what is, or would be, removed.
func (s *Store) Prune(keep time.Duration, dry bool, say func(dir string)) error {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("prune warm caches: %w", err)
	}
	type layer struct {
		path   string
		number int
		used   time.Time
	}
	newest := map[string]layer{}
	var gone []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		l := layer{path: filepath.Join(s.dir, e.Name()), used: info.ModTime()}
		key, number, ok := parse(e.Name())
		l.number = number
		switch other := newest[key]; {
		case strings.HasPrefix(e.Name(), "."):
			if s.now().Sub(l.used) > partialAge {
				gone = append(gone, l.path)
			}
		case !ok:
		case other.number > number:
			gone = append(gone, l.path)
		default:
			if other.path != "" {
				gone = append(gone, other.path)
			}
			newest[key] = l
		}
	}
	var last []layer
	for _, l := range newest {
		last = append(last, l)
	}
	slices.SortFunc(last, func(a, b layer) int { return cmp.Or(b.used.Compare(a.used), cmp.Compare(a.path, b.path)) })
	for i, l := range last {
		if i >= mostKeys || keep > 0 && s.now().Sub(l.used) > keep {
			gone = append(gone, l.path)
		}
	}
	var errs []error
	for _, path := range gone {
		if say != nil {
			say(path)
		}
		if !dry {
			errs = append(errs, s.drop(path))
		}
	}
	return errors.Join(errs...)
}

// drop removes a layer, or one that is half made, unless somebody has it.
func (s *Store) drop(dir string) error {
	held, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop a warm cache: %w", err)
	}
	defer filetree.Release(held)
	if syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil // lent; the next prune has it
	}
	return s.rename(dir)
}

// rename takes a layer from its name, so that nobody is lent what is removed, and
// removes it.
func (s *Store) rename(dir string) error {
	away, err := os.MkdirTemp(s.dir, partialPrefix)
	if err != nil {
		return fmt.Errorf("drop a warm cache: %w", err)
	}
	err = os.Rename(dir, filepath.Join(away, "layer"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // another process dropped it
	}
	return errors.Join(err, filetree.RemoveAll(away))
}
