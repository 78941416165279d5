package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// containerTryLimit is longer than that of other sandboxes: the first container
	// of an image may have to be given another owner, file by file.
	containerTryLimit = 2 * time.Minute
	// containerEndLimit bounds the removal of a container.
	containerEndLimit = 20 * time.Second

	// containerLate is how long after the death of its client a daemon may make a container.
	containerLate = time.Second
	// containerWall is the end of the name of a file that nobody may read. It stands
	// for those that are hidden: a device could be read in a container.
	containerWall = ".hidden"
	// containerNote is the end of the name of the file that says which container is to
	// be removed, should Forge die.
	containerNote = ".container"
)

// containment is a container as Forge sees it. What Forge starts is the client of the
// runtime; inside, Forge's own program is the first process. It connects to a socket
// over which it is given the child's files, its environment and what to start, and
// says how that ended. So the output passes through nobody's hands, secrets stand on
// no command line, and the container ends with the connection: when Forge dies, too.
type containment struct {
	order  containerOrder
	serve  func(context.Context, net.Listener)
	socket *net.UnixListener
	dir    string
	note   string // path of the file of containerNote
	client []*os.File
	log    *os.File // what the client says
	remove func(ctx context.Context) error

	began bool // hand was called
	pid   atomic.Int32
	conn  atomic.Pointer[net.UnixConn]
	done  chan struct{}
	heard containerReport // ordered by done
}

// containerOrder is what Forge's program inside is told.
type containerOrder struct {
	Path     string   `json:"path"` // as the child's own command line has it
	Args     []string `json:"args"`
	Dir      string   `json:"dir"`
	Env      []string `json:"env"`
	Carried  []string `json:"carried,omitempty"` // folders of PATH that are shown
	Serve    bool     `json:"serve,omitempty"`
	MemoryMB int      `json:"memory_mb,omitempty"`
	PIDs     int      `json:"pids,omitempty"`
}

// containerReport is what it says, once at the end.
type containerReport struct {
	Exit    *int   `json:"exit,omitempty"` // 128 and the number for a signal
	Problem string `json:"problem,omitempty"`
}

func prepareContainer(s Spec, exe string) (_ launching, err error) {
	c := s.Sandbox.Container
	name, path, err := c.find()
	if err != nil {
		return launching{}, err
	}
	v, err := newView(s, exe)
	if err != nil {
		return launching{}, err
	}
	mounts, err := v.placed(func(string) bool { return true })
	if err != nil {
		return launching{}, err
	}
	mounts = lastOfEach(mounts)
	b, err := openContainment(s.Mark)
	if err != nil {
		return launching{}, err
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if err := b.hideBehindWall(mounts); err != nil {
		return launching{}, err
	}
	self, err := os.Executable()
	if err != nil {
		return launching{}, fmt.Errorf("find Forge's own program: %w", err)
	}
	run := containerRun{
		Container: c, name: filepath.Base(b.dir), mark: s.Env[0], network: s.Sandbox.Network, user: fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid()),
		keepID: os.Geteuid() != 0, mounts: append(mounts, mount{mountRead, b.dir, wayFolder}, mount{mountRead, self, containerIn}),
	}
	if name == docker && os.Geteuid() != 0 && dockerRootless(path) {
		run.user = "0:0" // which is this user outside
	}
	b.serve = s.Sandbox.Serve
	b.order = containerOrder{
		Path: s.Sandbox.inside(exe), Args: s.Args, Dir: s.Sandbox.inside(s.Dir), Env: s.Env, Carried: v.carried(lookup(s.Env, "PATH")),
		Serve: b.serve != nil, MemoryMB: c.MemoryMB, PIDs: c.PIDs,
	}
	if b.serve != nil {
		b.order.Env = throughProxy(b.order.Env)
	}
	b.remove = func(ctx context.Context) error {
		was, err := removeNamed(ctx, path, run.name)
		if name == docker && b.conn.Load() == nil { // the daemon may go on for a while with what its client asked for
			for late := time.Now().Add(containerLate); !was && err == nil && time.Now().Before(late); time.Sleep(50 * time.Millisecond) {
				was, err = removeNamed(ctx, path, run.name)
			}
		}
		return err
	}
	if err := os.WriteFile(b.note, []byte(name+" "+run.name), 0o600); err != nil {
		return launching{}, fmt.Errorf("note the container: %w", err)
	}
	// The client finds its images by the user's own environment.
	return launching{path: path, argv: run.argv(name), env: os.Environ(), level: LevelContainer, cleanup: b.close, box: b}, nil
}

