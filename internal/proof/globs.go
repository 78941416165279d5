package proof

import (
	"fmt"
	"path"
	"strings"

	"github.com/gobwas/glob"
)

// matcher tells whether a path matches one of several globs, which read as in
// .gitignore: without a slash any folder, ** crosses folders, and what names a
// folder covers everything below it.
type matcher struct{ globs []*glob.Pattern }

func newMatcher(globs []string) (matcher, error) {
	var m matcher
	for _, one := range globs {
		if strings.Trim(one, "/") == "" {
			return matcher{}, fmt.Errorf("compile glob %q: it is empty", one)
		}
		for _, form := range globForms(one) {
			g, err := glob.Compile(form, '/')
			if err != nil {
				return matcher{}, fmt.Errorf("compile glob %q: %s", one, strings.TrimPrefix(err.Error(), "glob: "))
			}
			m.globs = append(m.globs, g)
		}
	}
	return m, nil
}

func (m matcher) match(file string) bool {
	for _, g := range m.globs {
		if g.Match(file) {
			return true
		}
	}
	return false
}

// globForms spells a glob out for a library in which ** needs its slashes and
// nothing implies what is below a folder.
func globForms(one string) []string {
	anchored := strings.Contains(strings.TrimSuffix(one, "/"), "/")
	one = strings.TrimSuffix(strings.TrimPrefix(one, "/"), "/")
	forms := []string{one}
	if !anchored {
		forms = append(forms, "**/"+one)
	}
	if rest, ok := strings.CutPrefix(one, "**/"); ok {
		forms = append(forms, rest)
	}
	for _, f := range forms[:len(forms):len(forms)] {
		if strings.Contains(f, "/**/") {
			forms = append(forms, strings.ReplaceAll(f, "/**/", "/"))
		}
	}
	for _, f := range forms[:len(forms):len(forms)] {
		if !strings.HasSuffix(f, "**") {
			forms = append(forms, f+"/**")
		}
	}
	return forms
}

// runnerGlob makes a pattern of a runner's own settings ours: ?(x), @(a|b) and
// *(x) of extended globs become alternatives.
func runnerGlob(one string) string {
	one = strings.TrimPrefix(strings.TrimPrefix(one, "<rootDir>"), "/")
	one = strings.TrimPrefix(one, "./")
	var b strings.Builder
	for i := 0; i < len(one); i++ {
		c := one[i]
		if strings.IndexByte("?@+*", c) < 0 || i+1 >= len(one) || one[i+1] != '(' {
			b.WriteByte(c)
			continue
		}
		end := strings.IndexByte(one[i:], ')')
		if end < 0 {
			b.WriteByte(c)
			continue
		}
		choices := strings.ReplaceAll(one[i+2:i+end], "|", ",")
		if c == '?' || c == '*' {
			choices += ","
		}
		b.WriteString("{" + choices + "}")
		i += end
	}
	return b.String()
}

// clean makes a path of the tree of what a file names, "" when it leads out.
func clean(name string) string {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if name == "." || name == ".." || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") {
		return ""
	}
	return name
}
