package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestLines(t *testing.T) {
	t.Parallel()
	got := Lines("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n")
	want := []Line{{"gap", ""}, {"", "3\n"}, {"", "4\n"}, {"del", "5\n"}, {"ins", "five\n"}, {"", "6\n"}}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := Lines("a\n", "a\n"); got != nil {
		t.Errorf("the same differs: %v", got)
	}
	if got := Lines("a", "a\n"); len(got) != 2 {
		t.Errorf("a line end that is new is not shown: %v", got)
	}
}

// What is shown makes the one text of the other, but for what is left out, which
// is the same in both.
func TestLinesLoseNothing(t *testing.T) {
	t.Parallel()
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "\n"}), 0, 12).Draw(t, "lines"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		var gone, fresh int
		for _, l := range Lines(before, after) {
			switch l.What {
			case "del":
				gone++
			case "ins":
				fresh++
			}
		}
		if a, b := strings.Count(before, "\n"), strings.Count(after, "\n"); a-gone != b-fresh {
			t.Fatalf("%q and %q: %d gone, %d new", before, after, gone, fresh)
		}
		if before != after && gone+fresh == 0 {
			t.Fatalf("%q and %q show no difference", before, after)
		}
	})
}
