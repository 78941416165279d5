package eval

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/review"
)

// A model that answers half of the questions does not look better than one that
// answers all.
func TestUnknownIsMissedAtWorst(t *testing.T) {
	bug := caseNamed(t, "performance-rust-lock-held")
	s := Summarize([]Outcome{ask(t, bug, lockAnswer), ask(t, bug)})[0]
	if s.Recall.Hits != 1 || s.Recall.Of != 1 || s.WorstRecall.Hits != 1 || s.WorstRecall.Of != 2 {
		t.Errorf("recall %+v, at worst %+v, want 1 of 1 and 1 of 2", s.Recall, s.WorstRecall)
	}

	undecided := Outcome{Verdict: work.VerdictFail, Expected: []Checked{{ID: "a", Must: Find, Status: Unknown}, {ID: "b", Must: NotFlag, Status: Unknown}}}
	if s := Summarize([]Outcome{undecided})[0]; s.Recall.Of != 0 || s.WorstRecall.Hits != 0 || s.WorstRecall.Of != 1 {
		t.Errorf("not decided: recall %+v, at worst %+v", s.Recall, s.WorstRecall)
	}
}

func TestBoundsTakeTheWorstCase(t *testing.T) {
	bug := caseNamed(t, "performance-rust-lock-held")
	found, silent := ask(t, bug, lockAnswer), ask(t, bug)
	ruled := func(both review.Ruling) Outcome {
		return Outcome{Ruling: &RulingOutcome{Right: review.Fix, Rules: review.Fix, Both: both, Asked: true}}
	}
	half, none := 0.5, 0
	for name, c := range map[string]struct {
		all    []Outcome
		bounds Bounds
		broken string
	}{
		"nothing bound":                   {[]Outcome{silent, ruled(review.Proceed)}, Bounds{}, ""},
		"recall held":                     {[]Outcome{found, silent}, Bounds{MinRecall: &half}, ""},
		"recall of what answered is 1":    {[]Outcome{found, silent, silent}, Bounds{MinRecall: &half}, "recall is 1 of 3 at worst, below 0.5"},
		"no reviewer":                     {[]Outcome{ruled(review.Fix)}, Bounds{MinRecall: &half}, "there is no recall"},
		"the arbiter held":                {[]Outcome{ruled(review.Fix)}, Bounds{MaxFalseProceeds: &none}, ""},
		"a false proceed":                 {[]Outcome{ruled(review.Fix), ruled(review.Proceed)}, Bounds{MaxFalseProceeds: &none}, "1 of 2 are false proceeds at worst, above 0"},
		"a ruling that cannot be used":    {[]Outcome{ruled(review.Fix), ruled("perhaps")}, Bounds{MaxFalseProceeds: &none}, "1 of 2 are false proceeds at worst, above 0"},
		"no arbiter":                      {[]Outcome{found}, Bounds{MaxFalseProceeds: &none}, "no false proceeds to count"},
		"both broken are said both times": {[]Outcome{silent, ruled(review.Proceed)}, Bounds{MinRecall: &half, MaxFalseProceeds: &none}, "recall is 0 of 1 at worst, below 0.5; 1 of 1"},
	} {
		got := strings.Join(c.bounds.Broken(c.all), "; ")
		if !strings.Contains(got, c.broken) || c.broken == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, c.broken)
		}
	}
}

// What is unknown is an empty cell; a 0 would be a measured one.
func TestCSVLeavesTheUnknownEmpty(t *testing.T) {
	bug := caseNamed(t, "performance-rust-lock-held")
	var b strings.Builder
	trial := &Trial{ID: "T", Outcomes: []Outcome{ask(t, bug, lockAnswer), ask(t, bug), {Case: "r", Ruling: &RulingOutcome{Right: review.Fix, Rules: review.Proceed}}}}
	if err := WriteCSV(&b, trial); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v, %d rows:\n%s", err, len(rows), b.String())
	}
	cell := func(row int, name string) string { return rows[row][slices.Index(rows[0], name)] }
	for _, c := range []struct {
		row        int
		name, want string
	}{
		{1, "verdict", "fail"}, {1, "found", "1"}, {1, "missed", "0"}, {1, "hallucinated", "1"}, {1, "cost_usd", "0.25"},
		{2, "verdict", "unknown"}, {2, "found", ""}, {2, "missed", ""}, {2, "cost_usd", ""},
		{3, "right", "Fix"}, {3, "rules", "Proceed"}, {3, "ruling", ""}, {3, "found", ""},
	} {
		if got := cell(c.row, c.name); got != c.want {
			t.Errorf("row %d: %s is %q, want %q", c.row, c.name, got, c.want)
		}
	}
}
