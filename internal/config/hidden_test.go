package config

import (
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "a problem", func(words string) string { return Problem{What: words, Fix: words}.String() })
}
