package orchestrator

import "testing"

// A pull request that a run is held for is news when it stands otherwise, and not for as
// long as it is in the way for the same: what was red with a target is red with it again.
func TestHeldPullMoved(t *testing.T) {
	at := func(onto string) ResultPulled { return ResultPulled{Number: 1, Onto: onto} }
	for name, c := range map[string]struct {
		was  TogetherOne
		is   ResultPulled
		why  string
		want bool
	}{
		"as it was":               {TogetherOne{Why: "not approved"}, at(""), "not approved", false},
		"approved":                {TogetherOne{Why: "not approved"}, at(""), "", true},
		"approved, target on":     {TogetherOne{Why: "not approved"}, at("c7"), "it is at c7", true},
		"red with where it is":    {TogetherOne{Why: "it is red", ResultPulled: at("c7")}, at("c7"), "it is at c7", false},
		"red, and it went on":     {TogetherOne{Why: "it is red", ResultPulled: at("c7")}, at("c8"), "it is at c8", true},
		"red, and changes wanted": {TogetherOne{Why: "it is red", ResultPulled: at("c7")}, at(""), "somebody asks for changes", true},
		"merged":                  {TogetherOne{Why: "not approved"}, ResultPulled{Number: 1, Merged: "m"}, "", true},
		"nobody found it":         {TogetherOne{Why: "not approved"}, ResultPulled{}, "the host is away", false},
	} {
		if got := (HeldPull{was: c.was}).Moved(c.is, c.why); got != c.want {
			t.Errorf("%s: news is %v", name, got)
		}
	}
}
