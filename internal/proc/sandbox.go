package proc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
)

// Level is how strongly a child is shut in.
type Level string

const (
	// LevelBubblewrap: own file system view, pid namespace and, without
	// Network, own network.
	LevelBubblewrap Level = "bubblewrap"
	// LevelLandlock: the host's file system with access by list. Without
	// Network the kernel refuses TCP, and UDP where it can (ABI 10); other
	// protocols, multipath TCP among them, go through. Mode, owner and times
	// of files outside can be changed as far as the user may. HOME and TMPDIR
	// point to a folder that is gone after the end; /tmp is out of reach.
	// Processes share the host's pid namespace.
	LevelLandlock Level = "landlock"
	// LevelContainer: a container of podman or docker. Programs are those of its image;
	// beside them it shows what LevelBubblewrap shows of what was asked for.
	LevelContainer Level = "container"
	// LevelSeatbelt: macOS's own sandbox, by a profile: the host's file system with
	// access by path, and its network or none. HOME and TMPDIR are as with landlock.
	// It was never tried.
	LevelSeatbelt Level = "seatbelt"
	// LevelNone: nothing.
	LevelNone Level = "none"
)

// Sandbox says what a child may see. Everything that is not listed and is not
// part of the system's programs and settings (/usr, /etc, /opt, …, the folders
// of PATH) is out of sight: HOME and the folder for temporary files are empty,
// writable, and gone after the end.
//
// Of paths inside one another the inner one decides, so that a phase folder
// inside a hidden state folder can be written, and a hidden file inside a
// readable folder is hidden. For the same path Write wins over Hide, and Hide
// over Read.
type Sandbox struct {
	Level Level // chosen by Choose; "" is an error

	// Absolute paths. Write must exist; Read and Hide need not.
	Write, Read, Hide []string

	// Sockets are those of Read whose sockets the child may speak to. Landlock asks,
	// where the kernel can refuse it; elsewhere a socket that is seen is spoken to.
	Sockets []string

	// ReadFiles are single files, read-only: path inside → path outside.
	// Under landlock, which cannot move files, a path inside must lie in
	// HOME or be the path outside.
	ReadFiles map[string]string

	// Places are further folders to write to: path inside → path outside. The
	// environment names paths inside, Spec.Dir the one outside. Landlock cannot
	// move folders.
	Places map[string]string

	// Overlays are folders of Write and Places, by their paths outside, with
	// others below them. Only bubblewrap has them, where TryOverlay works.
	Overlays []Overlay

	// Fixed are files in folders of Write and Places that the child can only
	// read all the same. Only bubblewrap has them, where TryFixed works.
	Fixed []Fixed

	Network bool // the host's network, loopback included; false cuts it

	// Serve is called with a listener inside of a network that is cut, which is
	// the only way out; the environment names it as the proxy to use. It has to
	// return when its context is done, which is when the child has ended, and to
	// close the listener. Landlock has no such thing.
	Serve func(ctx context.Context, l net.Listener)

	// Container is for LevelContainer alone.
	Container Container
}

// Overlay lays a folder over others: the child sees what Lower hold, the first
// on top, and over them what Dir holds. What it writes, changes and removes is
// in Dir alone.
type Overlay struct {
	Dir   string   `json:"dir"`
	Lower []string `json:"lower"`
	// Work is an empty folder on the file system of Dir, for the kernel alone.
	Work string `json:"work"`
}

// Fixed are files in a folder that can be read and neither written, removed nor
// replaced; nor can a folder between be renamed, so that no other file comes to
// their places. Beside them files are made as before. What moves a file from
// one of these folders into another has to copy it.
type Fixed struct {
	Dir string `json:"dir"` // the path outside, as in Write and Places
	// Files are paths in Dir. One that is not there is passed over, and so are
	// links and whatever else is no regular file.
	Files []string `json:"files"`
}

// Capabilities are the sandboxes that work on this machine.
type Capabilities struct {
	Bubblewrap, Landlock bool
	// Seatbelt works on macOS. It is used where a sandbox is required, and not by
	// itself: keys in the keychain are out of an agent's reach in it.
	Seatbelt bool
	// Why says for each one that does not work what is in the way, and for
	// each one that does what it cannot do here; "" = nothing to say.
	Why string
}

