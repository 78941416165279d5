package verify

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/egress"
	"forge/internal/filetree"
	"forge/internal/proc"
	"forge/internal/work"
)

// homeOf is the home of the commands that run in dir: beside it, out of the
// snapshot.
func homeOf(dir string) string { return filepath.Clean(dir) + ".bench-home" }

// keptHome is where a home waits as it was before the first command.
func keptHome(home string) string { return home + ".kept" }

// seats are the folder and the home of a command, outside and as it sees them.
type seats struct {
	dir, home       string // as the command sees them
	outDir, outHome string
}

// Names inside a sandbox that tell nothing, and are the same for each folder.
const (
	insideDir  = "/build/src"
	insideHome = "/build/home"
	insideOut  = "/build/out"
)

func seatsOf(level proc.Level, dir, home string) seats {
	if level != proc.LevelBubblewrap && level != proc.LevelContainer {
		return seats{dir, home, dir, home}
	}
	return seats{insideDir, insideHome, dir, home}
}

// folders are the folders of a home that variables name.
var homeFolders = []struct{ name, dir string }{
	{"XDG_CACHE_HOME", ".cache"},
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_DATA_HOME", ".local/share"},
	{"XDG_STATE_HOME", ".local/state"},
}

// makeHome makes an empty home in which the shared paths of the user's own
// home stand at their place.
func (b *Bench) makeHome(home string, s work.SandboxSettings) error {
	if err := filetree.RemoveAll(home); err != nil {
		return err
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return err
	}
	users := variable(b.environ, "HOME")
	if users == "" {
		return nil
	}
	shared := slices.Concat(s.Write, s.Read)
	// Shorter paths first: what lies below one that is shared is shared.
	slices.SortFunc(shared, func(a, b string) int { return len(a) - len(b) })
	for _, path := range shared {
		rel, err := filepath.Rel(users, path)
		if err != nil || rel == "." || !filepath.IsLocal(rel) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			continue // not there for the user either
		}
		if err := shareAt(home, rel, path); err != nil {
			return err
		}
	}
	return nil
}

func shareAt(home, rel, path string) error {
	for dir := filepath.Dir(rel); dir != "."; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(home, dir)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil
		}
	}
	place := filepath.Join(home, rel)
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return err
	}
	if err := os.Symlink(path, place); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// toolHomes are the variables by which version managers find the tools that
// their programs in PATH only stand for, with their default below the user's
// home. None of them holds a login.
var toolHomes = []struct{ name, dir string }{
	{"RUSTUP_HOME", ".rustup"},
	{"NVM_DIR", ".nvm"},
	{"PYENV_ROOT", ".pyenv"},
	{"RBENV_ROOT", ".rbenv"},
	{"VOLTA_HOME", ".volta"},
	{"ASDF_DATA_DIR", ".asdf"},
}

// environment is what a command sees: the base list and the names let through,
// without anything secret, with a home of its own.
func (b *Bench) environment(home string, names []string) []string {
	env := proc.BaseEnv(b.environ, names)
	env = slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return name == "HOME" || strings.HasPrefix(name, "XDG_") || proc.SecretName(name)
	})
	for i, e := range env {
		if name, value, _ := strings.Cut(e, "="); strings.HasSuffix(strings.ToLower(name), "_proxy") {
			env[i] = name + "=" + withoutLogin(value)
		}
	}
	env = append(env, "HOME="+home)
	for _, f := range homeFolders {
		env = append(env, f.name+"="+filepath.Join(home, f.dir))
	}
	for _, t := range b.tools() {
		if variable(env, t.name) == "" {
			env = append(env, t.name+"="+t.dir)
		}
	}
	return append(env, ofJava(env, home)...)
}

// inImage is the environment of a command at a level: in a container, version managers
// are the image's, and found by its own variables.
func inImage(level proc.Level, env []string) []string {
	if level != proc.LevelContainer {
		return env
	}
	return slices.DeleteFunc(env, func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return slices.ContainsFunc(toolHomes, func(t struct{ name, dir string }) bool { return t.name == name })
	})
}

// ofJava tells tools of Java where their home is: a virtual machine asks the
// system for that of the account, and not HOME. The shell splits MAVEN_OPTS into
// words: a home that is more than one stays unsaid there.
func ofJava(env []string, home string) (out []string) {
	if !strings.ContainsAny(home, " \t\n\"'\\*?[") {
		out = append(out, "MAVEN_OPTS="+strings.TrimSpace(variable(env, "MAVEN_OPTS")+" -Duser.home="+home))
	}
	if variable(env, "GRADLE_USER_HOME") == "" {
		out = append(out, "GRADLE_USER_HOME="+filepath.Join(home, ".gradle"))
	}
	return out
}

// tools are the version managers that the user has.
func (b *Bench) tools() (found []struct{ name, dir string }) {
	for _, t := range toolHomes {
		dir := variable(b.environ, t.name)
		if users := variable(b.environ, "HOME"); dir == "" && users != "" {
			dir = filepath.Join(users, t.dir)
		}
		if info, err := os.Stat(dir); err == nil && info.IsDir() && filepath.IsAbs(dir) {
			t.dir = dir
			found = append(found, t)
		}
	}
	return found
}

// sandbox is the view of a command: nil at LevelNone.
func (b *Bench) sandbox(level proc.Level, at seats, s work.SandboxSettings, hide, targets []string) *proc.Sandbox {
	if level == proc.LevelNone {
		return nil
	}
	var open []string
	var moved map[string]string
	if at.dir != at.outDir {
		moved = map[string]string{at.dir: at.outDir, at.home: at.outHome}
	} else {
		open = []string{at.dir, at.home}
	}
	for _, path := range s.Write {
		// A cache that nobody has made yet is not there, which is no reason
		// not to judge.
		if _, err := os.Stat(path); err == nil {
			open = append(open, path)
		}
	}
	box := &proc.Sandbox{
		Level:   level,
		Write:   open,
		Read:    slices.Concat(s.Read, targets),
		Hide:    hide,
		Network: s.Network,
		Places:  moved,

		Container: proc.Container(s.Container),
	}
	if level == proc.LevelContainer {
		return box // its tools are the image's
	}
	for _, t := range b.tools() {
		box.Read = append(box.Read, t.dir)
	}
	return box
}

// bound lets the commands in box reach the hosts of the settings, and no others;
// nil where those do not name hosts.
func bound(box *proc.Sandbox, s work.SandboxSettings) *egress.Proxy {
	if box == nil || !s.OnlyHosts {
		return nil
	}
	p := egress.New(s.Hosts)
	box.Serve = p.Serve
	return p
}

// withoutLogin removes user and password from the address of a proxy. What
// cannot be read as one is dropped when it may hold a login.
func withoutLogin(proxy string) string {
	if !strings.Contains(proxy, "@") {
		return proxy
	}
	u, err := url.Parse(proxy)
	if err != nil || u.User == nil {
		return proxy[strings.LastIndex(proxy, "@")+1:]
	}
	u.User = nil
	return u.String()
}

// variable returns the value of name, "" when it is not there.
func variable(environ []string, name string) string {
	for _, e := range slices.Backward(environ) {
		if n, v, ok := strings.Cut(e, "="); ok && n == name {
			return v
		}
	}
	return ""
}
