package orchestrator

import (
	"strings"
	"unicode"

	"forge/internal/work"
)

// hiddenComment matches what a Markdown or HTML page does not show.
var hiddenComment = work.Lazy(`(?s)<!--.*?(-->|\z)`)

// liveTag matches the beginning of any tag that counts as a signal.
var liveTag = work.Lazy(`<(/?)(promise|progress|blocker|pivot|spawn-subphase|spawn_subphase|request-decomposition|checkpoint|job-complete)`)

// inert makes text from elsewhere safe to stand in a prompt: invisible
// characters and hidden comments are removed, and tags no longer count.
func inert(text string) string {
	text, _ = Reveal(text)
	return liveTag().ReplaceAllString(text, "&lt;$1$2")
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
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), r >= 0xE0000 && r <= 0xE01EF, r >= 0xFE00 && r <= 0xFE0F:
			hidden++
			return -1
		}
		return r
	}, seen)
	return seen, hidden
}
