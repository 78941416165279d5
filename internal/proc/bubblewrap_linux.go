package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// statusFD is where a sandbox reports its start: the first descriptor behind
// the standard ones.
const statusFD = "3"

// procCovers are the parts of /proc through which uid 0 could change the
// machine. Bubblewrap leaves some of them writable for root.
var procCovers = [...]string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi"}

func prepareBubblewrap(s Spec, exe string) (launching, error) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		return launching{}, fmt.Errorf("find bubblewrap: %w", err)
	}
	v, err := newView(s, exe)
	if err != nil {
		return launching{}, err
	}
	args, err := v.mounts()
	if err != nil {
		return launching{}, err
	}
	argv := []string{
		"bwrap", "--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--json-status-fd", statusFD,
	}
	if !s.Sandbox.Network {
		argv = append(argv, "--unshare-net")
	}
	l := launching{path: bwrap, env: s.Env, level: LevelBubblewrap, status: judgeBubblewrap, cleanup: func() {}}
	command := []string{exe}
	if s.Sandbox.Serve != nil {
		w, err := openWay(s.Sandbox.Serve)
		if err != nil {
			return launching{}, err
		}
		var mounts []string
		if l, mounts, command, err = throughWay(l, w, exe); err != nil {
			w.close()
			return launching{}, err
		}
		args = append(args, mounts...)
	}
	argv = append(append(argv, args...), "--remount-ro", "/", "--chdir", s.Sandbox.inside(s.Dir), "--")
	l.argv = append(append(argv, command...), s.Args...)
	if len(s.Sandbox.Overlays)+len(s.Sandbox.Fixed) > 0 {
		first, err := mountFirst(l, mountOrder{Overlays: s.Sandbox.Overlays, Fixed: s.Sandbox.Fixed})
		if err != nil {
			l.cleanup()
		}
		return first, err
	}
	return l, nil
}

// sharedMemory is the part of /dev in which people keep files as well: on most
// machines it is the one folder in memory.
const sharedMemory = "/dev/shm"

// mounts turns the view into bubblewrap's arguments, outer paths first; the root
// can still be written to behind them. A /dev
// of the child's own covers what stands before it, so that what is below
// sharedMemory comes behind.
func (v *view) mounts() ([]string, error) {
	shared := func(p string) bool { return inside(p, sharedMemory) }
	private := func(p string) bool { return !shared(p) }
	args := v.folders(private)
	files, err := v.singleFiles(private)
	if err != nil {
		return nil, err
	}
	args = append(append(args, files...), "--dev", "/dev", "--proc", "/proc")
	for _, p := range procCovers {
		args = append(args, "--ro-bind-try", p, p)
	}
	args = append(args, v.folders(shared)...)
	if files, err = v.singleFiles(shared); err != nil {
		return nil, err
	}
	return append(args, files...), nil
}

// folders are the arguments for the paths of the view that are wanted.
func (v *view) folders(wanted func(path string) bool) []string {
	var args []string
	for _, p := range v.paths() {
		if !wanted(p) {
			continue
		}
		if target, ok := v.links[p]; ok && v.at[p] == system {
			args = append(args, "--symlink", target, p)
			continue
		}
		if out, ok := v.places[p]; ok {
			args = append(args, "--bind", out, p)
			continue
		}
		around := v.kind(filepath.Dir(p))
		real, err := filepath.EvalSymlinks(p)
		exists := err == nil
		if exists && real != p && v.linked(p) {
			continue
		}
		switch v.at[p] {
		case system, read:
			if exists && !(v.at[p] == system && around.visible()) {
				args = append(args, "--ro-bind", real, p)
			}
		case write:
			args = append(args, "--bind", real, p)
		case private:
			if exists || !around.visible() {
				args = append(args, "--tmpfs", p)
			}
		case hidden:
			if !exists || !around.visible() {
				continue
			}
			if fi, err := os.Stat(real); err == nil && !fi.IsDir() {
				args = append(args, "--ro-bind", os.DevNull, p)
			} else {
				args = append(args, "--tmpfs", p)
			}
		}
	}
	return args
}

// singleFiles are the arguments for those of Sandbox.ReadFiles that are wanted.
func (v *view) singleFiles(wanted func(path string) bool) ([]string, error) {
	var args []string
	for _, in := range slices.Sorted(maps.Keys(v.files)) {
		if !wanted(filepath.Clean(in)) {
			continue
		}
		real, err := filepath.EvalSymlinks(v.files[in])
		if err != nil {
			return nil, fmt.Errorf("open file for the sandbox: %w", err)
		}
		args = append(args, "--ro-bind", real, filepath.Clean(in))
	}
	return args, nil
}

// judgeBubblewrap tells a command that failed from one that never began:
// bubblewrap reports an exit code only for a command that it could execute.
func judgeBubblewrap(said []byte) error {
	if bytes.Contains(said, []byte(`"exit-code"`)) {
		return nil
	}
	return errors.New("bubblewrap could not start the command (its error is in the output)")
}

// namespaceInit returns the process that bubblewrap's pid namespace lives and
// dies with, from what bubblewrap said; 0 = not said yet.
func namespaceInit(said []byte) int {
	line, _, _ := bytes.Cut(said, []byte("\n"))
	var status struct {
		Child int `json:"child-pid"`
	}
	if json.Unmarshal(line, &status) != nil {
		return 0
	}
	return status.Child
}
