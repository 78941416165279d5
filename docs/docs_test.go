package docs

import (
	"slices"
	"testing"
)

func TestAnchors(t *testing.T) {
	names := Anchors{}
	for _, c := range []struct{ heading, want string }{
		{"Limits", "limits"},
		{" Promotion: when is an issue done?\n", "promotion-when-is-an-issue-done"},
		{"`[agents.<name>]`", "agentsname"},
		{"todos.yaml", "todosyaml"},
		{"allow_red_baseline", "allow_red_baseline"},
		{"Limits", "limits-1"},
		{"Über größe", "über-größe"},
	} {
		if got := names.Of(c.heading); got != c.want {
			t.Errorf("%q is linked as %q, want %q", c.heading, got, c.want)
		}
	}
}

func TestPages(t *testing.T) {
	names := Names()
	if !slices.Contains(names, Index) || !slices.Contains(names, "tutorial") || !slices.IsSorted(names) {
		t.Errorf("the pages are %q", names)
	}
	text, ok := Page("levels")
	if !ok || Title(text) != "Levels: where you are asked" {
		t.Errorf("the page on levels is called %q", Title(text))
	}
	for _, name := range []string{"", "nothing", "../README", "docs.go", "levels.md"} {
		if _, ok := Page(name); ok {
			t.Errorf("there is a page %q", name)
		}
	}
}
