package work

import "testing"

func TestParseIteration(t *testing.T) {
	for word, want := range map[string][2]int{"0": {0, 0}, "3": {3, 0}, "3.1": {3, 1}, "12.2": {12, 2}} {
		if n, try, ok := ParseIteration(word); !ok || n != want[0] || try != want[1] {
			t.Errorf("%q is %d.%d, %v", word, n, try, ok)
		}
	}
	for _, word := range []string{"", "x", "-1", "3.", "3.0", "3.x", "3.-1", ".1", "3.1.2", "1e3", "99999999999999999999"} {
		if n, try, ok := ParseIteration(word); ok {
			t.Errorf("%q is %d.%d", word, n, try)
		}
	}
}
