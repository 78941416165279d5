package text

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// hiddenComment matches what a Markdown or HTML page does not show.
var hiddenComment = lazy(`(?s)<!--.*?(-->|\z)`)

// lazy compiles an expression when it is first needed.
func lazy(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// Reveal removes what a person would not see in text, and says how many
// hidden comments and invisible characters that were.
func Reveal(text string) (seen string, hidden int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	seen = hiddenComment().ReplaceAllStringFunc(text, func(string) string {
		hidden++
		return ""
	})
	seen = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', r == '\uFE0F': // line ends and the look of emoji hide nothing
			return -1
		case Invisible(r):
			hidden++
			return -1
		}
		return r
	}, seen)
	return seen, hidden
}

// Invisible says that nobody sees r, or that it changes how others are seen:
// control characters (white space too), those that join, part and turn text
// round, tags, variants and private ones.
func Invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co) || r >= 0xE0000 && r <= 0xE01EF || r >= 0xFE00 && r <= 0xFE0F
}

// IsWord says that r is a letter or a digit of any script.
func IsWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
