package proc

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
)

const (
	socketName = "socket"
	// mostSocket is how long a socket's path may be: the shortest that a system
	// allows is 104 bytes with the zero behind it.
	mostSocket = 100
)

// ListenAlone listens on a socket in a new folder that its owner alone may enter.
// The caller closes it and removes the folder. name begins the folder's.
func ListenAlone(name string) (l *net.UnixListener, dir string, err error) {
	dir, err = os.MkdirTemp("", name)
	if err == nil && len(filepath.Join(dir, socketName)) > mostSocket {
		_ = os.Remove(dir)
		dir, err = os.MkdirTemp("/tmp", name)
	}
	if err != nil {
		return nil, "", fmt.Errorf("make a folder for a socket: %w", err)
	}
	l, err = net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, socketName), Net: "unix"})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, "", fmt.Errorf("listen on a socket: %w", err)
	}
	return l, dir, nil
}
