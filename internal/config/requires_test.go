package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// What a phase requires is what the project does and what the overrides of its name
// add; a word that cannot stand in a queue's name is refused with its line.
func TestRequires(t *testing.T) {
	load := func(text string) (*Config, error) {
		t.Helper()
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, ".forge"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(ProjectFile)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := Load(Sources{ProjectDir: dir})
		return cfg, err
	}
	cfg, err := load("[defaults]\nrequires = [\"docker\"]\n[phases.overrides.\"train*\"]\nrequires = [\"gpu\", \"docker\"]\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"": {"docker"}, "01": {"docker"}, "02": {"docker", "gpu"}}
	if got := cfg.Requires(map[string]string{"01": "parse", "02": "train it"}); !reflect.DeepEqual(got, want) {
		t.Errorf("requires %v, want %v", got, want)
	}
	for text, line := range map[string]string{
		"[defaults]\nrequires = [\"a b\"]\n":                         "forge.toml:2",
		"[phases.overrides.\"x\"]\n\nrequires = [\"ok\", \"UP+\"]\n": "forge.toml:3",
	} {
		if _, err := load(text); err == nil || !strings.Contains(err.Error(), line) || !strings.Contains(err.Error(), "name of a queue") {
			t.Errorf("%q: %v, want %s", text, err, line)
		}
	}
}
