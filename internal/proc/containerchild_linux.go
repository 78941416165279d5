package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// containerChild is the first process of a container. It starts the command with
// what Forge hands in, waits for it, and says how it ended; what the command has left
// behind ends with it, as the kernel ends a pid namespace with its first process.
func containerChild() {
	// Forge's signals are for the command. They are received, not ignored: the command
	// would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	// The command, which is the same user, is to learn nothing from this process, and
	// to speak to Forge in its name least of all.
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(wayFolder, socketName), Net: "unix"})
	if err != nil {
		fmt.Fprintln(os.Stderr, "reach Forge from the container:", err)
		os.Exit(126)
	}
	code, err := runContained(conn)
	report := containerReport{Exit: &code}
	if err != nil {
		report = containerReport{Problem: err.Error()}
		code = 126
	}
	_ = json.NewEncoder(conn).Encode(report)
	os.Exit(code)
}

func runContained(conn *net.UnixConn) (code int, err error) {
	_ = conn.SetDeadline(time.Now().Add(wayTime))
	files, err := receive(conn, 3)
	if err != nil {
		return 0, fmt.Errorf("be given files: %w", err)
	}
	var order containerOrder
	if err := json.NewDecoder(conn).Decode(&order); err != nil {
		return 0, fmt.Errorf("read order: %w", err)
	}
	if order.Serve {
		if err := serveContained(conn); err != nil {
			return 0, fmt.Errorf("open the way out: %w", err)
		}
	}
	_ = conn.SetDeadline(time.Time{})
	if err := errors.Join(
		limitHolds("memory", int64(order.MemoryMB)<<20, "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"),
		limitHolds("processes", int64(order.PIDs), "/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"),
	); err != nil {
		return 0, err
	}
	if order.Path == containerIn { // it is only tried
		return 0, nil
	}
	order.Env = withImages(order.Env, os.Environ(), order.Carried)
	path, err := lookPath(order.Path, order.Dir, order.Env)
	if err != nil {
		return 0, fmt.Errorf("%w (of the image)", err)
	}
	pid, err := syscall.ForkExec(path, append([]string{order.Path}, order.Args...), &syscall.ProcAttr{
		Dir: order.Dir, Env: order.Env, Files: []uintptr{files[0].Fd(), files[1].Fd(), files[2].Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("execute %s in %s: %w", path, order.Dir, err)
	}
	closeFiles(files)
	go func() {
		hungUp(conn)
		os.Exit(128 + int(syscall.SIGKILL))
	}()
	return reap(pid)
}

// hungUp returns when Forge, or its client, has ended the connection. Nothing is said any
// more by then but the end of the order's line, which is left where the order just fits
// into what was read of it.
func hungUp(conn io.Reader) { _, _ = io.Copy(io.Discard, conn) }

// notOfImage are variables of the first process that are its runtime's or Forge's, and
// not the image's.
var notOfImage = [...]string{"PATH", "HOME", "HOSTNAME", "TERM", "container", MarkVariable, QuietMarkVariable}

// withImages are the child's variables, PATH with the folders of the image's behind
// those that are carried in, and what the image says beside that: its programs are
// found and work by it. What the child was given counts.
func withImages(env, own, carried []string) []string {
	env = setenv(env, "PATH", strings.Join(append(carried, lookup(own, "PATH")), ":"))
	given := map[string]bool{}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		given[name] = true
	}
	for _, kv := range own {
		name, _, _ := strings.Cut(kv, "=")
		if !given[name] && !slices.Contains(notOfImage[:], name) && !strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env = append(env, kv)
		}
	}
	return env
}

// reap waits for the command, and for every orphan that comes to the first process.
func reap(command int) (int, error) {
	for {
		var how syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &how, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil:
			return 0, fmt.Errorf("wait for the command: %w", err)
		case pid == command && how.Exited():
			return how.ExitStatus(), nil
		case pid == command && how.Signaled():
			return 128 + int(how.Signal()), nil
		}
	}
}

// serveContained listens where programs find a proxy, and hands the listener out.
func serveContained(conn *net.UnixConn) error {
	l, err := net.Listen("tcp4", wayAddress)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the file is another hold on it
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	defer file.Close()
	return hand(conn, file)
}

// limitHolds holds a limit against what the kernel says of it, in the first of the
// files that is there: a runtime that cannot set one leaves it at a warning. 0 is none.
func limitHolds(what string, want int64, files ...string) error {
	if want == 0 {
		return nil
	}
	for _, file := range files {
		said, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64); err != nil || n > want {
			return fmt.Errorf("limit of %s to %d: %w (%s says %.20q)", what, want, errLimit, file, strings.TrimSpace(string(said)))
		}
		return nil
	}
	return fmt.Errorf("limit of %s to %d: %w (nothing in /sys/fs/cgroup says so)", what, want, errLimit)
}
