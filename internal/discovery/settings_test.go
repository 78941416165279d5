package discovery

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"forge/internal/config"
)

func load(t *testing.T, user string, flags ...config.Setting) *config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(user), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _, err := config.Load(config.Sources{ProjectDir: t.TempDir(), UserFile: file, Flags: flags})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// What was found holds where nobody has said anything, whole: commands keep
// their commas.
func TestFoundSettings(t *testing.T) {
	found := Found{
		Agent: Agent{Name: "codex", Kind: "codex"},
		Commands: config.Proposal{
			Verify: []config.Command{{Run: "tests --only a,b"}, {Run: "lint"}}, Setup: []config.Command{{Run: "fetch"}}, CacheKey: []string{"lock"},
		},
	}
	tests := []struct {
		about, user   string
		agent         string
		verify, setup []string
		key           []string
	}{
		{"nothing said", "", "codex", []string{"tests --only a,b", "lint"}, []string{"fetch"}, []string{"lock"}},
		{"an agent", "[agent]\nuse = \"gemini\"\n", "gemini", []string{"tests --only a,b", "lint"}, []string{"fetch"}, []string{"lock"}},
		{"tests", "[verify]\ncommands = [\"mine\"]\n", "codex", []string{"mine"}, []string{"fetch"}, []string{"lock"}},
		{"setup", "[worktree]\nsetup = [\"own\"]\n", "codex", []string{"tests --only a,b", "lint"}, []string{"own"}, []string{}},
		{"no proof wanted", "[verify]\nnone = true\n", "codex", []string{}, []string{"fetch"}, []string{"lock"}},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			f := load(t, tt.user, found.Settings(load(t, tt.user))...).File
			same := func(what string, got, want []string) {
				t.Helper()
				if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %q, want %q", what, got, want)
				}
			}
			if got := f.Agent.Use.First(); got != tt.agent {
				t.Errorf("agent %q, want %q", got, tt.agent)
			}
			same("verify", f.Verify.Commands, tt.verify)
			same("setup", f.Worktree.Setup, tt.setup)
			same("cache key", f.Worktree.CacheKey, tt.key)
		})
	}
}

func TestInside(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{root: "", deep: "a/b", t.TempDir(): "", filepath.Join(root, "gone"): ""} {
		if got := Inside(dir, root); got != want {
			t.Errorf("Inside(%s) = %q, want %q", dir, got, want)
		}
	}
}
