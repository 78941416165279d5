package narrate

import (
	"bufio"
	"strings"
	"testing"

	"forge/internal/text/texttest"
)

// What nobody sees comes through nowhere.
func TestHiddenCharactersAreNotPassedOn(t *testing.T) {
	texttest.Seen(t, "forge why", func(words string) string {
		var out strings.Builder
		w := bufio.NewWriter(&out)
		(&Teller{Out: w}).Wrap("", words)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		return out.String()
	})
}
