package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child whose network is cut and that is served all the same starts with Forge's
// own program inside of the sandbox: that listens there, hands the listener out to
// Forge, and becomes the command. Nothing of it stays inside.
const (
	// wayIn is Forge's own program inside; bubblewrap calls what it starts by its
	// path, so that this is argv[0] as well.
	wayIn = "/.way-in"
	// wayFolder holds the socket over which the listener is handed out.
	wayFolder = "/.way"
	// wayAddress is where programs inside find the proxy.
	wayAddress = "127.0.0.1:3128"
	// wayTime is how long the start inside may take.
	wayTime = 30 * time.Second
)

var errNoWay = errors.New("the way out of the sandbox could not be opened (its error is in the output)")

// way is the side of Forge.
type way struct {
	dir    string
	socket *net.UnixListener
	end    context.CancelFunc
	done   chan struct{}
	opened chan struct{} // closed once the listener came
}

// openWay begins to wait for the listener, which serve is called with.
func openWay(serve func(context.Context, net.Listener)) (*way, error) {
	socket, dir, err := ListenAlone("way-")
	if err != nil {
		return nil, fmt.Errorf("open the way out: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	w := &way{dir: dir, socket: socket, end: end, done: make(chan struct{}), opened: make(chan struct{})}
	go func() {
		defer close(w.done)
		l, err := w.take()
		if err != nil {
			return
		}
		close(w.opened)
		serve(ctx, l)
	}()
	return w, nil
}

// take waits for the one connection that hands the listener out. Whoever came
// later would find nobody.
func (w *way) take() (net.Listener, error) {
	conn, err := w.socket.AcceptUnix()
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	_ = w.socket.Close()
	_ = conn.SetDeadline(time.Now().Add(wayTime))
	files, err := receive(conn, 1)
	if err != nil {
		return nil, err
	}
	defer closeFiles(files) // the listener has its own
	l, err := net.FileListener(files[0])
	if err != nil {
		return nil, err
	}
	_, err = conn.Write([]byte{1})
	return l, err
}

// receive waits for one byte and as many open files. The caller closes them.
func receive(conn *net.UnixConn, want int) ([]*os.File, error) {
	data, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4*want))
	_, n, _, _, err := conn.ReadMsgUnix(data, rights)
	if err != nil {
		return nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(err, errNoWay)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, fd := range fds {
		files = append(files, os.NewFile(uintptr(fd), "received"))
	}
	if len(files) != want {
		closeFiles(files)
		return nil, errNoWay
	}
	return files, nil
}

// hand sends one byte and open files with it.
func hand(conn *net.UnixConn, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := conn.WriteMsgUnix([]byte{1}, unix.UnixRights(fds...), nil)
	runtime.KeepAlive(files)
	return err
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// close ends what is served; the child has ended.
func (w *way) close() {
	w.end()
	_ = w.socket.Close()
	<-w.done
	_ = os.RemoveAll(w.dir)
}

// throughWay puts the way in front of the command: what is mounted for it, what
// is started inside, and the variables by which programs find a proxy.
func throughWay(l launching, w *way, exe string) (_ launching, mounts, command []string, err error) {
	self, err := os.Executable()
	if err != nil {
		return l, nil, nil, fmt.Errorf("find Forge's own program: %w", err)
	}
	mounts = []string{"--ro-bind", w.dir, wayFolder, "--ro-bind", self, wayIn}
	command = []string{wayIn, "-test.run=^$", exe}
	l.env = throughProxy(l.env)
	judge := l.status
	l.status = func(said []byte) error {
		select {
		case <-w.opened:
			return judge(said)
		default:
			return errors.Join(judge(said), errNoWay)
		}
	}
	before := l.cleanup
	l.cleanup = func() {
		w.close()
		before()
	}
	return l, mounts, command, nil
}

// throughProxy are the variables by which programs find the way.
func throughProxy(env []string) []string {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = setenv(setenv(env, name, "http://"+wayAddress), strings.ToLower(name), "http://"+wayAddress)
	}
	env = setenv(setenv(env, "NO_PROXY", ""), "no_proxy", "")
	return setenv(env, "NODE_USE_ENV_PROXY", "1")
}

// wayChild opens the way and becomes the command. It returns only when it fails.
func wayChild() {
	runtime.LockOSThread()
	fmt.Fprintln(os.Stderr, "open the way out of the sandbox:", becomeServed())
	os.Exit(126)
}

func becomeServed() error {
	if len(os.Args) < 3 {
		return errors.New("there is no order")
	}
	if err := handOut(); err != nil {
		return err
	}
	exe := os.Args[2]
	return fmt.Errorf("execute %s: %w", exe, syscall.Exec(exe, os.Args[2:], os.Environ()))
}

// handOut listens and gives the listener to Forge.
func handOut() error {
	l, err := net.Listen("tcp4", wayAddress)
	if err != nil {
		return err
	}
	file, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Join(wayFolder, socketName), Net: "unix"})
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Now().Add(wayTime))
	if err := hand(conn, file); err != nil {
		return err
	}
	// Before Forge has it, nobody would answer.
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		return err
	}
	return nil // what is open here is closed by execve
}
