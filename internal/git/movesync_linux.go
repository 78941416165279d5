package git

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncDisk makes everything on the disk that holds dir durable.
func syncDisk(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
