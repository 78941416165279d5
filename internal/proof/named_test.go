package proof

import (
	"slices"
	"strings"
	"testing"
)

func TestNamedBy(t *testing.T) {
	m := survey1(t, memory{"go.mod": "module me\n", "calc.go": "package me\n", "calc_test.go": "package me\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) {}\n", "lib/known.txt2": ""})
	sources := map[string][]byte{
		"units/units.go": []byte("package units\n\nimport _ \"embed\"\n\n//go:embed all:units.json tables/*.csv \"deep\"\nvar x string\n\n// In a comment: \"said.json\".\nvar y = \"read.json\"\n"),
		"main.go":        []byte("package main\n\nvar settings = \"tool.json\"\n\n//go:embed own.toml\nvar own string\n"),
	}
	for _, c := range []struct {
		files string
		by    string // "" = none
	}{
		{"units/units.json units/tables/a.csv units/deep/b.yaml units/deep/er/c.json units/read.json", "units/units.go"},
		{"own.toml", "main.go"},
		{"units/other.json units/tables/more/a.csv units/said.json tool.json read.json units/units.json.js units/Makefile units/testdata/units.json units/package.json tests/own.toml", ""},
	} {
		for _, file := range strings.Fields(c.files) {
			seen, ok := m.NamedBy(file, sources)
			if ok != (c.by != "") || ok && (seen.Class != Product || !strings.HasPrefix(seen.Why, c.by+" ")) {
				t.Errorf("%s: %v by %+v, want %q", file, ok, seen, c.by)
			}
		}
	}
}

// What is embedded is read the same for the trusted state and for what is new.
func TestEmbedded(t *testing.T) {
	got := embedded("a/b.go", []byte("package a\n//go:embed x.txt `y` ../up all:d *\n/* //go:embed no */\nvar s = \"//go:embed not\"\n//go:embedded nor\n"))
	if want := []string{"a/x.txt", "a/y", "up", "a/d", "a/*"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
