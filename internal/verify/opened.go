package verify

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"forge/internal/filetree"
	"forge/internal/proof"
)

// mostTraced is up to how many files are traced: noting them must cost nothing
// that one would notice. Data comes first, since it is all that is kept; of the
// rest it is enough to see that a proof opens something at all.
const (
	mostTraced     = 20_000
	mostTracedData = 500_000
)

// trace sees which files of a folder are opened, by their times of access. A
// program can set such a time back, but not the one of the last change of the
// file's record.
type trace struct {
	dir   string
	files map[string]stamp // nil = it is not traced
	read  map[string]bool  // before the proof began
}

// newTrace sets the times of access of the files of dir back.
func newTrace(dir string) (*trace, error) {
	t := &trace{dir: dir}
	if works, err := keepsAccess(dir); err != nil || !works {
		return t, err
	}
	paths, err := traced(dir, mostTraced)
	if err != nil {
		return t, err
	}
	files := map[string]stamp{}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			return t, err
		}
		if err := os.Chtimes(path, longAgo(), info.ModTime()); err != nil {
			return t, err
		}
		if info, err = os.Lstat(path); err != nil {
			return t, err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return t, err
		}
		files[filepath.ToSlash(rel)] = stampOf(info)
	}
	t.files = files
	return t, nil
}

// traced are the files of dir to trace: all data, and others up to most; none
// where nobody could tell in time.
func traced(dir string, most int) ([]string, error) {
	var data, others []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !d.Type().IsRegular():
		case proof.IsData(path):
			data = append(data, path)
		default:
			others = append(others, path)
		}
		return err
	})
	if len(data) > mostTracedData {
		return nil, err
	}
	room := max(most-len(data), 0)
	return append(data, others[:min(room, len(others))]...), err
}

// begin says that what was opened so far, by setup, is not the proof's doing.
func (t *trace) begin() { t.read = t.seen() }

// opened are the files that were opened since begin; false when nobody can
// tell. A proof that opens nothing at all was not seen.
func (t *trace) opened() ([]string, bool) {
	if t.files == nil || t.read == nil {
		return nil, false
	}
	var paths []string
	for path := range t.seen() {
		if !t.read[path] {
			paths = append(paths, path)
		}
	}
	return paths, len(paths) > 0
}

// seen are the files that were opened, or whose records were changed.
func (t *trace) seen() map[string]bool {
	seen := map[string]bool{}
	for path, was := range t.files {
		info, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(path)))
		if err != nil {
			seen[path] = true // it is gone
			continue
		}
		at, ok := accessTime(info)
		if !ok || at.After(longAgo()) || stampOf(info) != was {
			seen[path] = true
		}
	}
	return seen
}

// keepsAccess says whether times of access work where a folder is.
func keepsAccess(dir string) (bool, error) {
	probe := filepath.Join(dir, word())
	if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
		return false, err
	}
	defer func() { _ = filetree.RemoveAll(probe) }() // the folder is removed as a whole
	if err := os.Chtimes(probe, longAgo(), time.Now()); err != nil {
		return false, nil
	}
	info, err := os.Stat(probe)
	if err != nil {
		return false, err
	}
	before, ok := accessTime(info)
	if !ok || before.After(longAgo()) {
		return false, nil
	}
	if _, err := os.ReadFile(probe); err != nil {
		return false, err
	}
	if info, err = os.Stat(probe); err != nil {
		return false, err
	}
	after, _ := accessTime(info)
	return after.After(longAgo()), nil
}

// treeOf names the tree of a commit, "" where the checkout cannot tell.
func (b *Bench) treeOf(ctx context.Context, commit string) string {
	trees, ok := b.checkout.(interface {
		TreeOf(ctx context.Context, commit string) (string, error)
	})
	if !ok {
		return ""
	}
	tree, err := trees.TreeOf(ctx, commit)
	if err != nil {
		return "" // not traced
	}
	return tree
}

// keepOpened notes what a green proof opened. That it cannot be kept costs what
// is known about files of data, no more. Of evidence that could only be read the
// kernel notes no access: it was evidence before, and stays that.
func (b *Bench) keepOpened(ctx context.Context, commit string, t *trace, unseen []string) {
	if paths, ok := t.opened(); ok {
		paths = append(paths, unseen...)
		paths = slices.DeleteFunc(paths, func(p string) bool { return !proof.IsData(p) })
		_ = b.opened.Keep(b.treeOf(ctx, commit), paths)
	}
}
