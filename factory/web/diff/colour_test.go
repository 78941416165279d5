package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/chroma/v2"
)

// Every lexer can be read, and colours something of a text in its language.
func TestLexers(t *testing.T) {
	t.Parallel()
	files, err := lexerFiles.ReadDir("lexers")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if _, err := chroma.NewXMLLexer(lexerFiles, "lexers/"+f.Name()); err != nil {
			t.Errorf("%s: %v", f.Name(), err)
		}
	}
	if got := len(lexers().Names(false)); got != len(files) {
		t.Errorf("%d of %d lexers are registered", got, len(files))
	}
	for path, want := range map[string]struct{ text, class, piece string }{
		"a/main.go":     {"package x // why\n\nfunc f() string { return `a` }\n", "tc", "// why"},
		"b.go":          {"var s = \"func \\\" x\" + 'a'\n", "ts", "\"func \\\" x\""},
		"c.go":          {"/* one\ntwo */ func f() {}\n", "tc", "two */"},
		"go.mod":        {"module forge\n", "tk", "module"},
		"README.md":     {"# Title\n\ntext\n", "tf", "# Title"},
		"NOTES.md":      {"a\n```go\nx := 1\n```\nb\n", "ts", "x := 1"},
		"x.py":          {"def f():\n  return 'a'\n", "tk", "def"},
		"index.html":    {"<p>a</p><script>var x = 1</script>", "tk", "var"},
		"index.php":     {"<?php\nfunction f() { return 1; }\n", "tk", "function"},
		"Dockerfile":    {"FROM scratch\n", "tk", "FROM"},
		"ci.yml":        {"on: push # always\n", "tc", "# always"},
		"a.ts":          {"const a: string = 'x'\n", "tk", "const"},
		"Makefile":      {"# all\nall:\n\techo a\n", "tc", "# all"},
		"q.sql":         {"SELECT 1 -- one\n", "tk", "SELECT"},
		"lib.rs":        {"fn main() {}\n", "tk", "fn"},
		"a.cs":          {"// c\nclass A {}\n", "tc", "// c"},
		"main.tf":       {"# c\nresource \"a\" \"b\" {}\n", "tc", "# c"},
		"App.vue":       {"<template><b>a</b></template>\n", "tf", "b"},
		"settings.json": {"{\"a\": 12}\n", "tn", "12"},
	} {
		lines, ok := colour(path, []byte(want.text))
		found := slices.ContainsFunc(lines, func(line []piece) bool {
			return slices.ContainsFunc(line, func(p piece) bool {
				return p.class == want.class && strings.TrimSpace(p.text) == want.piece
			})
		})
		if !ok || !found {
			t.Errorf("%s: no %s %q in %+v", path, want.class, want.piece, lines)
		}
		var whole []string
		for _, line := range lines {
			whole = append(whole, join(line))
		}
		if got := strings.Join(whole, "\n"); got != want.text {
			t.Errorf("%s: the text became %q, was %q", path, got, want.text)
		}
	}
}
