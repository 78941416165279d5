package work

import (
	"strings"

	"forge/internal/text"
)

// OneLine is words as a line of a record holds them (badLine): without what is
// not seen, and without what was lost of them.
func OneLine(words string) string {
	return text.PlainLine(strings.ReplaceAll(strings.ToValidUTF8(words, ""), "\uFFFD", ""))
}
