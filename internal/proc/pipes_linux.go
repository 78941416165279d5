package proc

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen makes a pipe take more before a reader has to come: programs that
// leave without writing to the end what they have begun, as those on Node.js
// do, would otherwise lose all beyond 64 KiB. It is the most that a kernel
// allows by default; where it does not, the pipe stays as it is.
func widen(f *os.File) {
	const pipeBytes = 1 << 20
	if c, err := f.SyscallConn(); err == nil {
		_ = c.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, pipeBytes) })
	}
}
