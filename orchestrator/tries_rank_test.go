package orchestrator

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

// lines is the size of a change in one file.
func lines(n int) *work.ChangeSize { return &work.ChangeSize{Files: 1, Lines: &n} }

func dollars(usd float64) *float64 { return &usd }

func TestWhichTryWins(t *testing.T) {
	proven := func(n string, change func(*TryFacts)) TryFacts {
		f := TryFacts{Number: n, Outcome: work.PhaseDone, Proven: true, Size: lines(10), USD: dollars(1)}
		if change != nil {
			change(&f)
		}
		return f
	}
	lost := TryFacts{Number: "1.9", Outcome: work.PhaseFailed, Why: "budget_exhausted", Size: lines(1), USD: dollars(0)}
	for _, tt := range []struct {
		name string
		all  []TryFacts
		want string // the number, "" = none
		why  string // of what the first other proven one lacks
	}{
		{"nothing", nil, "", ""},
		{"only what is not proven", []TryFacts{lost}, "", ""},
		{"proven over small and cheap", []TryFacts{lost, proven("1.1", nil)}, "1.1", ""},
		{"fewer critical findings", []TryFacts{proven("1.1", func(f *TryFacts) { f.Critical = 1 }), proven("1.2", func(f *TryFacts) { f.Major, f.Minor = 9, 9 })}, "1.2", "it has more critical findings"},
		{"fewer major findings", []TryFacts{proven("1.1", func(f *TryFacts) { f.Major = 2 }), proven("1.2", func(f *TryFacts) { f.Major, f.Minor = 1, 9 })}, "1.2", "it has more major findings"},
		{"fewer minor findings", []TryFacts{proven("1.1", func(f *TryFacts) { f.Minor = 1 }), proven("1.2", func(f *TryFacts) { f.Weakened = 5 })}, "1.2", "it has more minor findings"},
		{"less weakened evidence", []TryFacts{proven("1.1", func(f *TryFacts) { f.Weakened = 1 }), proven("1.2", func(f *TryFacts) { f.Doubts = 5 })}, "1.2", "it has more weakened evidence"},
		{"fewer doubts", []TryFacts{proven("1.1", func(f *TryFacts) { f.Doubts = 1 }), proven("1.2", func(f *TryFacts) { f.Size = lines(99) })}, "1.2", "it has more doubts about its proof"},
		{"smaller", []TryFacts{proven("1.1", nil), proven("1.2", func(f *TryFacts) { f.Size, f.USD = lines(9), dollars(9) })}, "1.2", "as good, with more lines changed"},
		{"a size that nobody knows is the largest", []TryFacts{proven("1.1", func(f *TryFacts) { f.Size = nil }), proven("1.2", func(f *TryFacts) { f.Size = lines(99999) })}, "1.2", "as good, with more lines changed"},
		{"cheaper", []TryFacts{proven("1.1", nil), proven("1.2", func(f *TryFacts) { f.USD = dollars(0.5) })}, "1.2", "as good, with more dollars"},
		{"a cost that nobody knows is the highest", []TryFacts{proven("1.1", func(f *TryFacts) { f.USD = nil }), proven("1.2", func(f *TryFacts) { f.USD = dollars(1e9) })}, "1.2", "as good, with more dollars"},
		{"the first of two", []TryFacts{proven("1.1", nil), proven("1.2", nil)}, "1.1", "as good, and later in order"},
	} {
		at, all := BestTry(tt.all)
		got, why := "", ""
		if at >= 0 {
			got = all[at].Number
		}
		for i, f := range all {
			if i != at && f.Proven && why == "" {
				why = f.Why
			}
		}
		if got != tt.want || why != tt.why {
			t.Errorf("%s: try %q wins (%q), want %q (%q)", tt.name, got, why, tt.want, tt.why)
		}
	}
}

// Whatever is known of tries: one that is not proven never wins, nothing that is
// proven beats the winner, and the order of the others says nothing.
func TestTheBestTryIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []TryFacts
		for range rapid.IntRange(0, 6).Draw(t, "tries") {
			few := rapid.IntRange(0, 2)
			f := TryFacts{
				Proven: rapid.Bool().Draw(t, "proven"), Critical: few.Draw(t, "critical"), Major: few.Draw(t, "major"), Minor: few.Draw(t, "minor"),
				Weakened: few.Draw(t, "weakened"), Doubts: few.Draw(t, "doubts"),
			}
			if rapid.Bool().Draw(t, "measured") {
				f.Size = lines(few.Draw(t, "lines"))
			}
			if rapid.Bool().Draw(t, "priced") {
				f.USD = dollars(float64(few.Draw(t, "usd")))
			}
			all = append(all, f)
		}
		at, _ := BestTry(all)
		for i, f := range all {
			switch {
			case f.Proven && at < 0:
				t.Fatalf("try %d is proven, and none wins", i)
			case at < 0 || !f.Proven:
			case beatsSlowly(f, all[at]), i < at && !beatsSlowly(all[at], f):
				t.Fatalf("try %d wins over %d: %+v over %+v", at, i, all[at], f)
			}
		}
		if at >= 0 && !all[at].Proven {
			t.Fatalf("try %d wins, and is not proven", at)
		}
	})
}

// beatsSlowly says that a is better than b, rule by rule.
func beatsSlowly(a, b TryFacts) bool {
	switch {
	case a.Critical != b.Critical:
		return a.Critical < b.Critical
	case a.Major != b.Major:
		return a.Major < b.Major
	case a.Minor != b.Minor:
		return a.Minor < b.Minor
	case a.Weakened != b.Weakened:
		return a.Weakened < b.Weakened
	case a.Doubts != b.Doubts:
		return a.Doubts < b.Doubts
	case (a.Size == nil) != (b.Size == nil):
		return a.Size != nil
	case a.Size != nil && *a.Size.Lines != *b.Size.Lines:
		return *a.Size.Lines < *b.Size.Lines
	case (a.USD == nil) != (b.USD == nil):
		return a.USD != nil
	case a.USD != nil:
		return *a.USD < *b.USD
	}
	return false
}

func TestATryInALine(t *testing.T) {
	for _, tt := range []struct {
		f    TryFacts
		want string
	}{
		{TryFacts{Number: "1.1", Agent: "claude", Model: "big", Proven: true, Size: lines(4), USD: dollars(0.5)}, "try 1.1 by claude big: proven, no findings, 4 lines in 1 file, $0.50"},
		{TryFacts{Number: "1.2", Proven: true, Major: 1, Doubts: 2}, "try 1.2: proven, 1 finding (0 critical, 1 major), 2 doubts, size unknown, cost unknown"},
		{TryFacts{Number: "1.3", Why: "agent_failed: it\ncrashed"}, "try 1.3: not proven: agent_failed: it"},
	} {
		if got := tt.f.String(); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
