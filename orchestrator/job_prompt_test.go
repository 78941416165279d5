package orchestrator

import (
	"strings"
	"testing"
)

// A phase that plans is told whether a person reads the plan, by the level that
// holds when it begins; one that does is not.
func TestWhoPlansIsToldWhoReads(t *testing.T) {
	const nobody, person = "Nobody reads this plan", "A person reads this plan"
	for _, test := range []struct{ level, first, later string }{
		{"full", nobody, nobody},
		{"partial", person, nobody},
		{"guided", person, person},
	} {
		st := aJob(t, test.level)
		if got := st.prompt("1"); !strings.Contains(got, test.first) {
			t.Errorf("level %s: the first plan is not told %q", test.level, test.first)
		}
		s := st.s
		later := *st.phase("1")
		later.Number = "3"
		s.Phases["2"], s.Phases["3"] = &Phase{View: View{Number: "2"}}, &later
		s.Order = append(s.Order, "2", "3")
		if got := s.whoReads(&later); !strings.HasPrefix(got, test.later) {
			t.Errorf("level %s: a later plan is told %q, want %q", test.level, got, test.later)
		}
	}
}
