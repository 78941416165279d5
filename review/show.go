package review

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	texts "forge/internal/text"
)

// Name is a path as it is shown and as findings name it: itself when it can
// be read, else quoted as in Go, so that no name breaks a line, hides a
// character, or is lost in JSON.
func Name(path string) string {
	if path == "" || path[0] == '"' || !utf8.ValidString(path) {
		return strconv.Quote(path)
	}
	if !strings.ContainsFunc(path, texts.Invisible) {
		return path
	}
	if quoted := strconv.Quote(path); !strings.ContainsFunc(quoted, texts.Invisible) {
		return quoted
	}
	return strconv.QuoteToASCII(path) // Go prints some of them as they are
}

// fence writes text as data under a title.
func fence(b *strings.Builder, title string, text []byte) {
	texts.Fence(b, title, string(text))
}

// bytesPerToken is how many bytes are taken for one token. It is an estimate:
// every model counts in its own way, source code mostly in fewer bytes.
const bytesPerToken = 4

// Tokens estimates how many tokens a text of so many bytes has.
func Tokens(size int) int { return (size + bytesPerToken - 1) / bytesPerToken }

// maxSummaryTokens is what a reviewer is told of the phase beside its change.
const maxSummaryTokens = 2000

// summary is text within its limit, with a last line that says what was cut.
func summary(text string) string {
	text = texts.Visible(strings.TrimSpace(text))
	if most := maxSummaryTokens * bytesPerToken; len(text) > most {
		const room = 80
		kept := texts.Cut(text, most-room)
		return fmt.Sprintf("%s\n[cut: %d of %d bytes are shown]", kept, len(kept), len(text))
	}
	return text
}
