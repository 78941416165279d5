package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"forge/internal/text"
)

// UserFile is where the user's configuration stands:
// $XDG_CONFIG_HOME/forge/config.toml, else ~/.config/forge/config.toml; ""
// where there is no home.
func UserFile(environ []string) string {
	env := environment(environ)
	switch {
	case filepath.IsAbs(env["XDG_CONFIG_HOME"]):
		return filepath.Join(env["XDG_CONFIG_HOME"], "forge", "config.toml")
	case filepath.IsAbs(env["HOME"]):
		return filepath.Join(env["HOME"], ".config", "forge", "config.toml")
	}
	return ""
}

// StateDir is the state folder of the project whose checkout is root:
// $FORGE_STATE_DIR, else $XDG_STATE_HOME/forge/<project>, else
// ~/.local/state/forge/<project>. It is never inside the checkout, where an
// agent would see it. <project> tells checkouts of the same name apart. The
// error is *Problems.
func StateDir(environ []string, root string) (string, error) {
	env := environment(environ)
	refuse := func(name, what, fix string) (string, error) {
		return "", &Problems{List: []Problem{{File: name, What: what, Fix: fix}}}
	}
	abs, err := filepath.Abs(root)
	if err != nil {
		return refuse(root, "cannot be made absolute: "+cause(err), "name the root of a checkout")
	}
	project := ProjectID(abs)
	source, dir := "FORGE_STATE_DIR", env["FORGE_STATE_DIR"]
	switch {
	case dir != "":
		if !filepath.IsAbs(dir) {
			return refuse(source, fmt.Sprintf("%q is not an absolute path", text.Clip(dir, mostQuoted)), "begin it with /")
		}
	case filepath.IsAbs(env["XDG_STATE_HOME"]):
		source, dir = "XDG_STATE_HOME", filepath.Join(env["XDG_STATE_HOME"], "forge", project)
	case filepath.IsAbs(env["HOME"]):
		source, dir = "HOME", filepath.Join(env["HOME"], ".local", "state", "forge", project)
	default:
		return refuse("HOME", "is not set: there is no place for the state folder", "set FORGE_STATE_DIR to a folder outside the repository")
	}
	dir = filepath.Clean(dir)
	if within(resolved(dir), resolved(abs)) {
		return refuse(source, fmt.Sprintf("puts the state folder %s into the checkout, where agents see it", dir), "set FORGE_STATE_DIR to a folder outside the repository")
	}
	return dir, nil
}

// ProjectID names a checkout: its folder's name and a hash of its whole path,
// so that two checkouts of one name do not share a state folder.
func ProjectID(root string) string {
	sum := sha256.Sum256([]byte(resolved(root)))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, filepath.Base(root))
	if len(name) > 60 {
		name = name[:60]
	}
	return name + "-" + hex.EncodeToString(sum[:4])
}

// resolved follows the links of the longest part of a path that exists, so
// that two names of one folder compare equal.
func resolved(path string) string {
	path = filepath.Clean(path)
	rest := ""
	for {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Join(real, rest)
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest)
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}

func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
