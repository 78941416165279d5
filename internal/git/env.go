package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"forge/internal/text"
)

// letThrough are the variables of Forge's own environment that every git sees.
// No GIT_ variable is among them: one that is set for the shell that started
// Forge would redirect Forge's own index or repository.
var letThrough = []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "XDG_CONFIG_HOME"}

// letThroughPush are let through to a push as well: what reaching a remote with
// the user's own credentials takes.
var letThroughPush = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
}

// forced are settings that hold for every git that Forge starts, whatever the
// configuration files say, and for the gits that one starts itself.
var forced = [][2]string{
	{"safe.directory", "*"},
	{"core.hooksPath", os.DevNull},
	{"core.fsmonitor", "false"},
	{"protocol.ext.allow", "never"},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"core.askPass", ""},
}

func pick(environ, names []string) []string {
	var env []string
	for _, name := range names {
		if v, ok := lookEnv(environ, name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// lookEnv returns the last value of name, as the kernel's callers do.
func lookEnv(environ []string, name string) (string, bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if k, v, ok := strings.Cut(environ[i], "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

func cleanEnv(environ []string) []string {
	env := append(pick(environ, letThrough),
		"LC_ALL=C",
		"GIT_TERMINAL_PROMPT=0",
		"GCM_INTERACTIVE=never",
		"GIT_PAGER=cat",
		"GIT_EDITOR=false",
		"GIT_NO_REPLACE_OBJECTS=1",
		// A filter started as "python -m …" must not import from the folder
		// that an agent wrote.
		"PYTHONSAFEPATH=1",
		"GIT_CONFIG_COUNT="+strconv.Itoa(len(forced)),
	)
	for i, kv := range forced {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+kv[0], "GIT_CONFIG_VALUE_"+n+"="+kv[1])
	}
	return env
}

// ErrNoGit says that there is no git on the PATH.
var ErrNoGit = errors.New("git is not installed or not on the PATH; Forge needs git 2.39 or later")

func lookGit(environ []string) (string, error) {
	paths, _ := lookEnv(environ, "PATH")
	for _, dir := range filepath.SplitList(paths) {
		if !filepath.IsAbs(dir) {
			continue // "." on the PATH must not find a git in the project
		}
		name := filepath.Join(dir, "git")
		if info, err := os.Stat(name); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return name, nil
		}
	}
	return "", ErrNoGit
}

// VersionError is a git that is too old, or whose version is not understood.
type VersionError struct{ Found string }

// Error names the version found and the one that is needed.
func (e *VersionError) Error() string {
	return fmt.Sprintf("git is %q; Forge needs git 2.39 or later", e.Found)
}

var versionLine = text.Lazy(`^git version (\d+)\.(\d+)`)

// Probe checks that git is installed and 2.39 or later. Errors: ErrNoGit, *VersionError.
func Probe(ctx context.Context) error { return probe(ctx, os.Environ()) }

func probe(ctx context.Context, environ []string) error {
	r, err := newRunner(environ)
	if err != nil {
		return err
	}
	res, err := r.run(ctx, call{args: []string{"version"}})
	if err != nil {
		var exit *exec.Error
		if errors.As(err, &exit) {
			return fmt.Errorf("%w (%w)", ErrNoGit, err)
		}
		return err
	}
	m := versionLine().FindStringSubmatch(res.line())
	if m == nil {
		return &VersionError{Found: res.line()}
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < 2 || major == 2 && minor < 39 {
		return &VersionError{Found: strings.TrimPrefix(res.line(), "git version ")}
	}
	return nil
}
