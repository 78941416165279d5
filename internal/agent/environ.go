package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"forge/internal/proc"
	"forge/internal/work"
)

// environ is Forge's environment as agents may see parts of it.
type environ struct {
	vars []string
	home string // "" when there is none
}

func newEnviron(vars []string, home string) environ {
	e := environ{vars: vars, home: home}
	if e.home == "" {
		e.home = e.get("HOME")
	}
	return e
}

// get returns a variable; of several the last counts.
func (e environ) get(name string) string {
	for _, kv := range slices.Backward(e.vars) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// has says that a variable is set, be it to nothing.
func (e environ) has(name string) bool {
	return slices.ContainsFunc(e.vars, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// of is the complete environment of one agent process: the plain variables and
// those that kind and settings let through, what the kind sets, what the
// settings set, and FORGE_…; each overrules those before it, but the kind does
// not overrule a name that the user's settings let through.
func (e environ) of(req work.IterationRequest, l launch) []string {
	env := proc.BaseEnv(e.vars, append(slices.Clone(l.names), req.Agent.Env...))
	if e.home != "" {
		env = append(env, "HOME="+e.home)
	}
	for _, kv := range l.set {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(req.Agent.Env, name) || !e.has(name) {
			env = append(env, kv)
		}
	}
	for name, value := range req.Agent.SetEnv {
		env = append(env, name+"="+value)
	}
	env = append(env,
		"FORGE_RUN="+req.Run,
		"FORGE_PHASE="+req.Phase,
		"FORGE_PHASE_NAME="+req.PhaseName,
		"FORGE_ITERATION="+strconv.Itoa(req.Iteration),
		"FORGE_ATTEMPT="+strconv.Itoa(req.Attempt),
		"FORGE_LEVEL="+req.Level,
	)
	return lastOf(env)
}

// lastOf keeps the last entry of each name, sorted by name. An entry that no
// process could be started with is dropped.
func lastOf(env []string) []string {
	values := map[string]string{}
	for _, kv := range env {
		name, _, ok := strings.Cut(kv, "=")
		if ok && name != "" && !strings.ContainsRune(kv, 0) {
			values[name] = kv
		}
	}
	out := make([]string, 0, len(values))
	for _, kv := range values {
		out = append(out, kv)
	}
	slices.Sort(out)
	return out
}

// look finds a program: an absolute path as it is, one with a slash below
// folder, a bare name in PATH, of which relative entries do not count, since
// they would run whatever lies in the folder that the agent writes.
func (e environ) look(name, folder string) (path string, ok bool) {
	usable := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
	}
	switch {
	case name == "":
		return "", false
	case filepath.IsAbs(name):
		return name, usable(name)
	case strings.ContainsRune(name, '/'):
		path := filepath.Join(folder, name)
		return path, filepath.IsAbs(folder) && usable(path)
	}
	for _, dir := range filepath.SplitList(e.get("PATH")) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && usable(path) {
			return path, true
		}
	}
	return "", false
}

// shown are the files that make a program visible inside a sandbox: the path
// it is called by and, when that is a symlink, the file itself.
func shown(program string) map[string]string {
	files := map[string]string{program: program}
	if real, err := filepath.EvalSymlinks(program); err == nil {
		files[real] = real
	}
	return files
}
