package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"forge/internal/journal"
	"forge/internal/proc"
)

// beside is what ends a run of store with this process: the second Ctrl-C, and
// output that is read no more.
func (a *App) beside(store *journal.Store) func(run string, stop func(), over <-chan struct{}) {
	// Caught from here on: the run's first line may already meet no reader.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func(run string, stop func(), over <-chan struct{}) {
		go a.leaveAtOnce(store, run, over)
		a.stopUnread(broken, stop, over)
	}
}

// leaveAtOnce is the second Ctrl-C: the agents are killed and the process ends
// here. The journal is whole at any moment, so that the run can be resumed.
func (a *App) leaveAtOnce(store *journal.Store, run string, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-a.Kill:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if rows, err := store.Attempts(ctx, run); err == nil {
		for _, r := range rows {
			_, _ = proc.KillMarked(r.Mark, 0)
		}
	}
	os.Exit(exitInterrupted)
}

// stopUnread ends the run cleanly when what it prints into a pipe is read no
// more. The signal's own way would be to end the process, with the agents left
// running. It stays caught, since the report may meet the same pipe. An agent
// that does not read its prompt raises the same signal, which means nothing.
func (a *App) stopUnread(broken <-chan os.Signal, stop func(), over <-chan struct{}) {
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
