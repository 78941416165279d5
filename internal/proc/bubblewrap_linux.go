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
	all, err := v.placed(private)
	if err != nil {
		return nil, err
	}
	args := append(bubblewrapArgs(all), "--dev", "/dev", "--proc", "/proc")
	for _, p := range procCovers {
		args = append(args, "--ro-bind-try", p, p)
	}
	if all, err = v.placed(shared); err != nil {
		return nil, err
	}
	return append(args, bubblewrapArgs(all)...), nil
}

func bubblewrapArgs(all []mount) []string {
	var args []string
	for _, m := range all {
		if args = append(args, m.how); m.from != "" {
			args = append(args, m.from)
		}
		args = append(args, m.at)
	}
	return args
}

// placed are the folders and then the single files of the view that are wanted.
func (v *view) placed(wanted func(path string) bool) ([]mount, error) {
	files, err := v.singleFiles(wanted)
	return append(v.folders(wanted), files...), err
}

// folders are the mounts of the paths of the view that are wanted, outer ones first.
func (v *view) folders(wanted func(path string) bool) []mount {
	var all []mount
	for _, p := range v.paths() {
		if !wanted(p) {
			continue
		}
		if target, ok := v.links[p]; ok && v.at[p] == system {
			all = append(all, mount{mountLink, target, p})
			continue
		}
		if out, ok := v.places[p]; ok {
			all = append(all, mount{mountWrite, out, p})
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
				all = append(all, mount{mountRead, real, p})
			}
		case write:
			all = append(all, mount{mountWrite, real, p})
		case private:
			if exists || !around.visible() {
				all = append(all, mount{mountEmpty, "", p})
			}
		case hidden:
			if !exists || !around.visible() {
				continue
			}
			if fi, err := os.Stat(real); err == nil && !fi.IsDir() {
				all = append(all, mount{mountRead, os.DevNull, p})
			} else {
				all = append(all, mount{mountEmpty, "", p})
			}
		}
	}
	return all
}

// singleFiles are the mounts of those of Sandbox.ReadFiles that are wanted.
func (v *view) singleFiles(wanted func(path string) bool) ([]mount, error) {
	var all []mount
	for _, in := range slices.Sorted(maps.Keys(v.files)) {
		if !wanted(filepath.Clean(in)) {
			continue
		}
		real, err := filepath.EvalSymlinks(v.files[in])
		if err != nil {
			return nil, fmt.Errorf("open file for the sandbox: %w", err)
		}
		all = append(all, mount{mountRead, real, filepath.Clean(in)})
	}
	return all, nil
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
