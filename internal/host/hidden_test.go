package host

import (
	"testing"

	"forge/internal/redact"
	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	c := Client{words: redact.New(nil)}
	texttest.Seen(t, "what a host says", c.clean)
}
