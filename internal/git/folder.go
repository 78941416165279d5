package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// folder is what this process knows about a folder that it checks out into.
// The knowledge is an optimisation: a new process starts without it.
type folder struct {
	mu   sync.Mutex
	dir  string
	at   string   // the commit or tree that the private index holds; "" unknown
	subs []string // paths of submodules in it
}

// index is Forge's private index for the folder. It lies beside the folder,
// where no agent can reach it.
func (f *folder) index() string { return f.dir + ".index" }

// folder returns the folder for dir, locked.
func (s *Store) folder(dir string) (*folder, error) {
	if !filepath.IsAbs(dir) || filepath.Clean(dir) != dir || filepath.Dir(dir) == dir {
		return nil, fmt.Errorf("not a clean absolute path: %q", dir)
	}
	s.mu.Lock()
	f := s.folders[dir]
	if f == nil {
		f = &folder{dir: dir}
		s.folders[dir] = f
	}
	s.mu.Unlock()
	f.mu.Lock()
	return f, nil
}

// ErrFolder says that a phase folder is gone or is not a folder any more.
var ErrFolder = errors.New("the phase folder is gone or was replaced")

// standing checks that dir is a folder itself, not a link to one.
func standing(dir string) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return fmt.Errorf("%s: %w", dir, ErrFolder)
	}
	return err
}

// inFolder runs a command of Forge's own repository with the folder as its
// working tree and the private index.
func (s *Store) inFolder(ctx context.Context, f *folder, c call) (result, error) {
	c.env = append(c.env, "GIT_WORK_TREE="+f.dir, "GIT_INDEX_FILE="+f.index())
	return s.unstuck(ctx, f.dir, func(ctx context.Context) (result, error) { return s.git(ctx, c) })
}

// OpenFolder makes dir a phase folder at commit, from nothing: whatever was
// there is removed. dir is a clean absolute path; its parents are made.
func (s *Store) OpenFolder(ctx context.Context, dir, commit string) error {
	f, err := s.folder(dir)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	defer f.mu.Unlock()
	if err := s.openFolder(ctx, f, commit); err != nil {
		return fmt.Errorf("open folder %s: %w", dir, err)
	}
	return nil
}

