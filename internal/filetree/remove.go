package filetree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes dir even where a command took its own rights away, as the
// module caches of some tools do.
func RemoveAll(dir string) error {
	if err := os.RemoveAll(dir); err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			// Errors show when the removal is tried again. WalkDir calls
			// this before it reads the directory.
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return os.RemoveAll(dir)
}
