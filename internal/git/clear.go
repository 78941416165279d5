package git

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// removeAll removes path and all below it without following links, also where
// folders were made read-only.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil {
		return nil
	}
	openUp(path)
	return os.RemoveAll(path)
}

// openUp gives the owner every right on all folders below and including dir.
// It is best effort: what it cannot change shows in the operation after it.
func openUp(dir string) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().Perm()&0o700 != 0o700 {
			_ = os.Chmod(path, info.Mode().Perm()|0o700)
		}
		return nil
	})
}

// removeOthers removes everything below dir that is neither one of the
// tracked paths nor a folder above one. A tracked path that is a folder (a
// submodule) is left empty.
func removeOthers(dir string, tracked []string) error {
	files := make(map[string]bool, len(tracked))
	above := map[string]bool{}
	for _, p := range tracked {
		files[p] = true
		for up := path.Dir(p); up != "." && !above[up]; up = path.Dir(up) {
			above[up] = true
		}
	}
	return removeOthersIn(dir, "", files, above)
}

func removeOthersIn(dir, prefix string, files, above map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if os.IsPermission(err) {
		openUp(dir)
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		rel, full := prefix+e.Name(), filepath.Join(dir, e.Name())
		switch {
		case files[rel] && !e.IsDir():
		case files[rel] || above[rel] && e.IsDir():
			err = removeOthersIn(full, rel+"/", files, above)
		default:
			err = removeAll(full)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// linked says that a folder above rel, below dir, is a link or no folder: what
// is reached through it is not in dir.
func linked(dir, rel string) bool {
	parts := strings.Split(path.Dir(rel), "/")
	for i := range parts {
		if parts[0] == "." {
			return false
		}
		info, err := os.Lstat(filepath.Join(dir, filepath.Join(parts[:i+1]...)))
		if err != nil || !info.IsDir() {
			return err == nil
		}
	}
	return false
}
