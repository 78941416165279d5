package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestNetwork(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		user, project string
		on, only      bool
		hosts         []string
		wrong         string
	}{
		{"", "", true, false, nil, ""},
		{"network = false", "", false, false, nil, ""},
		{"", "network = false", false, false, nil, ""},
		{"", `network = ["a.example"]`, false, true, []string{"a.example"}, ""},
		{`network = ["a.example", "*.b.example:443"]`, "", false, true, []string{"a.example", "*.b.example:443"}, ""},
		{`network = ["a.example", "*.b.example"]`, `network = ["x.b.example:443"]`, false, true, []string{"x.b.example:443"}, ""},
		{`network = ["a.example"]`, `network = []`, false, true, nil, ""},
		{`network = ["a.example"]`, `network = false`, false, false, nil, ""},
		{`network = ["a.example"]`, `network = ["a.example", "evil.example"]`, false, false, nil, "2: sandbox.network[1] names evil.example, which your own configuration does not let through"},
		{`network = false`, `network = ["a.example"]`, false, false, nil, "2: sandbox.network[0] names a.example, which your own configuration does not let through"},
		{"", "network = true", false, false, nil, "2: sandbox.network cannot be set by a project"},
		{`network = ["http://a.example"]`, "", false, false, nil, "2: sandbox.network[0] is no host"},
		{`network = "a.example"`, "", false, false, nil, "want true, false or list of strings"},
		{`network = [1]`, "", false, false, nil, "sandbox.network[0] is an integer, want a string"},
	} {
		user := filepath.Join(t.TempDir(), "config.toml")
		write(t, user, "[sandbox]\n"+c.user+"\n")
		cfg, _, err := Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: "[sandbox]\n" + c.project + "\n"}), UserFile: user})
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%q, %q: %v, want %q", c.user, c.project, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q, %q: %v", c.user, c.project, err)
			continue
		}
		set := cfg.SandboxSettings()
		if set.Network != c.on || set.OnlyHosts != c.only || !slices.Equal(set.Hosts, c.hosts) {
			t.Errorf("%q, %q: %+v", c.user, c.project, set)
		}
	}
}
