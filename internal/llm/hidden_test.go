package llm

import (
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "an answer", foreign)
}
