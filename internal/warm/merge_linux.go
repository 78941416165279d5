package warm

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// whiteout says that an overlay took away what lies below.
func whiteout(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&fs.ModeCharDevice != 0 && st.Rdev == 0
}

// opaque says that an overlay shows of a folder nothing that lies below.
func opaque(root *os.Root, dir string) (bool, error) {
	f, err := root.Open(dir)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var value [8]byte
	n, err := unix.Fgetxattr(int(f.Fd()), "user.overlay.opaque", value[:])
	if errors.Is(err, unix.ENODATA) || errors.Is(err, unix.ENOTSUP) {
		return false, nil
	}
	return err == nil && string(value[:n]) == "y", err
}

// syncAll waits until what was written to the file system of dir is on the disk.
func syncAll(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}
