package agent

import (
	"testing"

	"forge/internal/redact"
	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "the live view", func(words string) string { return oneLine(words, redact.New(nil)) })
}
