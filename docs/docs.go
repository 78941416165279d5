// Package docs holds the pages of this folder as they are in the program.
package docs

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

//go:embed *.md
var files embed.FS

// Index is the page that leads to all others.
const Index = "README"

// Page is the Markdown of a page, by its file's name without .md. false: there
// is no such page.
func Page(name string) (markdown string, ok bool) {
	data, err := files.ReadFile(name + ".md")
	return string(data), err == nil
}

// Names are those of all pages, in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		return nil // the folder is in the program: it can be read
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".md"))
	}
	slices.Sort(names)
	return names
}

// Title is what a page is called: the text of its first line without its mark.
func Title(markdown string) string {
	line, _, _ := strings.Cut(markdown, "\n")
	return strings.TrimSpace(strings.TrimLeft(line, "#"))
}

// Anchors gives the headings of one page the names by which they are linked,
// from the first to the last. The zero value needs make.
type Anchors map[string]int

// Of is the name of the next heading, as code hosts make it: small letters,
// digits, and hyphens for spaces. The second of a name gets -1.
func (a Anchors) Of(heading string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
	n := a[name]
	a[name]++
	if n > 0 {
		return fmt.Sprintf("%s-%d", name, n)
	}
	return name
}
