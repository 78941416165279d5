package proc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sandboxes that cannot move files give the child a folder of its own as HOME, with
// links to what it may see of the real one.

func (v *view) inHome(path string) bool {
	for _, h := range v.homes {
		if inside(filepath.Clean(path), h) {
			return true
		}
	}
	return false
}

// linkHome fills the private home, which stands at another place than the real
// one, with links to what the child may see of that.
func (v *view) linkHome(home string) error {
	link := func(path, target string) error {
		for _, h := range v.homes {
			rel, err := filepath.Rel(h, path)
			if err != nil || rel == "." || rel == ".." || strings.HasPrefix(rel, "../") {
				continue
			}
			at := filepath.Join(home, rel)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				return err
			}
			// Below a folder that is linked already there is nothing to do.
			if err := os.Symlink(target, at); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			return nil
		}
		return nil
	}
	for _, p := range v.paths() {
		if v.at[p].visible() && v.kind(filepath.Dir(p)) == private {
			if err := link(p, p); err != nil {
				return fmt.Errorf("link into the sandbox's home: %w", err)
			}
		}
	}
	for in, out := range v.files {
		if !v.kind(filepath.Dir(filepath.Clean(in))).visible() {
			if err := link(filepath.Clean(in), out); err != nil {
				return fmt.Errorf("link into the sandbox's home: %w", err)
			}
		}
	}
	return nil
}

// scratchName begins the names of the folders that children of the mark use as
// HOME and TMPDIR, and of those in which a container meets Forge.
func scratchName(mark string) string {
	sum := sha256.Sum256([]byte(mark))
	return "forge-" + hex.EncodeToString(sum[:8]) + "-"
}

// removeAll removes a folder also where the child has left folders in it that
// it had made read-only, as the Go module cache does.
func removeAll(dir string) {
	if os.RemoveAll(dir) == nil {
		return
	}
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
