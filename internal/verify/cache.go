package verify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"forge/internal/filetree"
	"forge/internal/work"
)

const (
	cacheVersion  = 2 // of the form of an entry; part of its key
	keptEntries   = 8
	manifestName  = "manifest.json"
	partialPrefix = ".new-"
	partialAge    = 24 * time.Hour // older ones belong to nobody
)

// cache keeps what setup commands produced, one folder per key below dir: the
// trees and a manifest with a sum and a stamp for each file. An entry comes to
// its name by one rename and its content is checked while it is copied out, so
// that a half or damaged one is a miss. A file whose stamp is what it was is
// what it was; only others are read for their sum.
type cache struct{ dir string }

// Areas of an entry.
const (
	folderArea = "folder"
	homeArea   = "home"
)

// area is a tree that setup fills: the folder itself or the home.
type area struct {
	name, dir string
	before    map[string]bool // paths that setup did not make
}

type manifest struct {
	Version int                        `json:"version"`
	Areas   map[string][]filetree.Node `json:"areas"`
	Stamps  map[string][]stamp         `json:"stamps"` // of each area and then of its nodes, as they stand in the entry
}

// cacheKey is the hash of everything that setup is said to depend on: the
// files that cache_key names, its commands, and what was brought into the
// folder. It is "" when cache_key names nothing: then only running the
// commands can tell.
func cacheKey(dir string, w work.Worktree, brought string) (string, error) {
	if len(w.CacheKey) == 0 {
		return "", nil
	}
	patterns, err := compile("cache_key", w.CacheKey)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	var files []filetree.Node
	for _, p := range patterns {
		found, err := p.match(root)
		if err != nil {
			return "", err
		}
		for _, f := range found {
			all, err := filetree.Nodes(root, f, nil)
			if err != nil {
				return "", err
			}
			files = append(files, all...)
		}
	}
	for i := range files {
		files[i].Time = time.Time{}
		if files[i].Mode.IsRegular() {
			data, err := root.ReadFile(files[i].Path)
			if err != nil {
				return "", err
			}
			sum := sha256.Sum256(data)
			files[i].Sum = hex.EncodeToString(sum[:])
		}
	}
	text, err := json.Marshal(struct {
		Version          int
		System, Brought  string
		Setup, CacheKeys []string
		Files            []filetree.Node
	}{cacheVersion, runtime.GOOS + "/" + runtime.GOARCH, brought, w.Setup, w.CacheKey, files})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// restore copies the entry of key into areas; false when there is none that
// can be used, and then the areas are as before.
func (c *cache) restore(ctx context.Context, key string, areas []area) (bool, error) {
	entry := filepath.Join(c.dir, key)
	m, err := readManifest(entry)
	if err != nil {
		return false, c.drop(entry)
	}
	err = c.unpack(ctx, entry, m, areas)
	switch {
	case err == nil:
		markUsed(entry)
		return true, nil
	case errors.Is(err, filetree.ErrDamaged), errors.Is(err, fs.ErrNotExist):
		return false, c.drop(entry)
	default:
		return false, err
	}
}

func readManifest(entry string) (manifest, error) {
	var m manifest
	data, err := os.ReadFile(filepath.Join(entry, manifestName))
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil || m.Version != cacheVersion {
		return m, fmt.Errorf("%s: %w", manifestName, filetree.ErrDamaged)
	}
	return m, nil
}

// markUsed only orders what prune removes.
func markUsed(entry string) {
	now := time.Now()
	_ = os.Chtimes(entry, now, now)
}

// unpack copies the trees of an entry into areas: all of them or, with an
// error, nothing.
func (c *cache) unpack(ctx context.Context, entry string, m manifest, areas []area) (err error) {
	for _, a := range areas {
		all, ok := m.Areas[a.name]
		if !ok {
			return filetree.ErrDamaged
		}
		to, openErr := filetree.OpenCopier(filepath.Join(entry, a.name), a.dir)
		if openErr != nil {
			return openErr
		}
		defer func() {
			if err != nil {
				if undoErr := to.Undo(); undoErr != nil {
					err = fmt.Errorf("take back %s: %w", a.dir, undoErr)
				}
			}
			_ = to.Close() // its files are closed one by one
		}()
		to.Known = m.untouched(a.name)
		if err = to.Copy(ctx, all); err != nil {
			return err
		}
	}
	return nil
}

// store makes the entry of key from what areas hold beyond their before.
func (c *cache) store(ctx context.Context, key string, areas []area) (err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	partial, err := os.MkdirTemp(c.dir, partialPrefix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, filetree.RemoveAll(partial))
		}
	}()
	m := manifest{Version: cacheVersion, Areas: map[string][]filetree.Node{}, Stamps: map[string][]stamp{}}
	for _, a := range areas {
		to := filepath.Join(partial, a.name)
		if m.Areas[a.name], err = keep(ctx, a, to); err != nil {
			return err
		}
		if m.Stamps[a.name], err = finish(to, m.Areas[a.name]); err != nil {
			return err
		}
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(partial, manifestName), data, 0o600); err != nil {
		return err
	}
	if err := os.Rename(partial, filepath.Join(c.dir, key)); err != nil {
		return err // another process was faster: its entry is as good
	}
	return c.prune()
}

// keep copies what is new in a to dir.
func keep(ctx context.Context, a area, dir string) ([]filetree.Node, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	c, err := filetree.OpenCopier(a.dir, dir)
	if err != nil {
		return nil, err
	}
	c.Plain = true
	all, err := filetree.Nodes(c.From, ".", func(p string) bool { return a.before[p] })
	if err == nil {
		err = c.Copy(ctx, all)
	}
	if all == nil {
		all = []filetree.Node{} // in the manifest: nothing, not forgotten
	}
	return all, errors.Join(err, c.Close())
}

// drop removes an entry that cannot be used, first from its name. One that lies
// below a command of somebody stays.
func (c *cache) drop(entry string) error {
	held, err := os.Open(entry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("drop setup cache entry: %w", err)
	}
	defer filetree.Release(held)
	if syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil
	}
	away, err := os.MkdirTemp(c.dir, partialPrefix)
	if err != nil {
		return fmt.Errorf("drop setup cache entry: %w", err)
	}
	err = os.Rename(entry, filepath.Join(away, "entry"))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // another process dropped it
	}
	return errors.Join(err, filetree.RemoveAll(away))
}

// prune removes all but the entries used last, and what was left half made.
func (c *cache) prune() error {
	all, err := os.ReadDir(c.dir)
	if err != nil {
		return err
	}
	type used struct {
		path string
		at   time.Time
	}
	var entries []used
	for _, e := range all {
		info, err := e.Info()
		if err != nil {
			continue // gone meanwhile
		}
		path := filepath.Join(c.dir, e.Name())
		if !strings.HasPrefix(e.Name(), partialPrefix) {
			entries = append(entries, used{path, info.ModTime()})
		} else if time.Since(info.ModTime()) > partialAge {
			if err := filetree.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	slices.SortFunc(entries, func(a, b used) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.path, b.path)) })
	for _, e := range entries[min(len(entries), keptEntries):] {
		if err := c.drop(e.path); err != nil {
			return err
		}
	}
	return nil
}
