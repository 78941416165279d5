package git

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// fingerprint names what a path below dir holds: "" where there is no file,
// else the kind, whether it is executable, and a hash of the content.
func fingerprint(dir, rel string) (string, error) {
	print, _, err := look(dir, rel)
	return print, err
}

// look is fingerprint with what the file was when it was read.
func look(dir, rel string) (string, fs.FileInfo, error) {
	if linked(dir, rel) {
		return "", nil, nil
	}
	full := filepath.Join(dir, filepath.FromSlash(rel))
	info, err := os.Lstat(full)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || err == nil && info.IsDir() {
		return "", nil, nil
	}
	if err != nil {
		return "", nil, err
	}
	hash := sha256.New()
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(full)
		if err != nil {
			return "", nil, err
		}
		_, _ = io.WriteString(hash, target)
		return "link " + hex.EncodeToString(hash.Sum(nil)), info, nil
	case !info.Mode().IsRegular():
		return "special", info, nil
	}
	f, err := os.Open(full)
	if err != nil {
		return "", nil, err
	}
	_, err = io.Copy(hash, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", nil, err
	}
	kind := "file "
	if info.Mode()&0o100 != 0 {
		kind = "exec "
	}
	return kind + hex.EncodeToString(hash.Sum(nil)), info, nil
}

// keepOld gives an old file a second name. That takes no room; where it cannot
// be done it is a copy.
func keepOld(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 && os.Link(from, to) == nil {
		return nil
	}
	return copyAny(from, to, info)
}

func copyAny(from, to string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm())
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close(), in.Close())
}

// replace makes target what from is, by one rename. from may be on another
// disk; then a copy is made beside target first.
func (m *move) replace(from, target string) error {
	err := os.Rename(from, target)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	beside := m.beside(target)
	if err := copyAny(from, beside, info); err != nil {
		return errors.Join(err, os.RemoveAll(beside))
	}
	return os.Rename(beside, target)
}

// beside is the name of a copy that is about to take the place of target.
func (m *move) beside(target string) string {
	name := sha256.Sum256([]byte(target))
	return filepath.Join(filepath.Dir(target), fmt.Sprintf(".forge-move-%s-%x", m.ID, name[:4]))
}

// place puts every new file in its place. What goes is removed first, since it
// may make room for a folder or for the same name in other letters.
func (m *move) place() error {
	wanted := m.wanted()
	for _, p := range m.Paths {
		if p.New == "" {
			if err := m.untouched(p); err != nil {
				return err
			}
			full := filepath.Join(m.Root, filepath.FromSlash(p.Path))
			if err := os.Remove(full); err != nil {
				return err
			}
			m.removeEmpty(filepath.Dir(full), wanted)
		}
	}
	for _, dir := range m.Made {
		if err := os.Mkdir(filepath.Join(m.Root, filepath.FromSlash(dir)), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, p := range m.Paths {
		if p.New == "" {
			continue
		}
		if err := m.untouched(p); err != nil {
			return err
		}
		full := filepath.Join(m.Root, filepath.FromSlash(p.Path))
		if info, err := os.Lstat(full); err == nil && info.IsDir() {
			if err := removeFolder(full); err != nil {
				return err
			}
		}
		if err := m.replace(m.stage("new", filepath.FromSlash(p.Path)), full); err != nil {
			return err
		}
	}
	return nil
}

// untouched says that nobody has written a path since it was read.
func (m *move) untouched(p movedPath) error {
	if linked(m.Root, p.Path) {
		return &notMoved{why: "a folder above " + p.Path + " was replaced at this moment"}
	}
	now, err := os.Lstat(filepath.Join(m.Root, filepath.FromSlash(p.Path)))
	switch {
	case p.seen == nil && (errors.Is(err, fs.ErrNotExist) || err == nil && now.IsDir()):
		return nil
	case p.seen != nil && err == nil && os.SameFile(p.seen, now) && p.seen.Size() == now.Size() &&
		p.seen.ModTime().Equal(now.ModTime()) && p.seen.Mode() == now.Mode():
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return &notMoved{why: "file " + p.Path + " was changed at this moment"}
}

// wanted are the folders, and those above them, that something new comes into.
func (m *move) wanted() map[string]bool {
	out := map[string]bool{}
	add := func(dir string) {
		for ; dir != "." && !out[dir]; dir = path.Dir(dir) {
			out[dir] = true
		}
	}
	for _, p := range m.Paths {
		if p.New != "" {
			add(path.Dir(p.Path))
		}
	}
	for _, dir := range m.Made {
		add(dir)
	}
	return out
}

// removeEmpty removes dir and the folders above it that are empty, as git does, up
// to one that is wanted.
func (m *move) removeEmpty(dir string, wanted map[string]bool) {
	for ; dir != m.Root && strings.HasPrefix(dir, m.Root); dir = filepath.Dir(dir) {
		if rel, err := filepath.Rel(m.Root, dir); err != nil || wanted[filepath.ToSlash(rel)] || removeFolder(dir) != nil {
			return
		}
	}
}

// removeFolder removes an empty folder, and no file that has taken its name.
func removeFolder(dir string) error {
	if err := syscall.Rmdir(dir); err != nil {
		return &fs.PathError{Op: "rmdir", Path: dir, Err: err}
	}
	return nil
}

// putBack makes every path what it was before. left are those that hold neither
// the old content nor the new one: somebody wrote them, and they stay.
func (m *move) putBack() (left []string, err error) {
	var old []int
	for n, p := range m.Paths {
		full := filepath.Join(m.Root, filepath.FromSlash(p.Path))
		if err := os.Remove(m.beside(full)); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		now, err := fingerprint(m.Root, p.Path)
		switch {
		case err != nil:
			return nil, err
		case now == p.Old:
		case now != p.New:
			left = append(left, p.Path)
		case p.Old != "":
			old = append(old, n)
		default:
			if err := os.Remove(full); err != nil {
				return nil, err
			}
		}
	}
	for _, dir := range slices.Backward(m.Made) {
		// One that is not empty holds something of the user's; one that was not
		// made yet may be an old file still.
		_ = removeFolder(filepath.Join(m.Root, filepath.FromSlash(dir)))
	}
	for _, n := range old {
		p := m.Paths[n]
		full := filepath.Join(m.Root, filepath.FromSlash(p.Path))
		kept, err := fingerprint(m.stage("old"), filepath.Base(m.old(n)))
		if err != nil {
			return nil, err
		}
		if kept != p.Old || linked(m.Root, p.Path) {
			left = append(left, p.Path)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			return nil, err
		}
		if err := m.replace(m.old(n), full); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// syncPlaces makes the renames durable before the record goes. A folder that
// cannot be synced is one that a power cut may set back.
func (m *move) syncPlaces() {
	dirs := map[string]bool{m.GitDir: true}
	for _, p := range m.Paths {
		dirs[filepath.Dir(filepath.Join(m.Root, filepath.FromSlash(p.Path)))] = true
	}
	for dir := range dirs {
		if f, err := os.Open(dir); err == nil {
			_ = f.Sync()
			_ = f.Close()
		}
	}
}

// manyFiles is from where on one sync of the whole disk is cheaper.
const manyFiles = 256

// syncTree makes everything below dir durable, n files or so.
func syncTree(dir string, n int) error {
	if n > manyFiles && syncDisk(dir) == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrPermission) {
			return nil // an old file that its owner may not read was not read before either
		}
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
