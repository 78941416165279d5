package work

import "testing"

// What is good beside one state is trusted beside another where nothing of it hangs on
// what was there before.
func TestPagesThatAreGoodAnywhere(t *testing.T) {
	t.Parallel()
	sum := "a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1"
	for name, c := range map[string]struct {
		pages []PageShown
		want  bool
	}{
		"none":                        {nil, false},
		"good":                        {[]PageShown{{After: sum}}, true},
		"with errors as before":       {[]PageShown{{After: sum}, {After: sum, OldAll: 1}}, false},
		"with errors that are let":    {[]PageShown{{After: sum, OldAll: 1, NewAll: 2, Say: true}}, true},
		"with new errors":             {[]PageShown{{After: sum, NewAll: 1}}, false},
		"not shown":                   {[]PageShown{{Problem: "no server", Say: true}}, false},
		"without a picture":           {[]PageShown{{Say: true}}, false},
		"good beside one that is not": {[]PageShown{{After: sum}, {}}, false},
	} {
		if got := Anywhere(c.pages); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
