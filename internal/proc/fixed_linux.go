package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// mount makes the files of f readable only, each by a mount of its own. A file
// that is mounted can be neither removed nor replaced, and the folders above it
// are mounted on themselves, since the kernel renames no folder that is a mount.
func (f Fixed) mount() error {
	top, err := unix.Open(f.Dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	defer unix.Close(top)
	var files []string
	above := map[string]bool{}
	for _, file := range f.Files {
		if !isRegularIn(top, file) {
			continue
		}
		files = append(files, file)
		for dir := filepath.Dir(file); dir != "."; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	// Sorted, so that a folder comes before what is in it.
	folders := make([]string, 0, len(above))
	for dir := range above {
		folders = append(folders, dir)
	}
	slices.Sort(folders)
	for _, dir := range folders {
		if err := mountOn(top, dir, false); err != nil {
			return fmt.Errorf("keep %s in its place: %w", dir, err)
		}
	}
	for _, file := range files {
		if err := mountOn(top, file, true); err != nil {
			return fmt.Errorf("keep %s from being written: %w", file, err)
		}
	}
	return nil
}

// openIn opens a path in the folder top, no link of which is followed.
func openIn(top int, path string) (int, error) {
	return unix.Openat2(top, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
}

func isRegularIn(top int, path string) bool {
	fd, err := openIn(top, path)
	if err != nil {
		return errors.Is(err, unix.ENOSYS) // mounting it says so
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// mountOn mounts a path in top on itself. By descriptors: nothing else can come
// to its place meanwhile.
func mountOn(top int, path string, readOnly bool) error {
	below, err := openIn(top, path)
	if err != nil {
		return err
	}
	defer unix.Close(below)
	at := fmt.Sprintf("/proc/self/fd/%d", below)
	if err := unix.Mount(at, at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil || !readOnly {
		return err
	}
	// Opened anew, it is what was mounted. The flags that it has are locked in
	// a user namespace, and have to be said again.
	over, err := openIn(top, path)
	if err != nil {
		return err
	}
	defer unix.Close(over)
	var st unix.Statfs_t
	if err := unix.Fstatfs(over, &st); err != nil {
		return err
	}
	return unix.Mount("", fmt.Sprintf("/proc/self/fd/%d", over), "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY|keptFlags(st.Flags), "")
}

func keptFlags(has int64) uintptr {
	var keep uintptr
	for _, flag := range [...]struct {
		has  int64
		keep uintptr
	}{
		{unix.ST_NOSUID, unix.MS_NOSUID}, {unix.ST_NODEV, unix.MS_NODEV}, {unix.ST_NOEXEC, unix.MS_NOEXEC},
		{unix.ST_NOATIME, unix.MS_NOATIME}, {unix.ST_NODIRATIME, unix.MS_NODIRATIME}, {unix.ST_RELATIME, unix.MS_RELATIME},
	} {
		if has&flag.has != 0 {
			keep |= flag.keep
		}
	}
	return keep
}

// TryFixed keeps a file below dir, which must be there, from being written, and
// says why that does not work.
func TryFixed(ctx context.Context, dir string) error {
	top, err := os.MkdirTemp(dir, ".try-")
	if err != nil {
		return err
	}
	defer removeAll(top)
	file := filepath.Join(top, "in", "kept")
	if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("kept"), 0o600)); err != nil {
		return err
	}
	out := NewTail(1000, 1000)
	r, err := Run(ctx, Spec{
		Path: "sh", Args: []string{"-c", "echo new > in/new && cat in/kept && { (echo other > in/kept) || rm -f in/kept || mv in away; } 2>/dev/null; test -e in/kept"}, Dir: top,
		Env: BaseEnv(os.Environ(), nil), Stdout: out, Stderr: out, Mark: probeMark(),
		Sandbox: &Sandbox{
			Level: LevelBubblewrap, Network: true, Write: []string{top}, Fixed: []Fixed{{Dir: top, Files: []string{"in/kept"}}},
		},
		Limits: Limits{Total: detectLimit},
	})
	switch {
	case err != nil:
		return fmt.Errorf("%w %s", err, strings.Join(strings.Fields(out.String()), " "))
	case r.ExitCode == nil || *r.ExitCode != 0:
		return fmt.Errorf("a command in it ended with %s: %s", r.how(), strings.Join(strings.Fields(out.String()), " "))
	}
	data, err := os.ReadFile(file)
	if err == nil && string(data) != "kept" {
		err = errors.New("a file that was to be read only was written")
	}
	return err
}