func (s *Store) openFolder(ctx context.Context, f *folder, commit string) error {
	f.at = ""
	if err := removeAll(f.dir); err != nil {
		return err
	}
	if err := removeAll(f.index()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(f.dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		return err
	}
	if err := s.checkOut(ctx, f, commit); err != nil {
		return err
	}
	return s.makeAgentRepo(ctx, f, commit)
}

// ResetFolder makes the content of a phase folder that of commit: tracked
// files as there, untracked ones removed, ignored ones left, the throw-away
// repository made anew. A folder that is missing or replaced is opened.
func (s *Store) ResetFolder(ctx context.Context, dir, commit string) error {
	f, err := s.folder(dir)
	if err != nil {
		return fmt.Errorf("reset folder: %w", err)
	}
	defer f.mu.Unlock()
	if standing(dir) != nil {
		err = s.openFolder(ctx, f, commit)
	} else if err = s.layOver(ctx, f, commit); err == nil {
		err = s.makeAgentRepo(ctx, f, commit)
	}
	if err != nil {
		return fmt.Errorf("reset folder %s: %w", dir, err)
	}
	return nil
}

// Overlay is ResetFolder for a folder that no agent works in: ignored files
// stay, and there is no repository in it.
func (s *Store) Overlay(ctx context.Context, dir, commit string) error {
	return s.plainFolder(ctx, dir, commit, s.layOver)
}

// Materialize makes dir hold exactly the files of commit: untracked and
// ignored ones are removed, and there is no repository in it.
func (s *Store) Materialize(ctx context.Context, dir, commit string) error {
	return s.plainFolder(ctx, dir, commit, s.onlyTracked)
}

func (s *Store) plainFolder(ctx context.Context, dir, commit string, fill func(context.Context, *folder, string) error) error {
	f, err := s.folder(dir)
	if err != nil {
		return fmt.Errorf("check out: %w", err)
	}
	defer f.mu.Unlock()
	if standing(dir) != nil {
		if err := errors.Join(removeAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
			return fmt.Errorf("check out into %s: %w", dir, err)
		}
	}
	if err := fill(ctx, f, commit); err != nil {
		return fmt.Errorf("check out into %s: %w", dir, err)
	}
	return nil
}

func (s *Store) layOver(ctx context.Context, f *folder, commit string) error {
	if err := s.checkOut(ctx, f, commit); err != nil {
		return err
	}
	if err := removeAll(filepath.Join(f.dir, ".git")); err != nil {
		return err
	}
	clean := call{args: []string{"clean", "-ffdq"}}
	if _, err := s.inFolder(ctx, f, clean); err != nil {
		// Folders that were made read-only keep git out of them.
		openUp(f.dir)
		if _, err := s.inFolder(ctx, f, clean); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) onlyTracked(ctx context.Context, f *folder, commit string) error {
	if err := s.checkOut(ctx, f, commit); err != nil {
		return err
	}
	entries, err := s.staged(ctx, f, commit)
	if err != nil {
		return err
	}
	return removeOthers(f.dir, slices.Collect(maps.Keys(entries)))
}

// checkOut makes index and tracked files those of commit, or of a tree.
func (s *Store) checkOut(ctx context.Context, f *folder, commit string) error {
	if err := s.removeLock(f); err != nil {
		return err
	}
	if err := os.Chmod(f.dir, 0o755); err != nil {
		return err
	}
	if err := s.load(ctx, f, commit, "-u"); err != nil {
		// As in layOver: an agent's read-only folders must not end a run.
		openUp(f.dir)
		if err := s.load(ctx, f, commit, "-u"); err != nil {
			return err
		}
	}
	return emptySubmodules(f)
}

// load makes the private index that of commit; with -u the files as well.
// What the index knows about unchanged files stays.
func (s *Store) load(ctx context.Context, f *folder, commit string, update ...string) error {
	if err := checkIDs(commit); err != nil {
		return err
	}
	f.at = ""
	if _, err := s.inFolder(ctx, f, call{args: append(append([]string{"read-tree", "--reset"}, update...), commit)}); err != nil {
		// An index that cannot be read is built again.
		if removed := removeAll(f.index()); removed != nil {
			return removed
		}
		if _, again := s.inFolder(ctx, f, call{args: append(append([]string{"read-tree", "--reset"}, update...), commit)}); again != nil {
			return err
		}
	}
	entries, err := s.staged(ctx, f, commit)
	if err != nil {
		return err
	}
	f.subs = nil
	for path, entry := range entries {
		if strings.HasPrefix(entry, submoduleMode+" ") {
			f.subs = append(f.subs, path)
		}
	}
	slices.Sort(f.subs)
	if len(f.subs) > 0 {
		// Git then never looks into these folders: an agent may have made a
		// repository there, with a configuration that starts commands.
		_, err = s.inFolder(ctx, f, call{
			args:  []string{"update-index", "--skip-worktree", "-z", "--stdin"},
			stdin: strings.NewReader(strings.Join(f.subs, "\x00") + "\x00"),
		})
		if err != nil {
			return err
		}
	}
	f.at = commit
	return nil
}

// removeLock removes what a git that was killed left beside the index. Only
// one Forge works in a folder, and it waits for its gits.
func (s *Store) removeLock(f *folder) error { return removeAll(f.index() + ".lock") }

// emptySubmodules makes the folder of each submodule an empty folder.
func emptySubmodules(f *folder) error {
	for _, sub := range f.subs {
		path := filepath.Join(f.dir, filepath.FromSlash(sub))
		if linked(f.dir, sub) {
			continue // something else stands in the way further up
		}
		entries, err := os.ReadDir(path)
		if info, lerr := os.Lstat(path); lerr == nil && info.IsDir() && err == nil && len(entries) == 0 {
			continue
		}
		if err := errors.Join(removeAll(path), os.MkdirAll(path, 0o755)); err != nil {
			return err
		}
	}
	return nil
}
