package shortage

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// Room is what is free on the disk that holds a path.
type Room struct {
	Bytes  uint64 // for this user
	Files  uint64 // names that can be made
	Counts bool   // that the file system has a number of Files at all
}

// RoomAt reads what is free where path lies, or will lie.
func RoomAt(path string) (Room, error) {
	for {
		var st unix.Statfs_t
		err := unix.Statfs(path, &st)
		if err == nil {
			return Room{Bytes: st.Bavail * uint64(st.Bsize), Files: st.Ffree, Counts: st.Files > 0}, nil
		}
		up := filepath.Dir(path)
		if up == path || !os.IsNotExist(err) {
			return Room{}, &os.PathError{Op: "statfs", Path: path, Err: err}
		}
		path = up
	}
}

// Lacks returns a shortage when the disk that holds path has no room for so
// many bytes in so many files, nil when it has. What cannot be found out is
// no shortage: the write itself will tell.
func Lacks(path string, bytes, files uint64) error {
	r, err := RoomAt(path)
	if err != nil || r.Bytes >= bytes && (!r.Counts || r.Files >= files) {
		return nil
	}
	return &NoRoom{Path: path, Need: bytes, Have: r.Bytes, OutOfNames: r.Bytes >= bytes}
}

// AtWork is a shortage where less is free than what work begins with: 1 MB in 50 files.
func AtWork(path string) error { return Lacks(path, 1<<20, 50) }

// NoRoom is a disk with less room than is needed.
type NoRoom struct {
	Path       string
	Need, Have uint64 // bytes
	OutOfNames bool   // there are bytes, but no more files can be made
}

// Error says what there is and what it takes.
func (e *NoRoom) Error() string {
	if e.OutOfNames {
		return fmt.Sprintf("the disk that holds %s is full: no more files can be made on it", e.Path)
	}
	return fmt.Sprintf("the disk that holds %s is full: it takes %d KB, %d KB are free", e.Path, (e.Need+1023)/1024, e.Have/1024)
}

// Unwrap makes it a full disk to errors.Is.
func (e *NoRoom) Unwrap() error { return &Told{Errno: syscall.ENOSPC, Where: e.Path} }
