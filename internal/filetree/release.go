package filetree

import (
	"os"
	"syscall"
)

// Release closes a folder that is held by a lock of the system's and ends the lock.
// To close it alone is not enough: a process that is being started meanwhile has it
// open, too, until it is what it will be.
func Release(held *os.File) {
	_ = syscall.Flock(int(held.Fd()), syscall.LOCK_UN)
	_ = held.Close()
}
