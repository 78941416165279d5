package eval

import "testing"

// What one of two trials does not know is not the same in both.
func TestNoDifferenceNamesTheUnknown(t *testing.T) {
	for want, p := range map[string]Paired{
		"no difference": {Pairs: 2, Both: 2},
		"no difference where both answered; 3 left out, unknown in one of them": {Pairs: 2, Both: 2, Left: 3},
	} {
		if got := pairedText(p); got != want {
			t.Errorf("%+v: %q, want %q", p, got, want)
		}
	}
}
