package proc

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// SandboxChild is the first line of main, and of TestMain where tests start
// sandboxed children: when this process is a helper of Forge's sandboxes, it
// does its part and becomes the command, or exits; otherwise the call returns
// at once.
func SandboxChild() {
	switch {
	case len(os.Args) == 0:
	case os.Args[0] == landlockName:
		landlockChild()
	case os.Args[0] == mountName:
		mountChild()
	case os.Args[0] == wayIn:
		wayChild()
	case os.Args[0] == containerIn:
		containerChild()
	}
}

// landlockChild restricts itself and becomes the command.
func landlockChild() {
	// The kernel restricts threads; execve keeps the one that calls it.
	runtime.LockOSThread()
	status := os.NewFile(3, "status")
	err := becomeLandlocked(status)
	fmt.Fprintln(status, err)
	os.Exit(126)
}

// becomeLandlocked returns only when it fails.
func becomeLandlocked(status *os.File) error {
	said, ok := os.LookupEnv(landlockOrders)
	if !ok {
		return errors.New("there is no order")
	}
	var order landlockOrder
	if err := json.Unmarshal([]byte(said), &order); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, landlockOrders+"=") })
	syscall.CloseOnExec(int(status.Fd()))
	if err := restrict(order); err != nil {
		return err
	}
	if _, err := status.WriteString(landlockDone); err != nil {
		return err
	}
	return fmt.Errorf("execute %s: %w", order.Path, syscall.Exec(order.Path, order.Argv, env))
}

const (
	fsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	fsWrite = fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// fsFile are the rights that a rule for a single file may hold.
	fsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockDevices are the devices that every program may expect.
var landlockDevices = [...]string{
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts",
}

// restrict puts the calling thread under the order. It asks for everything
// that the kernel's ABI can refuse, and fails where the kernel has no landlock
// or cannot do what was ordered.
func restrict(order landlockOrder) error {
	abi, err := landlockABI()
	if err != nil {
		return err
	}
	if !order.Network && abi < 4 {
		return fmt.Errorf("landlock ABI %d of this kernel cannot cut the network: install bubblewrap, or allow the network", abi)
	}
	attr := landlockAttr(abi, order.Network)
	// Older kernels know a shorter structure and accept zeros behind it; the
	// three fields in use are 24 bytes.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), 24, 0)
	if errno != 0 {
		return fmt.Errorf("make landlock ruleset: %w", errno)
	}
	ruleset := int(fd)
	defer unix.Close(ruleset)
	for _, rule := range []struct {
		paths  []string
		rights uint64
	}{
		{order.Read, fsRead},
		{[]string{"/proc"}, fsRead},
		{order.Write, fsWrite},
		{order.Sockets, fsRead | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
		{landlockDevices[:], fsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
	} {
		for _, path := range rule.paths {
			if err := allow(ruleset, path, rule.rights&attr.Handled_access_fs); err != nil {
				return fmt.Errorf("allow %s: %w", path, err)
			}
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0); errno != 0 {
		return fmt.Errorf("restrict by landlock: %w", errno)
	}
	return nil
}

func landlockABI() (int, error) {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, fmt.Errorf("this kernel has no landlock, or it is off: %w", errno)
	}
	return int(abi), nil
}

// landlockAttr is everything that the ABI can refuse (landlock(7)).
func landlockAttr(abi int, network bool) unix.LandlockRulesetAttr {
	a := unix.LandlockRulesetAttr{Handled_access_fs: 1<<13 - 1}
	for _, since := range []struct {
		abi   int
		right uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER},
		{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if abi >= since.abi {
			a.Handled_access_fs |= since.right
		}
	}
	if abi >= 6 {
		a.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if !network && abi >= 4 {
		a.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		if abi >= 10 {
			a.Handled_access_net |= unix.LANDLOCK_ACCESS_NET_BIND_UDP | unix.LANDLOCK_ACCESS_NET_CONNECT_SEND_UDP
		}
	}
	return a
}

// allow grants rights at path and below. What is not there needs no rule.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fsFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// dropCapabilities takes from root what landlock does not cover: loading
// modules, raw devices, other processes.
func dropCapabilities() error {
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) {
			break // the last one, or an ordinary user, who has none
		}
		if err != nil {
			return err
		}
	}
	var none [2]unix.CapUserData
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}
