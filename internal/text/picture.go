package text

import (
	"net/url"
	"strings"
	"unicode"
)

// Picture shows the picture at an address, or the words where it cannot be shown. The
// address is one of HTTP, or below the project; what is no plain one gives nothing. Of
// the words, which may be somebody else's, what could be Markdown is left out.
func Picture(words, address string) Markdown {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>[]|\"'`\\", r) }) {
		return Markdown{}
	}
	below := u.Scheme == "" && u.Host == "" && strings.HasPrefix(u.Path, "/")
	if !below && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return Markdown{}
	}
	words = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,/%", r) {
			return r
		}
		return ' '
	}, ClipLine(words, 200))
	return Markdown{"![" + strings.Join(strings.Fields(words), " ") + "](" + address + ")"}
}
