// Package atomicfile writes files that are there in full or not at all, also
// after a power cut.
//
// The order is always: a temporary file in the same folder, fsync, rename (or
// link), fsync of the folder.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write replaces the file path, or makes it, with exactly data and exactly
// perm (the umask does not apply). Readers see the old content or the new one,
// never a mixture. A symbolic link at path is replaced, not followed. The
// folder must exist. After an error the old file is untouched, except that an
// error of the last step, the folder's fsync, leaves the new one in place.
func Write(path string, data []byte, perm fs.FileMode) error {
	if err := write(path, data, perm, os.Rename); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// WriteNew makes the file path like Write, but only if nothing is there yet:
// else the error is fs.ErrExist and what is there is untouched. Of several
// calls at the same time exactly one succeeds.
func WriteNew(path string, data []byte, perm fs.FileMode) error {
	// A hard link fails where rename would replace.
	if err := write(path, data, perm, os.Link); err != nil {
		return fmt.Errorf("write new %s: %w", path, err)
	}
	return nil
}

func write(path string, data []byte, perm fs.FileMode, place func(from, to string) error) error {
	dir := filepath.Dir(path)
	temp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return bare(err)
	}
	// After a rename there is nothing left to remove; after a link, and after
	// every failure, there is.
	defer func() { _ = os.Remove(temp.Name()) }()
	if err := fill(temp, data, perm); err != nil {
		return bare(err)
	}
	if err := place(temp.Name(), path); err != nil {
		return bare(err)
	}
	return syncDir(dir)
}

func fill(f *os.File, data []byte, perm fs.FileMode) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return bare(err)
	}
	return errors.Join(d.Sync(), d.Close())
}

// bare takes the temporary name off an error; the caller knows the file by
// another one.
func bare(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
