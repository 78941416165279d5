package config

import (
	"path/filepath"
	"strings"
	"testing"
)

// A checkout of somebody else has nothing sent out: where the project alone names the
// service, it has to be on this machine or at a host that the user trusts.
func TestEmbedding(t *testing.T) {
	const role = "roles = { embedding = \"vectors\" }\n"
	for name, tc := range map[string]struct {
		user, project string
		want, says    string
	}{
		"none":                    {project: "[llm]\nbase_url = \"https://models.example/v1\"\nmodel = \"m\"\n"},
		"the project's, far away": {project: "[llm]\nbase_url = \"https://models.example/v1\"\n" + role, says: "models.example"},
		"the project's, here":     {project: "[llm]\nbase_url = \"http://127.0.0.1:9/v1\"\n" + role, want: "vectors"},
		"the user's":              {user: "[llm]\nbase_url = \"https://models.example/v1\"\n" + role, want: "vectors"},
		"both":                    {user: "[llm]\nbase_url = \"https://models.example/v1\"\n", project: "[llm]\nbase_url = \"https://models.example/v2\"\n" + role, want: "vectors"},
		"another than the user's": {user: "[llm]\nbase_url = \"https://models.example/v1\"\n", project: "[llm]\nbase_url = \"https://other.example/v1\"\n" + role, says: "other.example"},
		"trusted":                 {user: "[trust]\nhosts = [\"models.example\"]\n", project: "[llm]\nbase_url = \"https://models.example/v1\"\n" + role, want: "vectors"},
		"no service":              {user: "[llm]\n" + role, says: "no service"},
	} {
		user := filepath.Join(t.TempDir(), "config.toml")
		write(t, user, tc.user)
		c, _, err := Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: tc.project}), UserFile: user})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := c.Embedding()
		if got.Model != tc.want || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %+v, %v; want %q, %q", name, got, err, tc.want, tc.says)
		}
		if got.Model != "" && (got.DayTokens != 10_000_000 || got.Numbers != 0) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
