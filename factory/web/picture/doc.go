// Package picture draws graphs and plots as SVG: pure functions from values to
// text that a page may hold as it is. Colours are classes of the page's style
// sheet, and every state is also said in words and by a sign.
package picture

import (
	"fmt"
	"html"
	"strings"
)

// canvas collects the elements of one picture.
type canvas struct{ strings.Builder }

// add writes a format in which %s is always escaped text.
func (c *canvas) add(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(clean(s))
		}
	}
	fmt.Fprintf(c, format, args...)
}

// clean drops what XML does not allow and a person does not see.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 || r == '\uFFFE' || r == '\uFFFF' {
			return '\uFFFD'
		}
		if r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '\uFFFD' // would turn the text around
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// short is the beginning of s, at most n characters.
func short(s string, n int) string {
	r := []rune(strings.Join(strings.Fields(clean(s)), " "))
	if len(r) <= n {
		return string(r)
	}
	return strings.TrimRight(string(r[:n-1]), " ") + "…"
}
