package proc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// mountName is argv[0] of Forge's own program when it is to mount and become
	// bubblewrap: before 0.11 that cannot lay folders over each other itself, and
	// it takes no more than some thousand arguments.
	mountName = "forge-overlay"
	// mountOrders begins the names of the variables that carry a mountOrder in
	// pieces; the child does not see them.
	mountOrders = "FORGE_OVERLAY"
	// mostPiece is less than the kernel allows one variable.
	mostPiece = 32 << 10
	// mountFailed begins what the helper says when it could not.
	mountFailed = "mounts: "
)

// mountOrder is what the helper is told.
type mountOrder struct {
	Path     string    `json:"path"`
	Argv     []string  `json:"argv"`
	Overlays []Overlay `json:"overlays"`
	Fixed    []Fixed   `json:"fixed"`
}

// mountFirst puts the helper in front of bubblewrap. It has a user namespace, in
// which an ordinary user may mount, and a mount namespace, which ends with the
// child: no mount outlives it, however Forge ends.
func mountFirst(l launching, order mountOrder) (launching, error) {
	if os.Args[0] == mountName {
		return launching{}, errNoSandboxChild
	}
	order.Path, order.Argv = l.path, l.argv
	said, err := json.Marshal(order)
	if err != nil {
		return launching{}, fmt.Errorf("write what is to be mounted: %w", err)
	}
	uid, gid := os.Geteuid(), os.Getegid()
	judge := l.status
	l.path, l.argv = "/proc/self/exe", []string{mountName, "-test.run=^$"}
	n := 0
	for piece := range slices.Chunk(said, mostPiece) {
		l.env = setenv(l.env, mountOrders+strconv.Itoa(n), string(piece))
		n++
	}
	l.status = func(said []byte) error {
		if why, ok := strings.CutPrefix(string(said), mountFailed); ok {
			return fmt.Errorf("mount for the sandbox: %s", strings.TrimSpace(why))
		}
		return judge(said)
	}
	l.sys = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		// The same numbers inside: bubblewrap makes a namespace of its own.
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}},
		// Else the right to mount ends when the helper is executed. The kernel
		// keeps its own work folder with the rights of who mounts.
		AmbientCaps: []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN, unix.CAP_MKNOD},
	}
	return l, nil
}

// mountChild mounts and becomes bubblewrap. It returns only when it fails.
func mountChild() {
	runtime.LockOSThread()
	status := os.NewFile(3, "status")
	fmt.Fprintf(status, "%s%v\n", mountFailed, becomeMounted())
	os.Exit(126)
}

func becomeMounted() error {
	order, err := readOrder()
	if err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	// A program that was given rights cannot look into its own /proc/self/fd.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("open own descriptors: %w", err)
	}
	// Nothing that is mounted here may be seen outside.
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts apart: %w", err)
	}
	for _, o := range order.Overlays {
		if err := o.mount(); err != nil {
			return fmt.Errorf("%s: %w", o.Dir, err)
		}
	}
	for _, f := range order.Fixed {
		if err := f.mount(); err != nil {
			return fmt.Errorf("%s: %w", f.Dir, err)
		}
	}
	if err := dropMountRight(); err != nil {
		return err
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, mountOrders) })
	return fmt.Errorf("execute %s: %w", order.Path, syscall.Exec(order.Path, order.Argv, env))
}

func readOrder() (order mountOrder, err error) {
	var said strings.Builder
	for n := 0; ; n++ {
		piece, ok := os.LookupEnv(mountOrders + strconv.Itoa(n))
		if !ok {
			break
		}
		said.WriteString(piece)
	}
	if said.Len() == 0 {
		return order, errors.New("there is none")
	}
	return order, json.Unmarshal([]byte(said.String()), &order)
}

// mount lays o.Dir over its lower folders, at its own place.
func (o Overlay) mount() error {
	var open []int
	defer func() {
		for _, fd := range open {
			_ = unix.Close(fd)
		}
	}()
	// By descriptor: a path may hold the signs that part the options.
	at := func(dir string) (string, error) {
		fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return "", fmt.Errorf("open %s: %w", dir, err)
		}
		open = append(open, fd)
		return fmt.Sprintf("/proc/self/fd/%d", fd), nil
	}
	var lower []string
	for _, dir := range o.Lower {
		name, err := at(dir)
		if err != nil {
			return err
		}
		lower = append(lower, name)
	}
	upper, err := at(o.Dir)
	if err != nil {
		return err
	}
	work, err := at(o.Work)
	if err != nil {
		return err
	}
	// userxattr: the only marks that a user namespace may set.
	options := "userxattr,lowerdir=" + strings.Join(lower, ":") + ",upperdir=" + upper + ",workdir=" + work
	return unix.Mount("overlay", o.Dir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// dropMountRight gives back what an ordinary user has not; bubblewrap takes
// such rights for a faulty installation. Root has them by being root.
func dropMountRight() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up the right to mount: %w", err)
	}
	if os.Geteuid() == 0 {
		return nil
	}
	var none [2]unix.CapUserData
	if err := unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0]); err != nil {
		return fmt.Errorf("give up the right to mount: %w", err)
	}
	return nil
}

// TryOverlay lays a folder over another below dir, which must be there, and
// says why that does not work. Whether it does depends on the kernel, on what a
// user may do, and on the file system of dir.
func TryOverlay(ctx context.Context, dir string) error {
	top, err := os.MkdirTemp(dir, ".try-")
	if err != nil {
		return err
	}
	defer removeAll(top)
	at := func(name string) string { return filepath.Join(top, name) }
	for _, name := range []string{"lower", "upper", "work"} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(at("lower/seen"), nil, 0o600); err != nil {
		return err
	}
	out := NewTail(1000, 1000)
	r, err := Run(ctx, Spec{
		Path: "sh", Args: []string{"-c", "test -e seen && rm seen && mkdir new && ! test -e seen"}, Dir: at("upper"),
		Env: BaseEnv(os.Environ(), nil), Stdout: out, Stderr: out, Mark: probeMark(),
		Sandbox: &Sandbox{
			Level: LevelBubblewrap, Network: true, Write: []string{at("upper")},
			Overlays: []Overlay{{Dir: at("upper"), Lower: []string{at("lower")}, Work: at("work")}},
		},
		Limits: Limits{Total: detectLimit},
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w %s", err, strings.Join(strings.Fields(out.String()), " "))
	case r.ExitCode == nil || *r.ExitCode != 0:
		return fmt.Errorf("a command in it ended with %s: %s", r.how(), strings.Join(strings.Fields(out.String()), " "))
	}
	if _, err := os.Lstat(at("lower/seen")); err != nil {
		return fmt.Errorf("what lies below was changed: %w", err)
	}
	return nil
}