// lastOfEach leaves one mount for each path, the one that would lie on top: a runtime
// takes no path twice.
func lastOfEach(mounts []mount) []mount {
	last := map[string]int{}
	for i, m := range mounts {
		last[m.at] = i
	}
	var out []mount
	for i, m := range mounts {
		if last[m.at] == i {
			out = append(out, m)
		}
	}
	return out
}

func openContainment(mark string) (*containment, error) {
	socket, dir, err := ListenAlone(scratchName(mark))
	if err != nil {
		return nil, err
	}
	b := &containment{socket: socket, dir: dir, note: dir + containerNote, done: make(chan struct{})}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err == nil {
		b.client = []*os.File{null}
		if b.log, err = os.CreateTemp("", "forge-container-log-"); err == nil {
			_ = os.Remove(b.log.Name())
			b.client = []*os.File{null, b.log, b.log}
		}
	}
	if err != nil {
		b.close()
		return nil, fmt.Errorf("open files for the container's runtime: %w", err)
	}
	return b, nil
}

// dockerRootless says that docker's daemon runs as the user.
func dockerRootless(path string) bool {
	ctx, end := context.WithTimeout(context.Background(), containerEndLimit)
	defer end()
	said, err := exec.CommandContext(ctx, path, "info", "--format", "{{.SecurityOptions}}").Output()
	return err == nil && strings.Contains(string(said), "name=rootless")
}

// carried are the folders of a PATH that a container shows: those below what was
// asked for.
func (v *view) carried(path string) (all []string) {
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) && v.kind(dir).visible() {
			all = append(all, dir)
		}
	}
	return all
}

// hideBehindWall puts the wall in the place of the device that hides single files.
func (b *containment) hideBehindWall(mounts []mount) error {
	wall := b.dir + containerWall
	for i := range mounts {
		if mounts[i].from != os.DevNull {
			continue
		}
		if err := os.WriteFile(wall, nil, 0); err != nil && !errors.Is(err, fs.ErrPermission) {
			return fmt.Errorf("hide files in the container: %w", err)
		}
		mounts[i].from = wall
	}
	return nil
}

func (b *containment) files() []*os.File { return b.client }

func (b *containment) first() int { return int(b.pid.Load()) }

func (b *containment) over() { _ = b.socket.Close() }

func (b *containment) hand(files []*os.File, release func()) {
	b.began = true
	go func() {
		defer close(b.done)
		conn, err := b.socket.AcceptUnix()
		if err != nil {
			release()
			return
		}
		_ = b.socket.Close() // whoever came later would find nobody
		b.conn.Store(conn)
		defer func() { _ = conn.Close() }() // what was heard is all there is
		err = b.tell(conn, files)
		release()
		if err != nil {
			b.heard.Problem = err.Error()
			return
		}
		b.listen(conn)
	}()
}

// tell hands everything in.
func (b *containment) tell(conn *net.UnixConn, files []*os.File) error {
	b.pid.Store(int32(peerOf(conn)))
	if err := hand(conn, files[0], files[1], files[2]); err != nil {
		return err
	}
	return json.NewEncoder(conn).Encode(b.order)
}

// listen serves the way out, and hears how it ended.
func (b *containment) listen(conn *net.UnixConn) {
	if b.serve != nil {
		files, err := receive(conn, 1)
		if err != nil {
			b.heard.Problem = errNoWay.Error()
			return
		}
		l, err := net.FileListener(files[0])
		closeFiles(files)
		if err != nil {
			b.heard.Problem = err.Error()
			return
		}
		ctx, end := context.WithCancel(context.Background())
		served := make(chan struct{})
		go func() { defer close(served); b.serve(ctx, l) }()
		defer func() { end(); <-served }()
	}
	said, err := io.ReadAll(io.LimitReader(conn, statusBytes))
	if err == nil && len(said) > 0 {
		err = json.Unmarshal(said, &b.heard)
	}
	if err != nil {
		b.heard = containerReport{Problem: "what it said cannot be read: " + err.Error()}
	}
}

