package triage

import (
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "a text", func(words string) string { return plain(words, 500) })
	texttest.Seen(t, "a line", func(words string) string { return line(words, 500) })
}
