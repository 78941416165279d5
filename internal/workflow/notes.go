package workflow

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/symphony"
)

// notesIn are the workspaces below a root that are Forge's.
func notesIn(root string) (all []note, err error) {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), symphony.NoteEnd)
		if !ok {
			continue
		}
		n, bad := readNote(filepath.Join(root, name))
		if bad == nil && symphony.Key(n.Identifier) != name {
			bad = errors.New(e.Name() + " names another workspace")
		}
		if bad != nil {
			err = errors.Join(err, bad)
			continue
		}
		all = append(all, n)
	}
	return all, err
}
