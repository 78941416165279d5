package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Folder is a folder of small files that its owner alone may touch: what others
// could have read or written proves nothing. Several processes may use one.
type Folder struct {
	Dir  string
	Lock string // name of the file that is locked while one of the others is changed
}

// Version is another text after each change of a file; "" = there is none.
func (f Folder) Version(name string) (string, error) {
	info, err := os.Lstat(filepath.Join(f.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", filepath.Join(f.Dir, name), err)
	}
	return version(info), nil
}

// version tells two contents of a file apart: a write is a rename, so a new file
// has another inode.
func version(info fs.FileInfo) string {
	var inode uint64
	if is, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = is.Ino
	}
	return fmt.Sprintf("%d %d %d %s", inode, info.ModTime().UnixNano(), info.Size(), info.Mode())
}

// Read reads a file; one that is not there is nil, with version "".
func (f Folder) Read(name string) (data []byte, is string, err error) {
	path := filepath.Join(f.Dir, name)
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("look at %s: %w", path, err)
	}
	if !info.Mode().IsRegular() {
		return nil, "", fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, "", fmt.Errorf("%s can be used by others (mode %04o); chmod 600 %s", path, info.Mode().Perm(), path)
	}
	data, err = os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("read %s: %w", path, err)
	}
	return data, version(info), nil
}

// Change replaces a file while no other process does so. Where do returns an error,
// nothing is changed.
func (f Folder) Change(name string, do func(was []byte) ([]byte, error)) error {
	if err := os.MkdirAll(f.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of %s: %w", name, err)
	}
	lock, err := os.OpenFile(filepath.Join(f.Dir, f.Lock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", name, err)
	}

	was, _, err := f.Read(name)
	if err != nil {
		return err
	}
	data, err := do(was)
	if err != nil {
		return err
	}
	if err := Write(filepath.Join(f.Dir, name), data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Join(f.Dir, name), err)
	}
	return nil
}
