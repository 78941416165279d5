package agent

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"forge/internal/work"
)

// modelOf is the model that the request names, "" = the program's own choice.
func modelOf(req work.IterationRequest) string { return cmp.Or(req.Model, req.Agent.Model) }

// folderSlug names a phase folder within a store.
func folderSlug(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return notInSlug().ReplaceAllString(dir, "-")
}

// ownStore makes a folder that keeps what a sandboxed agent remembers of one
// phase folder, and shows it writable. files are shown in it, read-only: path
// within the store → the user's own file, left out when there is none. They
// are linked anew each time, never leaving the store: the agent can write
// here, and what it put in the way must not lead Forge elsewhere.
func ownStore(l *launch, store string, files map[string]string) error {
	if err := os.MkdirAll(store, 0o700); err != nil {
		return fmt.Errorf("make the agent's own folder: %w", err)
	}
	root, err := os.OpenRoot(store)
	if err != nil {
		return fmt.Errorf("open the agent's own folder: %w", err)
	}
	defer root.Close()
	for name, file := range files {
		target, err := filepath.EvalSymlinks(file)
		missing := errors.Is(err, fs.ErrNotExist)
		if err == nil || missing {
			err = relink(root, name, target)
		}
		if err != nil {
			return fmt.Errorf("show %s to the agent: %w", file, err)
		}
		if !missing {
			l.readFiles[target] = target
		}
	}
	l.write = append(l.write, store)
	return nil
}

// relink makes name a symlink to target, or nothing when target is "".
func relink(root *os.Root, name, target string) error {
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	if err := root.RemoveAll(name); err != nil || target == "" {
		return err
	}
	return root.Symlink(target, name)
}
