// Package pathglob matches paths with slashes against globs that read as in
// .gitignore: without a slash a glob means any folder, a leading slash means the
// top, ** crosses folders, and what names a folder covers everything below it.
package pathglob

import (
	"fmt"
	"path"
	"strings"

	"github.com/gobwas/glob"

	"forge/internal/text"
)

// mostQuoted bounds a glob in an error, in runes.
const mostQuoted = 60

// Matcher tells whether a path matches one of several globs. The zero value
// matches nothing.
type Matcher struct{ globs []*glob.Pattern }

// New compiles globs. It refuses the empty one and what cannot be read.
func New(globs []string) (Matcher, error) {
	var m Matcher
	for _, one := range globs {
		if strings.Trim(one, "/") == "" {
			return Matcher{}, fmt.Errorf("compile %q: it is empty", text.Clip(one, mostQuoted))
		}
		for _, form := range forms(one) {
			g, err := glob.Compile(form, '/')
			if err != nil {
				return Matcher{}, fmt.Errorf("compile %q: %s", text.Clip(one, mostQuoted), strings.TrimPrefix(err.Error(), "glob: "))
			}
			m.globs = append(m.globs, g)
		}
	}
	return m, nil
}

// Match takes a path relative to the top.
func (m Matcher) Match(file string) bool {
	file = path.Clean(file)
	for _, g := range m.globs {
		if g.Match(file) {
			return true
		}
	}
	return false
}

// forms spells a glob out for a library in which ** needs its slashes and nothing
// implies what is below a folder.
func forms(one string) []string {
	anchored := strings.Contains(strings.TrimSuffix(one, "/"), "/")
	one = strings.TrimSuffix(strings.TrimPrefix(one, "/"), "/")
	out := []string{one}
	if !anchored {
		out = append(out, "**/"+one)
	}
	if rest, ok := strings.CutPrefix(one, "**/"); ok {
		out = append(out, rest)
	}
	for _, f := range out[:len(out):len(out)] {
		if strings.Contains(f, "/**/") {
			out = append(out, strings.ReplaceAll(f, "/**/", "/"))
		}
	}
	for _, f := range out[:len(out):len(out)] {
		if !strings.HasSuffix(f, "**") {
			out = append(out, f+"/**")
		}
	}
	return out
}
