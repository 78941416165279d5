package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The configuration of the examples is one that Forge takes, on its own and in the
// manifests, and names no variable that they do not set.
func TestExamplesOfManyMachinesAreConfigured(t *testing.T) {
	example := func(name string) string {
		text, err := os.ReadFile("../../examples/many/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	manifest := example("kubernetes.yaml")
	block := regexp.MustCompile(`(?m)^  config\.toml: \|\n((?:    .*\n|\n)+)`).FindStringSubmatch(manifest)
	if block == nil {
		t.Fatal("kubernetes.yaml has no config.toml")
	}
	inside := regexp.MustCompile(`(?m)^    `).ReplaceAllString(block[1], "")
	for name, c := range map[string]struct{ text, sets string }{
		"config.toml": {example("config.toml"), example("compose.yaml")}, "kubernetes.yaml": {inside, manifest},
	} {
		user := filepath.Join(t.TempDir(), "config.toml")
		if err := os.WriteFile(user, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, warnings, err := Load(Sources{ProjectDir: t.TempDir(), UserFile: user})
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, err, warnings)
			continue
		}
		variable := cfg.File.Store.URLEnv
		if variable == nil || !strings.Contains(c.sets, *variable+":") {
			t.Errorf("%s: nothing sets the variable of store.url_env", name)
		}
		if kind := cfg.File.Engine.Kind; kind == nil || *kind != "temporal" {
			t.Errorf("%s: the engine is not temporal", name)
		}
		if objects := cfg.File.Engine.Objects; objects == nil || *objects != "origin" {
			t.Errorf("%s: commits do not come to the other machines", name)
		}
	}
}
