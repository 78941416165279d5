package proc

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// linksRead bounds how many entries of a folder of PATH are looked at for links
// that lead out of it.
const linksRead = 500

// addPath shows the programs of PATH that lie outside the system's folders:
// each folder itself; with a bin folder also its parent, where an installation
// keeps what its programs need; and where the links in it lead.
func (v *view) addPath(path string) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		dir = filepath.Clean(dir)
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || v.keeps(dir) {
			continue
		}
		v.addTool(dir)
		if filepath.Base(filepath.Dir(dir)) == ".cargo" {
			// The programs there are rustup's, which keeps the real ones
			// beside it.
			v.addTool(filepath.Join(filepath.Dir(filepath.Dir(dir)), ".rustup"))
		}
		entries, _ := os.ReadDir(dir)
		for _, e := range entries[:min(len(entries), linksRead)] {
			if e.Type() != fs.ModeSymlink {
				continue
			}
			real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name()))
			if err != nil || v.keeps(real) {
				continue
			}
			if v.addTool(filepath.Dir(real)); !v.keeps(real) {
				v.set(real, system)
			}
		}
	}
}

// keeps says that nothing is to be added for path: it is in sight already, or
// it was asked to be hidden.
func (v *view) keeps(path string) bool { return v.sees(path) || v.kind(path) == hidden }

// addTool shows the installation that dir belongs to, as far as it can be told
// from the rest of a home: dir's parent when dir is called bin or the like, else
// dir, each unless it holds more than programs.
func (v *view) addTool(dir string) {
	if slices.Contains([]string{"bin", "sbin", "shims"}, filepath.Base(dir)) {
		if parent := filepath.Dir(dir); !v.broad(parent) {
			v.set(parent, system)
		}
		// A folder of PATH is shown also where its parent is not.
		v.set(dir, system)
		return
	}
	if !v.broad(dir) {
		v.set(dir, system)
	}
}

// broad says that a folder is more than one installation: a home, a folder that
// many programs share, or one that holds secrets. What cannot be read is broad.
func (v *view) broad(dir string) bool {
	if strings.Count(dir, "/") < 2 || filepath.Dir(dir) == "/home" {
		return true
	}
	for _, home := range v.homes {
		if inside(home, dir) {
			return true
		}
	}
	switch filepath.Base(dir) {
	case ".local", ".config", ".cache", "share", "state", "lib":
		return true
	}
	entries, err := os.ReadDir(dir)
	return err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return secretFile(e.Name()) })
}

// secretFile says that a file of that name is known to hold credentials.
func secretFile(name string) bool {
	switch name {
	case ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".env", ".git-credentials",
		"credentials", "credentials.toml", "credentials.json", ".credentials.json", "auth.json", "id_rsa", "id_ed25519":
		return true
	}
	return strings.HasSuffix(name, ".key")
}