// finish corrects how the child ended. A container that did not end by itself may be
// half made, where none of its processes is found by its mark: it is removed by name.
func (b *containment) finish(r *Result) error {
	b.hangUp()
	<-b.done
	switch {
	case b.heard.Exit != nil:
		r.ExitCode, r.Signal = b.heard.Exit, ""
		if r.End == EndExited {
			return nil
		}
	case r.End == EndExited:
		return fmt.Errorf("the container could not start the command: %s", b.why())
	}
	ctx, end := context.WithTimeout(context.Background(), containerEndLimit)
	defer end()
	if err := b.remove(ctx); err != nil {
		return fmt.Errorf("end the container: %w: %w", err, ErrAlive)
	}
	return nil
}

// why is the most telling of what was said.
func (b *containment) why() string {
	if b.heard.Problem != "" {
		return b.heard.Problem
	}
	said := make([]byte, 2000)
	n, _ := b.log.ReadAt(said, 0)
	if why := strings.Join(strings.Fields(string(said[:n])), " "); why != "" {
		return why
	}
	return "it ended without a word"
}

// hangUp ends the connection, and with it what is left of the container.
func (b *containment) hangUp() {
	b.over()
	if conn := b.conn.Load(); conn != nil {
		_ = conn.SetReadDeadline(time.Now().Add(time.Second)) // what was said is read first
	}
}

// close gives everything back.
func (b *containment) close() {
	b.hangUp()
	if b.began {
		<-b.done
	}
	closeFiles(b.client)
	_ = os.Remove(b.note)
	_ = os.Remove(b.dir + containerWall)
	_ = os.RemoveAll(b.dir)
}

// removeNamed ends and removes a container, and says whether it was there. Of one that the
// daemon removes already, it is waited until that has been done.
func removeNamed(ctx context.Context, path, name string) (was bool, err error) {
	for {
		said, err := exec.CommandContext(ctx, path, "rm", "--force", name).CombinedOutput()
		none := strings.Contains(strings.ToLower(string(said)), "no such container") || strings.Contains(string(said), "no container with name")
		if err == nil || none {
			return was || !none, nil
		}
		was = true
		err = fmt.Errorf("remove %s: %w: %s", name, err, strings.Join(strings.Fields(string(said)), " "))
		if !strings.Contains(string(said), "is already in progress") {
			return was, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return was, err
		}
	}
}

// removeContainer removes the container that a note of a dead Forge names. A note of
// somebody else is none, nor is one that names anything but a container of Forge's.
func removeContainer(note string) {
	name, isNote := strings.CutSuffix(filepath.Base(note), containerNote)
	if !isNote {
		return
	}
	f, err := os.OpenFile(note, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	defer f.Close()
	var st syscall.Stat_t
	said, err := io.ReadAll(io.LimitReader(f, statusBytes))
	if err != nil || syscall.Fstat(int(f.Fd()), &st) != nil || int(st.Uid) != os.Geteuid() {
		return
	}
	runtime, named, _ := strings.Cut(string(said), " ")
	if named != name || runtime != podman && runtime != docker {
		return
	}
	if path, err := exec.LookPath(runtime); err == nil {
		ctx, end := context.WithTimeout(context.Background(), containerEndLimit)
		defer end()
		_, _ = removeNamed(ctx, path, name)
	}
}

// TryContainer starts and ends a container, and says why that does not work: there is
// no runtime, it has no such image, it cannot hold to the limits.
func TryContainer(ctx context.Context, c Container) error {
	name, _, err := c.find()
	if err != nil {
		return err
	}
	if err := try(ctx, Sandbox{Level: LevelContainer, Container: c}); err != nil {
		return fmt.Errorf("%s cannot run the image %s: %w", name, c.Image, err)
	}
	return nil
}

var errLimit = errors.New("the runtime does not hold to it here")
