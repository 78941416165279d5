package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	argv = append(argv, args...)
	argv = append(argv, "--chdir", s.Sandbox.inside(s.Dir), "--", exe)
	return launching{
		path: bwrap, argv: append(argv, s.Args...), env: s.Env,
		level: LevelBubblewrap, status: judgeBubblewrap, cleanup: func() {},
	}, nil
}

// mounts turns the view into bubblewrap's arguments, outer paths first.
func (v *view) mounts() ([]string, error) {
	var args []string
	for _, p := range v.paths() {
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
	inner := make([]string, 0, len(v.files))
	for in := range v.files {
		inner = append(inner, in)
	}
	slices.Sort(inner)
	for _, in := range inner {
		real, err := filepath.EvalSymlinks(v.files[in])
		if err != nil {
			return nil, fmt.Errorf("open file for the sandbox: %w", err)
		}
		args = append(args, "--ro-bind", real, filepath.Clean(in))
	}
	args = append(args, "--dev", "/dev", "--proc", "/proc")
	for _, p := range procCovers {
		args = append(args, "--ro-bind-try", p, p)
	}
	return append(args, "--remount-ro", "/"), nil
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
