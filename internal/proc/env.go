package proc

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// passed are the variables that BaseEnv lets through: where things are, who
// runs them, how text looks, and how to reach the network. Proxy variables may
// hold a password; without them many a network cannot be reached at all.
var passed = [...]string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TERM", "TMPDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "GIT_SSL_CAINFO",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// BaseEnv picks from environ what every child may see: a fixed list of plain
// variables, LC_*, and names. A variable with a SecretName passes only when
// names has it, which is the caller's decision. Of a variable that stands
// there twice the last one counts; entries without "=" are dropped.
func BaseEnv(environ, names []string) []string {
	at := map[string]int{}
	var out []string
	for _, kv := range environ {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || name == "" || !mayPass(name, names) {
			continue
		}
		if i, seen := at[name]; seen {
			out[i] = kv
			continue
		}
		at[name] = len(out)
		out = append(out, kv)
	}
	return out
}

func mayPass(name string, names []string) bool {
	if slices.Contains(names, name) {
		return true
	}
	if SecretName(name) {
		return false
	}
	return strings.HasPrefix(name, "LC_") || slices.Contains(passed[:], name)
}

// SecretName says that a variable of that name holds a secret: it contains
// KEY, TOKEN, SECRET, PASSW or CREDENTIAL, in any case.
func SecretName(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range [...]string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// lookup returns the value of name in env; the last one counts, as in exec.
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			return v
		}
	}
	return ""
}

// marked returns env with the mark in front, where a search finds it first,
// and every name once.
func marked(env []string, variable, mark string) []string {
	out := make([]string, 0, len(env)+1)
	out = append(out, variable+"="+mark)
	at := map[string]int{variable: -1}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch i, seen := at[name]; {
		case !seen:
			at[name] = len(out)
			out = append(out, kv)
		case i > 0:
			out[i] = kv
		}
	}
	return out
}

func setenv(env []string, name, value string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(env, name+"="+value)
}

// lookPath finds the program as the child itself would. Empty and relative
// entries of PATH are passed over: they would run whatever lies in the folder
// that the agent writes.
func lookPath(path, dir string, env []string) (string, error) {
	switch {
	case path == "":
		return "", fmt.Errorf("no program is named: %w", exec.ErrNotFound)
	case filepath.IsAbs(path):
		return path, nil
	case strings.Contains(path, "/"):
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("relative program in the relative folder %q", dir)
		}
		return filepath.Join(dir, path), nil
	}
	for _, d := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(d) {
			continue
		}
		full := filepath.Join(d, path)
		if fi, err := os.Stat(full); err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%q is not in PATH: %w", path, exec.ErrNotFound)
}

// InPath says that a folder of PATH holds a file of a program's name; the last PATH
// of environ counts.
func InPath(environ []string, program string) bool {
	all := ""
	for _, e := range environ {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			all = value
		}
	}
	return slices.ContainsFunc(filepath.SplitList(all), func(dir string) bool {
		info, err := os.Stat(filepath.Join(dir, program))
		return err == nil && !info.IsDir()
	})
}
