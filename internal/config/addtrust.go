package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"
)

// AddTrust returns a user configuration that also grants the secrets to the
// commands of the project at root. Text and comments stay as they are; only an
// entry of that project that is there already cannot be added to.
func AddTrust(text, root string, secrets []string) (string, error) {
	for _, s := range secrets {
		if s == "" || strings.ContainsAny(s, "= \t\n\"'") {
			return "", fmt.Errorf("%q is not the name of a variable", clip(s))
		}
	}
	var said struct {
		Trust struct {
			Projects map[string]any `toml:"projects"`
		} `toml:"trust"`
	}
	if _, err := toml.Decode(text, &said); err != nil {
		return "", fmt.Errorf("it is broken: %w", err)
	}
	if _, there := said.Trust.Projects[filepath.Clean(root)]; there {
		return "", errors.New("it has an entry for this project already")
	}
	names := make([]string, len(secrets))
	for i, s := range secrets {
		names[i] = quoteString(s)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	text += fmt.Sprintf("\n[trust.projects.%s]\nenv = [%s]\n", quoteString(filepath.Clean(root)), strings.Join(names, ", "))
	if _, err := toml.Decode(text, &said); err != nil {
		return "", fmt.Errorf("adding to it breaks it: %w", err)
	}
	return text, nil
}
