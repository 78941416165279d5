package web

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	definedAt = regexp.MustCompile(`\{\{define "([^"]+)"\}\}`)
	morphedBy = regexp.MustCompile(`hx-swap="(?:inner|outer)Morph"[^>]*>\s*\{\{template "([^"]+)"`)
	usedIn    = regexp.MustCompile(`\{\{template "([^"]+)"`)
	formTag   = regexp.MustCompile(`<form [^>]*>`)
)

// Where a page changes around what is under the mouse, one form never becomes another
// one: whoever pressed the button of one would let go of it on the other. A form with an
// id becomes none with another id.
func TestFormsDoNotBecomeOthers(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(pageFiles, "pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	shared := templatesOf(t, "pages/parts.html")
	seen := 0
	for _, file := range files {
		own := maps.Clone(shared)
		maps.Copy(own, templatesOf(t, file))
		due, done := []string{}, map[string]bool{}
		for _, text := range templatesOf(t, file) {
			for _, m := range morphedBy.FindAllStringSubmatch(text, -1) {
				due = append(due, m[1])
			}
		}
		for len(due) > 0 {
			name := due[0]
			if due = due[1:]; done[name] {
				continue
			}
			done[name] = true
			for _, m := range usedIn.FindAllStringSubmatch(own[name], -1) {
				due = append(due, m[1])
			}
			for _, form := range formTag.FindAllString(own[name], -1) {
				seen++
				if !strings.Contains(form, ` id="`) {
					t.Errorf("%s, %s: a form without an id: %s", file, name, form)
				}
			}
		}
		if slices.Contains([]string{"pages/run.html", "pages/issue.html", "pages/cockpit.html", "pages/companion.html"}, file) && len(done) == 0 {
			t.Errorf("%s: no part was found that changes while it is looked at", file)
		}
	}
	if seen < 7 {
		t.Errorf("%d forms were looked at", seen)
	}
}

// templatesOf are the templates that a file defines, by name.
func templatesOf(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := fs.ReadFile(pageFiles, file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	text := string(data)
	at := definedAt.FindAllStringSubmatchIndex(text, -1)
	for n, m := range at {
		end := len(text)
		if n+1 < len(at) {
			end = at[n+1][0]
		}
		out[text[m[2]:m[3]]] = text[m[1]:end]
	}
	return out
}
