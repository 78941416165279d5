package picture

import (
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "a label", func(words string) string {
		var c canvas
		c.add("%s", words)
		return c.String()
	})
}
