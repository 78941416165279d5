package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// project is a checkout with these files below it.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	return dir
}

// load loads a project whose forge.toml is text.
func load(t testing.TB, text string) (*Config, []Warning, error) {
	t.Helper()
	return Load(Sources{ProjectDir: project(t, map[string]string{ProjectFile: text})})
}

func kindFacts() Facts {
	return Facts{Kinds: []KindFacts{{Name: "claude", Continues: true, ReportsCost: true}, {Name: "exec"}, {Name: "script", ReportsCost: true}}}
}

func typeOfFile() reflect.Type { return reflect.TypeFor[File]() }

// configOf loads a user's file from memory: the same path as Load without files.
func configOf(col *collector, text string) *Config {
	cfg := &Config{Root: "/", origins: map[string]string{}}
	l := &layer{kind: layerUser, file: "config.toml"}
	cfg.layers = []*layer{defaultLayer(col), l}
	tree, index, problem := decodeTOML(text)
	if problem != nil {
		col.problems = append(col.problems, *problem)
		return cfg
	}
	l.index = index
	b := &binder{collector: col, layer: l}
	b.table(tree, reflect.ValueOf(&l.said).Elem(), nil)
	cfg.merge()
	cfg.mapDeprecated(col)
	cfg.crossCheck(col)
	return cfg
}

func stripOrigins(c *Config) string {
	var b strings.Builder
	for _, l := range c.Show() {
		b.WriteString(l.Key + " = " + l.Value + "\n")
	}
	return b.String()
}

func hasNaN(text string) bool { return strings.Contains(text, "nan") }
