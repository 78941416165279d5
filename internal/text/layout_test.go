package text

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFoldBreaksBetweenWords(t *testing.T) {
	for _, part := range Fold(strings.Repeat("word ", 50)+strings.Repeat("x", 300), 80) {
		if utf8.RuneCountInString(part) > 80 || strings.HasPrefix(part, " ") {
			t.Errorf("part %q", part)
		}
	}
	got := strings.Join(Fold("one two three four", 9), "|")
	if want := "one two|three|four"; got != want {
		t.Errorf("fold: %q, want %q", got, want)
	}
}
