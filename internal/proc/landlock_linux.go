package proc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	// landlockName is argv[0] of Forge's own program when it is to restrict
	// itself and become the child.
	landlockName = "forge-landlock"
	// landlockOrders carries a landlockOrder; the child does not see it.
	landlockOrders = "FORGE_LANDLOCK"
	// landlockDone is what the helper says once it is restricted.
	landlockDone = "restricted\n"
)

// landlockOrder is what the helper is told.
type landlockOrder struct {
	Path    string   `json:"path"`
	Argv    []string `json:"argv"`
	Read    []string `json:"read"`
	Write   []string `json:"write"`
	Sockets []string `json:"sockets,omitempty"`
	Network bool     `json:"network"`
}

var errNoSandboxChild = errors.New("this program does not call proc.SandboxChild first")

func prepareLandlock(s Spec, exe string) (_ launching, err error) {
	if os.Args[0] == landlockName {
		return launching{}, errNoSandboxChild
	}
	v, err := newView(s, exe)
	if err != nil {
		return launching{}, err
	}
	order := landlockOrder{Path: exe, Argv: append([]string{s.Path}, s.Args...), Network: s.Sandbox.Network, Sockets: s.Sandbox.Sockets}
	if err := v.rules(&order); err != nil {
		return launching{}, err
	}
	scratch, err := os.MkdirTemp("", scratchName(s.Mark))
	if err != nil {
		return launching{}, fmt.Errorf("make sandbox folder: %w", err)
	}
	defer func() {
		if err != nil {
			removeAll(scratch)
		}
	}()
	order.Write = append(order.Write, scratch)
	home, temp := filepath.Join(scratch, "home"), filepath.Join(scratch, "tmp")
	if err := errors.Join(os.Mkdir(home, 0o700), os.Mkdir(temp, 0o700)); err != nil {
		return launching{}, err
	}
	env := setenv(s.Env, "TMPDIR", temp)
	if len(v.homes) > 0 && v.kind(v.homes[0]) != write {
		if err := v.linkHome(home); err != nil {
			return launching{}, err
		}
		env = setenv(env, "HOME", home)
	}
	for in, out := range v.files {
		if filepath.Clean(in) != filepath.Clean(out) && !v.inHome(in) {
			return launching{}, fmt.Errorf("landlock cannot show %s as %s", out, in)
		}
		order.Read = append(order.Read, out)
	}
	said, err := json.Marshal(order)
	if err != nil {
		return launching{}, fmt.Errorf("write landlock order: %w", err)
	}
	return launching{
		path: "/proc/self/exe",
		// A test binary that knows nothing of all this runs no test.
		argv:    []string{landlockName, "-test.run=^$"},
		env:     setenv(env, landlockOrders, string(said)),
		level:   LevelLandlock,
		status:  judgeLandlock,
		cleanup: func() { removeAll(scratch) },
	}, nil
}

// rules lists what the child may reach. Landlock only ever allows: a path that
// is hidden inside a readable one is left out by granting its neighbours one by
// one, which hides the list of names too. Inside a writable one that would
// forbid new files, so that it is refused.
func (v *view) rules(order *landlockOrder) error {
	for _, p := range v.paths() {
		switch v.at[p] {
		case write:
			if h := v.holeIn(p); h != "" {
				return fmt.Errorf("landlock cannot hide %s inside the writable %s", h, p)
			}
			order.Write = append(order.Write, p)
		case read, system:
			v.readRules(p, order)
		}
	}
	return nil
}

func (v *view) readRules(p string, order *landlockOrder) {
	if v.holeIn(p) == "" {
		order.Read = append(order.Read, p)
		return
	}
	entries, _ := os.ReadDir(p)
	for _, e := range entries {
		child := filepath.Join(p, e.Name())
		// A link is followed when the rule is made: it would grant its
		// target, which has or has not a rule of its own.
		if _, own := v.at[child]; !own && e.Type() != fs.ModeSymlink {
			v.readRules(child, order)
		}
	}
}

// holeIn returns a path inside folder that the child must not see.
func (v *view) holeIn(folder string) string {
	for p, a := range v.at {
		if (a == hidden || a == private) && p != folder && inside(p, folder) {
			if _, err := os.Lstat(p); err == nil {
				return p
			}
		}
	}
	return ""
}

func judgeLandlock(said []byte) error {
	problem, ok := bytes.CutPrefix(said, []byte(landlockDone))
	switch {
	case len(problem) > 0:
		return fmt.Errorf("landlock could not start the command: %s", bytes.TrimSpace(problem))
	case !ok:
		return fmt.Errorf("landlock could not start the command: %w", errNoSandboxChild)
	}
	return nil
}

// removeScratch removes what a Forge that died has left of such folders.
func removeScratch(mark string) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), scratchName(mark)+"*"))
	for _, dir := range left {
		removeContainer(dir)
		removeAll(dir)
	}
}
