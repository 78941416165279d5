// Package picture draws graphs and plots as SVG: pure functions from values to
// text that a page may hold as it is. Colours are classes of the page's style
// sheet, and every state is also said in words and by a sign.
package picture

import (
	"fmt"
	"html"
	"strings"

	"forge/internal/text"
)

// canvas collects the elements of one picture.
type canvas struct{ strings.Builder }

// add writes a format in which %s is always escaped text.
func (c *canvas) add(format string, args ...any) {
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = html.EscapeString(text.Harmless(s))
		}
	}
	fmt.Fprintf(c, format, args...)
}
