package factory

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// fraction is the number that a key stands for.
func fraction(key string) *big.Rat {
	n, d := new(big.Int), big.NewInt(1)
	for i := range len(key) {
		n.Mul(n, big.NewInt(base))
		n.Add(n, big.NewInt(int64(strings.IndexByte(digits, key[i]))))
		d.Mul(d, big.NewInt(base))
	}
	return new(big.Rat).SetFrac(n, d)
}

func rankKey() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		// Few digits, so that keys share their beginnings.
		return strings.TrimRight(rapid.StringOfN(rapid.SampledFrom([]rune("001zzA")), 1, 9, -1).Draw(t, "key"), "0")
	})
}

func TestBetweenIsBetween(t *testing.T) {
	one := big.NewRat(1, 1)
	rapid.Check(t, func(t *rapid.T) {
		a, b := rankKey().Draw(t, "a"), rankKey().Draw(t, "b")
		low, high := fraction(a), fraction(b)
		if b == "" {
			high = one
		}
		key, ok := Between(a, b)
		if want := low.Cmp(high) < 0; ok != want {
			t.Fatalf("Between(%q, %q): %v, want %v", a, b, ok, want)
		}
		if !ok {
			return
		}
		if got := fraction(key); got.Cmp(low) <= 0 || got.Cmp(high) >= 0 || !validRank(key) || key == "" {
			t.Fatalf("Between(%q, %q) = %q", a, b, key)
		}
		if key <= a || b != "" && key >= b {
			t.Fatalf("Between(%q, %q) = %q: not so as bytes", a, b, key)
		}
		if len(key) > max(len(a), len(b), stepDigits)+1 {
			t.Fatalf("Between(%q, %q) = %q is needlessly long", a, b, key)
		}
	})
}

func TestBetweenRefuses(t *testing.T) {
	for _, c := range [][2]string{{"b", "a"}, {"a", "a"}, {"a0", ""}, {"", "b0"}, {"-", ""}, {"", "ä"}, {"a", "\xff"}} {
		if key, ok := Between(c[0], c[1]); ok {
			t.Errorf("Between(%q, %q) = %q", c[0], c[1], key)
		}
	}
}

// A column keeps its order whatever is put where, and its keys stay short.
func TestInsertionsKeepOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var keys []string // as a list of places keeps them
		where := rapid.SampledFrom([]string{"top", "bottom", "middle", "anywhere"})
		spreads := 0
		for range rapid.IntRange(1, 400).Draw(t, "n") {
			at := 0
			switch where.Draw(t, "where") {
			case "bottom":
				at = len(keys)
			case "middle":
				at = len(keys) / 2
			case "anywhere":
				at = rapid.IntRange(0, len(keys)).Draw(t, "at")
			}
			before, after := "", ""
			if at > 0 {
				before = keys[at-1]
			}
			if at < len(keys) {
				after = keys[at]
			}
			key, ok := Between(before, after)
			if !ok {
				spreads++
				keys = slices.Insert(keys, at, "")
				keys = Spread(len(keys))
				continue
			}
			keys = slices.Insert(keys, at, key)
		}
		for i, key := range keys {
			if len(key) > MaxRank || key == "" || i > 0 && key <= keys[i-1] {
				t.Fatalf("key %d of %q", i, keys)
			}
		}
	})
}

func TestEndsStayShort(t *testing.T) {
	top, bottom := "", ""
	for i := range 100_000 {
		a, ok1 := Between("", top)
		b, ok2 := Between(bottom, "")
		if !ok1 || !ok2 || len(a) > stepDigits || len(b) > stepDigits {
			t.Fatalf("after %d: %q %v, %q %v", i, a, ok1, b, ok2)
		}
		top, bottom = a, b
	}
}

// Always between the last two: every key is halved, until the column is due.
func TestWorstPlaceIsDueInTheEnd(t *testing.T) {
	a, b := "A", "B"
	for n := 0; ; n++ {
		key, ok := Between(a, b)
		if !ok {
			if n < 200 {
				t.Errorf("due after %d", n)
			}
			return
		}
		if n > 1000 {
			t.Fatal("never due")
		}
		if n%2 == 0 {
			a = key
		} else {
			b = key
		}
	}
}

func TestSpread(t *testing.T) {
	for _, n := range []int{0, 1, 2, 61, 62, 3843, 10_000} {
		keys := Spread(n)
		if len(keys) != n || !slices.IsSorted(keys) || len(slices.Compact(slices.Clone(keys))) != n {
			t.Fatalf("%d: not %d keys in order", n, n)
		}
		for i := range n + 1 {
			a, b := "", ""
			if i > 0 {
				a = keys[i-1]
			}
			if i < n {
				b = keys[i]
			}
			if key, ok := Between(a, b); !ok || len(key) > stepDigits {
				t.Fatalf("%d: between %q and %q: %q, %v", n, a, b, key, ok)
			}
		}
	}
}
