package web

import (
	"fmt"
	"strings"
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "a page in Markdown", func(words string) string { return string(Markdown(words)) })
	texttest.Seen(t, "what a page has as an entity", func(words string) string {
		var entities strings.Builder
		for _, r := range words {
			if r > '~' || r < ' ' && r != '\n' {
				fmt.Fprintf(&entities, "&#%d;", r)
			} else {
				entities.WriteRune(r)
			}
		}
		return string(Markdown(entities.String()))
	})
	texttest.Seen(t, "what is too long for Markdown", func(words string) string { return string(asIs(words)) })
}
