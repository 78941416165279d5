package halves

import (
	"math/bits"
	"testing"

	"pgregory.net/rapid"
)

// The first red tree is found, whichever it is, with no tree verified twice and no
// more verifies than halving takes.
func TestSpanFindsTheFirstRed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200).Draw(t, "n")
		first := rapid.IntRange(1, n+1).Draw(t, "first red") // n+1 = none
		s, seen, count := NewSpan(n), map[int]bool{}, 0
		for at := s.Probe(); at != 0; at = s.Probe() {
			if seen[at] || at < 1 || at > n {
				t.Fatalf("tree %d of %d is verified again, or is none", at, n)
			}
			seen[at] = true
			count++
			s = s.Saw(at, at < first)
		}
		if s.Good != first-1 || s.Bad != first {
			t.Fatalf("%+v, the first red one is %d", s, first)
		}
		if first > n && count != 1 || count > bits.Len(uint(n-1))+1 {
			t.Fatalf("%d verifies among %d", count, n)
		}
		if want := first % (n + 1); s.Culprit() != want {
			t.Fatalf("named is %d, want %d", s.Culprit(), want)
		}
	})
}

// Trees are not red for ever once one is: what lands is green all the same, and what
// is named is red right behind it.
func TestSpanOfTreesInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		green := rapid.SliceOfN(rapid.Bool(), 1, 60).Draw(t, "green")
		s := NewSpan(len(green))
		for at := s.Probe(); at != 0; at = s.Probe() {
			s = s.Saw(at, green[at-1])
		}
		if s.Good > 0 && !green[s.Good-1] || s.Culprit() > 0 && green[s.Culprit()-1] || s.Bad != s.Good+1 {
			t.Fatalf("%+v of %v", s, green)
		}
	})
}
