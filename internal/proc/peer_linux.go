package proc

import (
	"net"

	"golang.org/x/sys/unix"
)

// Speaks says that whoever is at the other end of a connection is of the child's
// tree: it was started by the child, or carries its mark. Who cannot be told is not.
func (p *Process) Speaks(c *net.UnixConn) bool {
	pid := peerOf(c)
	return pid > 0 && p.tree.descends(pid)
}

// peerOf is the process at the other end of a connection, 0 = it cannot be told.
func peerOf(conn *net.UnixConn) int {
	var cred *unix.Ucred
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0
	}
	if cerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); cerr != nil || err != nil {
		return 0
	}
	return int(cred.Pid)
}

// descends says that a process comes from the root, or carries the tree's mark. It
// changes nothing, so that any goroutine may ask.
func (t *tree) descends(pid int) bool {
	if pid <= 1 || t.root <= 0 {
		return false
	}
	if has, _ := environHas(pid, t.marks, make([]byte, environChunk+t.marks.longest())); has {
		return true
	}
	// A line of parents ends at the first process; the bound is for one that is
	// rewritten while it is read.
	buf := make([]byte, statBytes)
	for range 1000 {
		if pid == t.root {
			return true
		}
		s, err := readStat(pid, buf)
		if err != nil || pid <= 1 {
			return false
		}
		pid = s.ppid
	}
	return false
}
