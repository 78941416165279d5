//go:build !linux

package proc

import "net"

// Speaks cannot tell processes apart here: that the folder of a socket is its
// owner's alone has to do.
func (p *Process) Speaks(*net.UnixConn) bool { return true }
