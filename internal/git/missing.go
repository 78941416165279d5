package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxMissing is how many missing objects are named.
const maxMissing = 3

// CheckWhole makes sure that the commits are there with everything in them
// that base does not have; base itself is looked up, not walked. Commits that
// are "" do not count. Errors: *StateError that names what is missing.
//
// Forge's repository borrows the user's objects, and there they can be pruned.
// Objects of Forge's own that a power cut left empty are removed first: git
// takes an empty file for the object and would never write it again.
func (s *Store) CheckWhole(ctx context.Context, base string, commits []string) error {
	ids := []string{base}
	for _, id := range commits {
		if id != "" && id != base {
			ids = append(ids, id)
		}
	}
	if err := checkIDs(ids...); err != nil {
		return fmt.Errorf("look for missing objects: %w", err)
	}
	if err := s.removeEmptyObjects(); err != nil {
		return fmt.Errorf("look for missing objects: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"cat-file", "--batch-check"}, stdin: strings.NewReader(strings.Join(ids, "\n") + "\n")})
	if err != nil {
		return fmt.Errorf("look for missing objects: %w", err)
	}
	var gone []string
	for _, line := range splitLines(res.out) {
		if id, ok := strings.CutSuffix(line, " missing"); ok {
			gone = append(gone, "commit "+id)
		}
	}
	if len(gone) > 0 {
		return missingError(gone)
	}
	if len(ids) == 1 {
		return nil
	}
	res, err = s.git(ctx, call{
		args:  []string{"rev-list", "--objects", "--no-object-names", "--missing=print", "--stdin"},
		stdin: strings.NewReader(strings.Join(ids[1:], "\n") + "\n^" + base + "\n"),
	})
	var cmd *CommandError
	if errors.As(err, &cmd) && cmd.Code == 128 { // a commit in between
		return missingError([]string{strings.TrimSpace(cmd.Stderr)})
	}
	if err != nil {
		return fmt.Errorf("look for missing objects: %w", err)
	}
	for _, line := range splitLines(res.out) {
		if id, ok := strings.CutPrefix(line, "?"); ok {
			gone = append(gone, "object "+id)
		}
	}
	if len(gone) > 0 {
		return missingError(gone)
	}
	return nil
}

// removeEmptyObjects removes loose objects without content, which a power cut
// leaves. What git writes at this moment has a name that is no hash until all of
// it is there: that is another process's.
func (s *Store) removeEmptyObjects() error {
	objects := filepath.Join(s.repo, "objects")
	names, err := fs.Glob(os.DirFS(objects), "[0-9a-f][0-9a-f]")
	if err != nil {
		return err
	}
	for _, name := range names {
		folder := filepath.Join(objects, name)
		entries, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue // packed meanwhile: git removes a folder with its last object
		}
		if err != nil {
			return err
		}
		for _, entry := range entries {
			info, err := entry.Info()
			if err != nil || !info.Mode().IsRegular() || info.Size() > 0 || strings.Trim(entry.Name(), "0123456789abcdef") != "" {
				continue
			}
			if err := os.Remove(filepath.Join(folder, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// dropped are those of the commits that are there no more, in words.
func (s *Store) dropped(ctx context.Context, ids ...string) []string {
	var gone []string
	for _, id := range ids {
		if there, err := s.Exists(ctx, id); err == nil && !there {
			gone = append(gone, "commit "+id)
		}
	}
	return gone
}

func missingError(gone []string) error {
	what := strings.Join(gone[:min(len(gone), maxMissing)], ", ")
	if more := len(gone) - maxMissing; more > 0 {
		what += fmt.Sprintf(" and %d more", more)
	}
	return &StateError{"git objects that the run is made of are missing: " + what,
		`they were pruned or lost; bring them back, for example with "git fetch", or begin again with "forge run --new"`}
}
