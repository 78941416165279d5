package work

import (
	"strings"
	"unicode"
)

// OneLine is text as one line without anything that is not seen: white space of
// any length is a space, and control and formatting characters are left out.
func OneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co):
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(text), " ")
}
