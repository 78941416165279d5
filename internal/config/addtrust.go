package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	texts "forge/internal/text"
)

// AddTrust returns a user configuration that also grants the named variables to
// the commands of the project at root, lets it work in the checkouts at the named
// paths, and lets secrets that any project names go to the named hosts. Text and comments stay as they are; only an entry that
// is there already cannot be added to.
func AddTrust(text, root string, names []string) (string, error) {
	var variables, hosts, paths []string
	for _, s := range names {
		switch {
		case TrustsPath(s):
			paths = append(paths, quoteString(trustedPath(root, s)))
		case TrustsHost(s):
			hosts = append(hosts, quoteString(s))
		case s == "" || strings.ContainsAny(s, "= \t\n\"'./:"):
			return "", fmt.Errorf("%q is neither the name of a variable, nor a host, nor a path", texts.Clip(s, mostQuoted))
		default:
			variables = append(variables, quoteString(s))
		}
	}
	var said struct {
		Trust struct {
			Projects map[string]any `toml:"projects"`
			Hosts    []string       `toml:"hosts"`
		} `toml:"trust"`
	}
	if _, err := toml.Decode(text, &said); err != nil {
		return "", fmt.Errorf("it is broken: %w", err)
	}
	_, there := said.Trust.Projects[filepath.Clean(root)]
	switch {
	case there && len(variables)+len(paths) > 0:
		return "", errors.New("it has an entry for this project already")
	case said.Trust.Hosts != nil && len(hosts) > 0:
		return "", errors.New("it has a list of trusted hosts already")
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if len(hosts) > 0 {
		text += fmt.Sprintf("\n[trust]\nhosts = [%s]\n", strings.Join(hosts, ", "))
	}
	if len(variables)+len(paths) > 0 {
		text += fmt.Sprintf("\n[trust.projects.%s]\n", quoteString(filepath.Clean(root)))
		if len(variables) > 0 {
			text += fmt.Sprintf("env = [%s]\n", strings.Join(variables, ", "))
		}
		if len(paths) > 0 {
			text += fmt.Sprintf("repositories = [%s]\n", strings.Join(paths, ", "))
		}
	}
	if _, err := toml.Decode(text, &said); err != nil {
		return "", fmt.Errorf("adding to it breaks it: %w", err)
	}
	return text, nil
}

// TrustsHost says that a name given to forge trust is a host, not a variable:
// it has a dot or a colon, which no variable has.
func TrustsHost(name string) bool {
	return strings.ContainsAny(name, ".:") && hostName().MatchString(name)
}

// TrustsPath says that a name given to forge trust is the path of a checkout: it is
// absolute, or says from where it leads.
func TrustsPath(name string) bool {
	return strings.HasPrefix(name, "/") || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "~/")
}

// trustedPath is the path of a checkout as it is written down: one that is relative
// leads from the root of the project, as in its own file.
func trustedPath(root, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~/") {
		return filepath.Clean(path)
	}
	return filepath.Join(root, path)
}
