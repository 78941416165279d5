package review

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
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
	if plain([]byte(path)) && !strings.ContainsAny(path, "\t\n") {
		return path
	}
	for _, r := range path {
		if !unicode.IsGraphic(r) || hidden(r) {
			return strconv.Quote(path)
		}
	}
	return path
}

// hidden is true for what a reader of a text does not see.
func hidden(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r < 0x20, r == 0x7f, r == 0x2028, r == 0x2029, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0:
		return true
	}
	return r > 0x7f && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co) || r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0000 && r <= 0xe01ef)
}

// appendVisible appends text with what cannot be seen spelled out. Unlike in
// prompts for authors nothing is taken away: an invisible character in code is
// for a reviewer to find.
func appendVisible(to, text []byte) []byte {
	if plain(text) {
		return append(to, text...)
	}
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			to = fmt.Appendf(to, "⟦0x%02X⟧", text[0])
		case hidden(r):
			to = fmt.Appendf(to, "⟦U+%04X⟧", r)
		default:
			to = append(to, text[:n]...)
		}
		text = text[n:]
	}
	return to
}

// plain says that text is of ASCII alone, all of which can be seen.
func plain(text []byte) bool {
	for _, b := range text {
		if b-0x20 > 0x7e-0x20 && b != '\t' && b != '\n' {
			return false
		}
	}
	return true
}

func visible(text string) string { return string(appendVisible(nil, []byte(text))) }

// fence writes text as data under a title.
func fence(b *strings.Builder, title string, text []byte) {
	texts.Fence(b, title, string(text))
}

// clip keeps the beginning of a text, at most n bytes of it.
func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
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
	text = visible(strings.TrimSpace(text))
	if most := maxSummaryTokens * bytesPerToken; len(text) > most {
		const room = 80
		kept := strings.ToValidUTF8(text[:most-room], "")
		return fmt.Sprintf("%s\n[cut: %d of %d bytes are shown]", kept, len(kept), len(text))
	}
	return text
}