// Choose picks the level for [sandbox] mode: auto is the strongest that works,
// or none; required is an error when none works; off is none; container is one, and
// never anything else: whether it works is tried (TryContainer). Any other word
// is an error. Where the network is bounded to single hosts, whatever cannot
// hold to that is an error as well.
func Choose(mode string, onlyHosts bool, c Capabilities) (Level, error) {
	switch {
	case onlyHosts && mode == "off":
		return "", errors.New("sandbox.network names hosts, and sandbox.mode is off: nothing would hold to them")
	case onlyHosts && (mode == "auto" || mode == "required") && !c.Bubblewrap:
		return "", fmt.Errorf("sandbox.network names hosts, which only bubblewrap can hold to, and it does not work here: %s", c.Why)
	case mode == "container":
		return LevelContainer, nil
	case mode == "off":
		return LevelNone, nil
	case mode != "auto" && mode != "required":
		return "", fmt.Errorf("unknown sandbox mode %q: use auto, required or off", mode)
	case c.Bubblewrap:
		return LevelBubblewrap, nil
	case c.Landlock:
		return LevelLandlock, nil
	case mode == "auto":
		return LevelNone, nil
	case c.Seatbelt:
		return LevelSeatbelt, nil
	}
	return "", fmt.Errorf("a sandbox is required and none works here: %s", c.Why)
}

// check refuses what could not be held to.
func (s *Sandbox) check() error {
	for _, list := range [][]string{s.Write, s.Read, s.Hide, s.Sockets} {
		for _, p := range list {
			if !filepath.IsAbs(p) {
				return fmt.Errorf("sandbox path %q is not absolute", p)
			}
		}
	}
	moves := s.Level == LevelBubblewrap || s.Level == LevelContainer
	if len(s.Places) > 0 && !moves {
		return fmt.Errorf("sandbox %s cannot move folders", s.Level)
	}
	if len(s.Overlays) > 0 && s.Level != LevelBubblewrap {
		return fmt.Errorf("sandbox %s cannot lay folders over each other", s.Level)
	}
	for _, o := range s.Overlays {
		if len(o.Lower) == 0 || !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.Work) || slices.ContainsFunc(o.Lower, func(p string) bool { return !filepath.IsAbs(p) }) {
			return fmt.Errorf("sandbox overlay of %q needs absolute folders below it and to work in", o.Dir)
		}
	}
	if len(s.Fixed) > 0 && s.Level != LevelBubblewrap {
		return fmt.Errorf("sandbox %s cannot keep single files from being written", s.Level)
	}
	for _, f := range s.Fixed {
		if !filepath.IsAbs(f.Dir) || slices.ContainsFunc(f.Files, func(p string) bool { return !filepath.IsLocal(p) }) {
			return fmt.Errorf("sandbox files to read only in %q need an absolute folder and paths inside of it", f.Dir)
		}
	}
	if s.Serve != nil && (s.Network || !moves) {
		return fmt.Errorf("sandbox %s cannot let single hosts through", s.Level)
	}
	for in, out := range s.Places {
		if !filepath.IsAbs(in) || !filepath.IsAbs(out) {
			return fmt.Errorf("sandbox folder %q from %q is not absolute", in, out)
		}
	}
	for in, out := range s.ReadFiles {
		if !filepath.IsAbs(in) || !filepath.IsAbs(out) {
			return fmt.Errorf("sandbox file %q from %q is not absolute", in, out)
		}
	}
	return nil
}

// inside is where a folder outside stands inside.
func (s *Sandbox) inside(dir string) string {
	for in, out := range s.Places {
		if rest, ok := strings.CutPrefix(dir, out); ok && (rest == "" || rest[0] == '/') {
			return in + rest
		}
	}
	return dir
}

// prepare turns the spec into a command line, with the sandbox around it.
func prepare(s Spec, path string) (launching, error) {
	if s.Sandbox == nil || s.Sandbox.Level == LevelNone {
		return launching{
			path: path, argv: append([]string{s.Path}, s.Args...), env: s.Env,
			level: LevelNone, cleanup: func() {},
		}, nil
	}
	if err := s.Sandbox.check(); err != nil {
		return launching{}, err
	}
	if !filepath.IsAbs(s.Dir) {
		return launching{}, fmt.Errorf("sandbox needs an absolute working folder, not %q", s.Dir)
	}
	switch s.Sandbox.Level {
	case LevelBubblewrap:
		return prepareBubblewrap(s, path)
	case LevelLandlock:
		return prepareLandlock(s, path)
	case LevelContainer:
		return prepareContainer(s, path)
	case LevelSeatbelt:
		return prepareSeatbelt(s, path)
	}
	return launching{}, fmt.Errorf("unknown sandbox level %q", s.Sandbox.Level)
}
