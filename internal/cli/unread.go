package cli

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// stopUnread ends the run cleanly when what it prints into a pipe is read no
// more. The signal's own way would be to end the process, with the agents left
// running. It stays caught, since the report may meet the same pipe. An agent
// that does not read its prompt raises the same signal, which means nothing.
func (a *App) stopUnread(stop func(), over <-chan struct{}) {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	for {
		select {
		case <-over:
			return
		case <-broken:
			if hungUp(a.Stdout) || hungUp(a.Stderr) {
				stop()
				return
			}
		}
	}
}

// hungUp says that nobody reads the other end of a pipe any more.
func hungUp(out any) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
}
