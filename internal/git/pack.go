package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// manyLoose is how many objects may lie by themselves in one of the 256 folders
	// of them (about 4,000 in all) before they are packed: each is a file that git
	// opens by itself.
	manyLoose = 16
	// manyPacks is how many packs there may be: git looks into each for what it seeks.
	manyPacks = 30
	// oldPack is how long half a pack may be written on.
	oldPack = 24 * time.Hour
)

// Pack puts what lies by itself in Forge's own repository into packs, and small packs
// together, when there is much of it or always is set. Nothing is dropped, reached or
// not: journals name commits that no reference holds. Whoever reads or writes
// meanwhile is not disturbed. It is false where there was nothing to do, or another
// process does it.
func (s *Store) Pack(ctx context.Context, always bool) (bool, error) {
	if !always && !s.untidy() {
		return false, nil
	}
	lock, err := os.OpenFile(filepath.Join(s.repo, "packing"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, fmt.Errorf("pack: %w", err)
	}
	defer lock.Close()
	// Inherited by git: free when it is dead as well.
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return false, fmt.Errorf("pack: lock: %w", err)
	}
	s.removeHalfPacks()
	for _, c := range []call{
		{args: []string{"pack-refs", "--all"}},
		// One thread: agents work beside it. All that lies here by itself, since git would
		// leave what lies by itself in the user's repository as well.
		{args: []string{"-c", "pack.threads=1", "pack-objects", "-q", "--non-empty", filepath.Join(s.repo, "objects", "pack", "pack")}, stdin: strings.NewReader(s.loose())},
		{args: []string{"prune-packed", "-q"}},
		// What the user's repository has stays there.
		{args: []string{"-c", "pack.threads=1", "repack", "--geometric=2", "-d", "-l", "-q"}},
	} {
		c.held = lock
		if _, err := s.git(ctx, c); err != nil {
			return false, fmt.Errorf("pack: %w", err)
		}
	}
	return true, nil
}

// loose are the names of the objects that lie by themselves, a line each.
func (s *Store) loose() string {
	found, _ := fs.Glob(os.DirFS(filepath.Join(s.repo, "objects")), "[0-9a-f][0-9a-f]/*")
	var b strings.Builder
	for _, path := range found {
		if id := strings.Replace(path, "/", "", 1); checkIDs(id) == nil {
			b.WriteString(id + "\n")
		}
	}
	return b.String()
}

// untidy says that there is enough to pack. Objects are spread evenly by their names,
// so that one folder of them tells of all.
func (s *Store) untidy() bool {
	loose, _ := fs.Glob(os.DirFS(filepath.Join(s.repo, "objects")), "17/*")
	packs, _ := fs.Glob(os.DirFS(filepath.Join(s.repo, "objects")), "pack/*.pack")
	return len(loose) > manyLoose || len(packs) > manyPacks
}

// removeHalfPacks removes what a git that was killed had written of a pack. No other
// packs now, but a git that takes something in may.
func (s *Store) removeHalfPacks() {
	dir := filepath.Join(s.repo, "objects", "pack")
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "tmp_") && !strings.HasPrefix(e.Name(), ".tmp-") {
			continue
		}
		if info, err := e.Info(); err == nil && s.started.Sub(info.ModTime()) > oldPack {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
