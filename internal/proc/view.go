package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// access is what a sandboxed child may do at a path and below it. Of two for
// the same path the greater one counts.
type access int

const (
	unseen  access = iota
	system         // read and execute; part of the machine, not of the request
	private        // empty, writable, gone after the end
	read           // read and execute, as asked for
	hidden
	write
)

func (a access) visible() bool { return a == system || a == read || a == write }

// view is what a child sees, by path. The deepest entry above a path decides.
type view struct {
	at    map[string]access
	links map[string]string // symbolic links of the root folder, such as /bin
	files map[string]string // Sandbox.ReadFiles
	homes []string          // HOME as written, and as resolved
	// places are folders that stand elsewhere: path inside → path outside.
	places map[string]string
}

func newView(s Spec, exe string) (*view, error) {
	v := &view{at: map[string]access{}, links: map[string]string{}, files: s.Sandbox.ReadFiles, places: s.Sandbox.Places}
	if home := lookup(s.Env, "HOME"); filepath.IsAbs(home) && filepath.Clean(home) != "/" {
		v.homes = spelledAndReal(home)
	}
	for _, p := range s.Sandbox.Read {
		if _, err := os.Stat(p); err == nil {
			v.set(p, read)
		}
	}
	for _, p := range s.Sandbox.Hide {
		v.set(p, hidden)
	}
	for _, p := range s.Sandbox.Write {
		if _, err := os.Stat(p); err != nil {
			return nil, fmt.Errorf("open sandbox for writing: %w", err)
		}
		v.set(p, write)
	}
	for in, out := range v.places {
		if _, err := os.Stat(out); err != nil {
			return nil, fmt.Errorf("open sandbox for writing: %w", err)
		}
		v.at[filepath.Clean(in)] = write
	}
	if v.at["/"] != unseen {
		return nil, errors.New(`the sandbox path "/" would undo the sandbox`)
	}
	own := s.Sandbox.Level != LevelContainer // else programs are those of the image
	if own {
		v.addSystem()
	}
	v.addPrivate(append(slices.Clone(v.homes), "/tmp", "/var/tmp", "/run", lookup(s.Env, "TMPDIR")))
	if own {
		v.addPath(lookup(s.Env, "PATH"))
	} else {
		exe = v.addCarried(exe)
	}
	v.addNamed(s, exe)
	for in, out := range v.files {
		if _, err := os.Stat(out); err != nil {
			return nil, fmt.Errorf("open %s for the sandbox: %w", in, err)
		}
	}
	if dir := s.Sandbox.inside(s.Dir); !v.kind(dir).visible() && v.at[filepath.Clean(dir)] != private {
		return nil, fmt.Errorf("the working folder %s is not visible in the sandbox", s.Dir)
	}
	return v, nil
}

// set grants a at path, under the name that was given and under the one that
// symbolic links lead to.
func (v *view) set(path string, a access) {
	for _, p := range spelledAndReal(path) {
		v.at[p] = max(v.at[p], a)
	}
}

func spelledAndReal(path string) []string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		return []string{path, real}
	}
	return []string{path}
}

// kind is what holds at path.
func (v *view) kind(path string) access {
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if a, ok := v.at[p]; ok {
			return a
		}
		if p == "/" {
			return unseen
		}
	}
}

// linked says whether path is reached by a symbolic link that is in sight
// itself, and so needs no entry beside that of the link's target.
func (v *view) linked(path string) bool {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if fi, err := os.Lstat(path[:i]); err == nil && fi.Mode().Type() == fs.ModeSymlink {
			return v.kind(filepath.Dir(path[:i])).visible()
		}
	}
	return false
}

// sees says whether the file that path leads to is in sight.
func (v *view) sees(path string) bool {
	for _, p := range spelledAndReal(path) {
		if !v.kind(p).visible() {
			return false
		}
	}
	return true
}

func (v *view) addSystem() {
	for _, p := range systemFolders {
		fi, err := os.Lstat(p)
		if err != nil {
			continue
		}
		if fi.Mode().Type() == fs.ModeSymlink && filepath.Dir(p) == "/" {
			if target, err := os.Readlink(p); err == nil {
				v.links[p], v.at[p] = target, system
			}
			continue
		}
		v.set(p, system)
	}
	for _, p := range systemSecrets {
		v.set(p, hidden)
	}
	if os.Geteuid() != 0 {
		return
	}
	// Files that only root may read stay so when Forge runs as root.
	entries, _ := os.ReadDir("/etc")
	for _, e := range entries {
		fi, err := e.Info()
		if err == nil && fi.Mode().Type() != fs.ModeSymlink && fi.Mode().Perm()&0o004 == 0 {
			v.set(filepath.Join("/etc", e.Name()), hidden)
		}
	}
	keys, _ := filepath.Glob("/etc/ssh/ssh_host_*_key")
	for _, p := range append(keys, "/etc/ssl/private") {
		v.set(p, hidden)
	}
}

// addPrivate gives the child folders of its own, unless it was given the
// folder itself to write to.
func (v *view) addPrivate(folders []string) {
	for _, p := range folders {
		if !filepath.IsAbs(p) || filepath.Clean(p) == "/" {
			continue
		}
		for _, p := range spelledAndReal(p) {
			if v.kind(p) != write {
				v.at[p] = max(v.at[p], private)
			}
		}
	}
}

// namedFiles are variables that name files and folders without which TLS does
// not work.
var namedFiles = [...]string{
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
}

// addNamed adds single files that the child needs by name: its program,
// certificates, and the resolver's settings, which are often a link into /run.
func (v *view) addNamed(s Spec, exe string) {
	paths := []string{exe}
	for _, name := range namedFiles {
		paths = append(paths, lookup(s.Env, name))
	}
	if s.Sandbox.Network {
		paths = append(paths, "/etc/resolv.conf")
	}
	for _, p := range paths {
		if filepath.IsAbs(p) && !v.sees(p) && v.kind(p) != hidden {
			if _, err := os.Stat(p); err == nil {
				v.set(p, system)
			}
		}
	}
}

// addCarried shows Forge's own program in a container, and returns the child's where
// that is to be carried in too. One in a folder of the system is the image's, unless
// it is Forge itself.
func (v *view) addCarried(exe string) string {
	if self, err := os.Executable(); err == nil && !v.sees(self) {
		v.set(self, system)
	}
	if slices.ContainsFunc(systemFolders, func(dir string) bool { return inside(exe, dir) }) {
		return ""
	}
	return exe
}

// paths returns all entries, outer ones first.
func (v *view) paths() []string {
	out := make([]string, 0, len(v.at))
	for p := range v.at {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b string) int {
		if d := strings.Count(a, "/") - strings.Count(b, "/"); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return out
}

// inside says whether path is folder or lies in it.
func inside(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}
