package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/gobwas/glob"

	texts "forge/internal/text"
)

func compileGlob(text string, separators ...rune) (*glob.Pattern, error) {
	g, err := glob.Compile(text, separators...)
	if err != nil {
		return nil, fmt.Errorf("compile %q: %s", texts.Clip(text, mostQuoted), strings.TrimPrefix(err.Error(), "glob: "))
	}
	return g, nil
}

// Matcher tells whether a path below the checkout matches one of several
// globs. They read as in .gitignore: without a slash a glob means any folder,
// a leading slash means the top, ** crosses folders, and what names a folder
// covers everything below it. The zero value matches nothing.
type Matcher struct{ globs []*glob.Pattern }

// NewMatcher compiles path globs. It refuses the empty glob, absolute ones and
// those that leave the checkout.
func NewMatcher(globs []string) (Matcher, error) {
	var m Matcher
	for _, text := range globs {
		if what := checkPathGlob(text); what != "" {
			return Matcher{}, fmt.Errorf("glob %q: %s", texts.Clip(text, mostQuoted), what)
		}
		for _, form := range pathForms(text) {
			g, err := compileGlob(form, '/')
			if err != nil {
				return Matcher{}, err
			}
			m.globs = append(m.globs, g)
		}
	}
	return m, nil
}

// Match takes a path with slashes, relative to the checkout.
func (m Matcher) Match(file string) bool {
	file = path.Clean(file)
	for _, g := range m.globs {
		if g.Match(file) {
			return true
		}
	}
	return false
}

// pathForms spells a .gitignore-like glob out for a library in which ** needs
// its slashes and nothing implies what is below a folder.
func pathForms(text string) []string {
	anchored := strings.Contains(strings.TrimSuffix(text, "/"), "/")
	text = strings.TrimSuffix(strings.TrimPrefix(text, "/"), "/")
	forms := []string{text}
	if !anchored {
		forms = append(forms, "**/"+text)
	}
	if rest, ok := strings.CutPrefix(text, "**/"); ok {
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

// checkPathGlob says what is wrong with a path glob; "" is nothing.
func checkPathGlob(text string) string {
	switch {
	case strings.Trim(text, "/") == "":
		return "it is empty"
	case len(text) > maxGlobBytes:
		return fmt.Sprintf("it is longer than %d bytes", maxGlobBytes)
	case strings.Contains(text, `\`) && !strings.ContainsAny(text, "*?[{"):
		return "it contains a backslash"
	}
	for _, part := range strings.Split(text, "/") {
		if part == ".." {
			return "it leaves the checkout"
		}
	}
	for _, form := range pathForms(text) {
		if _, err := compileGlob(form, '/'); err != nil {
			return err.Error()
		}
	}
	return ""
}
