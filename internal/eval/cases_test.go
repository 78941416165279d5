package eval

import (
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/review"
)

func builtinCases(t *testing.T) []Case {
	t.Helper()
	cases, err := Load(Builtin())
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// Loading checks every file and every place; what is left are the numbers.
func TestBuiltinCases(t *testing.T) {
	ids, clean, languages, ofSpecialist := map[string]string{}, map[string]int{}, map[string]int{}, map[string]int{}
	arbiter := map[review.Ruling]int{}
	for _, c := range builtinCases(t) {
		if !strings.HasPrefix(c.Name, c.Specialist+"-") {
			t.Errorf("%s is a case of %s", c.Name, c.Specialist)
		}
		if c.Ruling != nil {
			arbiter[c.Ruling.Right]++
			continue
		}
		ofSpecialist[c.Specialist]++
		languages[c.Language]++
		if c.Clean() {
			clean[c.Specialist]++
		}
		lines := 0
		for _, f := range c.Change.Files {
			for _, h := range f.Hunks {
				lines += h.NewLines
			}
		}
		if lines < 20 || lines > 80 {
			t.Errorf("%s has %d lines", c.Name, lines)
		}
		for _, e := range c.Expected {
			if at, twice := ids[e.ID]; twice {
				t.Errorf("%s of %s is in %s, too", e.ID, c.Name, at)
			}
			ids[e.ID] = c.Name
		}
		if c.Recorded == nil {
			t.Errorf("%s has no recorded answer", c.Name)
		} else if c.Recorded.Reviewer != "recorded" {
			t.Errorf("%s is recorded of %q", c.Name, c.Recorded.Reviewer)
		}
	}
	total := 0
	for _, s := range review.Builtin() {
		total += ofSpecialist[s]
		if ofSpecialist[s] < 6 || clean[s] < 1 {
			t.Errorf("%s has %d cases, %d of them clean", s, ofSpecialist[s], clean[s])
		}
	}
	if len(ofSpecialist) != len(review.Builtin()) || total < 24 {
		t.Errorf("%d cases of %v", total, ofSpecialist)
	}
	if len(languages) < 4 {
		t.Errorf("languages: %v", languages)
	}
	for name, n := range languages {
		if n < 4 {
			t.Errorf("%d cases in %s", n, name)
		}
	}
	for _, r := range rulings() {
		if arbiter[r] < 3 {
			t.Errorf("%d cases of the arbiter are to end in %s", arbiter[r], r)
		}
	}
}

// What the record says about pairs is about pairs that there are.
func TestBuiltinRecordsAreDecided(t *testing.T) {
	for _, c := range builtinCases(t) {
		if c.Ruling != nil {
			continue
		}
		o := AskReviewer(t.Context(), NewPlayer(c.Recorded), c, work.Specialist{Name: c.Specialist, Gating: true}, Limits{})
		near := NearPairs(c, o.Findings)
		said := Said(c.Name, c.Recorded.Same)
		for _, p := range near {
			i := slices.IndexFunc(c.Expected, func(e Expectation) bool { return e.ID == p.Expectation })
			if said(c.Expected[i], work.Finding{File: p.File, Line: p.Line, Issue: p.Issue}) == nil {
				t.Errorf("%s: nobody says whether %q is %s", c.Name, p.Issue, p.Expectation)
			}
		}
		for _, s := range c.Recorded.Same {
			s.Case = c.Name
			if !slices.Contains(near, s.key()) {
				t.Errorf("%s: %q and %s are not near", c.Name, s.Issue, s.Expectation)
			}
		}
	}
}
