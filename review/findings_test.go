package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

func TestMerge(t *testing.T) {
	f := func(specialist string, s work.Severity, file string, line, end int, issue string) work.Finding {
		return work.Finding{Specialist: specialist, Severity: s, File: file, Line: line, EndLine: end, Issue: issue}
	}
	base := f("security", work.SeverityMajor, "a.go", 10, 12, "The lock is not held while the map is written")
	tests := []struct {
		name  string
		other work.Finding
		same  bool
	}{
		{"another specialist, three lines on", f("architecture", work.SeverityMinor, "a.go", 15, 0, "map is written, lock not held"), true},
		{"four lines on", f("architecture", work.SeverityMinor, "a.go", 16, 0, "map is written, lock not held"), false},
		{"three lines before", f("architecture", work.SeverityMinor, "a.go", 5, 7, "map is written, lock not held"), true},
		{"four lines before", f("architecture", work.SeverityMinor, "a.go", 5, 6, "map is written, lock not held"), false},
		{"another file", f("architecture", work.SeverityMinor, "b.go", 10, 0, "map is written, lock not held"), false},
		{"another matter", f("architecture", work.SeverityMinor, "a.go", 10, 0, "the map has no bound and grows for ever"), false},
		{"one word in common", f("architecture", work.SeverityMinor, "a.go", 10, 0, "lock"), false},
		{"the same specialist, other words", f("security", work.SeverityMinor, "a.go", 10, 12, "Lock NOT held; map is written!"), false},
		{"the same specialist, a line on", f("security", work.SeverityMinor, "a.go", 11, 12, base.Issue), false},
		{"the same specialist, the same words and place", f("security", work.SeverityMinor, "a.go", 10, 12, " the lock is not held\nwhile the map is written"), true},
	}
	for _, tt := range tests {
		for _, in := range [][]work.Finding{{base, tt.other}, {tt.other, base}} {
			got := Merge(in)
			if (len(got) == 1) != tt.same {
				t.Errorf("%s: %+v", tt.name, got)
				continue
			}
			if got[0].Issue != base.Issue || got[0].Severity != work.SeverityMajor {
				t.Errorf("%s: kept %+v", tt.name, got[0])
			}
			if want := tt.same && tt.other.Specialist != "security"; slices.Equal(got[0].Also, []string{"architecture"}) != want {
				t.Errorf("%s: also %q", tt.name, got[0].Also)
			}
			if want := len(in) - len(got); got[0].Merged != want {
				t.Errorf("%s: %d merged, want %d", tt.name, got[0].Merged, want)
			}
		}
	}
	// Words that the rule cannot read are the same only when both are such.
	if got := Merge([]work.Finding{f("a", "minor", "f", 1, 0, "!!"), f("b", "minor", "f", 1, 0, "a b"), f("c", "minor", "f", 1, 0, "lock")}); len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

// What one specialist names on neighbouring lines are faults of their own, also
// when another one names them all, in words that are all alike.
func TestMergeKeepsWhatOneSpecialistSays(t *testing.T) {
	of := func(specialist string, line int, column string) work.Finding {
		return work.Finding{Specialist: specialist, Severity: work.SeverityCritical, File: "db.go", Line: line, Issue: "SQL injection: " + column + " is put into the query as it came"}
	}
	one := []work.Finding{of("security", 1, "name"), of("security", 3, "mail"), of("security", 5, "city")}
	if got := Merge(one); len(got) != 3 || work.MergedFindings(got) != 0 {
		t.Fatalf("of one specialist: %+v", got)
	}

	got := Merge(append(one, of("audit", 1, "the name"), of("audit", 3, "the mail"), of("audit", 5, "the city")))
	if len(got) != 3 || work.MergedFindings(got) != 3 {
		t.Fatalf("of two: %+v", got)
	}
	for i, f := range got {
		if f.Line != 2*i+1 || len(f.Also) != 1 || f.Merged != 1 || f.StandsFor() != "2 findings in one" {
			t.Errorf("the closest are not the same: %+v", f)
		}
	}

	// Lines that do not fit exactly: each goes into the nearest.
	got = Merge([]work.Finding{of("audit", 2, "name"), of("security", 3, "name"), of("audit", 3, "mail"), of("security", 9, "name")})
	if len(got) != 3 || got[1].Line != 3 || got[1].Merged != 1 || got[0].Merged != 0 {
		t.Errorf("%+v", got)
	}
}

// TestMergeLaws: the order of what is merged does not matter, merging again
// changes nothing, the worst severity of each file stays, every finding is
// counted, and nothing that one specialist says twice over in other words or at
// another place becomes one.
func TestMergeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]string{"lock", "map", "write", "read", "bound", "x"})
		gen := rapid.Custom(func(t *rapid.T) work.Finding {
			issue := ""
			for range rapid.IntRange(1, 4).Draw(t, "words") {
				issue += word.Draw(t, "word") + " "
			}
			return work.Finding{
				Specialist: rapid.SampledFrom(Builtin()).Draw(t, "specialist"), Severity: rapid.SampledFrom(append(work.Severities(), "odd")).Draw(t, "severity"),
				File: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "file"), Line: rapid.IntRange(1, 20).Draw(t, "line"), Issue: issue,
			}
		})
		in := rapid.SliceOfN(gen, 0, 12).Draw(t, "in")
		before := slices.Clone(in)
		got := Merge(in)
		if len(got) > len(in) || len(in) > 0 && len(got) == 0 {
			t.Fatalf("%d of %d", len(got), len(in))
		}
		for i := range in {
			if !same(in[i], before[i]) {
				t.Fatal("the input was changed")
			}
		}
		shuffled := rapid.Permutation(in).Draw(t, "order")
		for i, f := range Merge(shuffled) {
			if !same(f, got[i]) {
				t.Fatalf("in another order %+v, not %+v", f, got[i])
			}
		}
		for i, f := range Merge(got) {
			if !same(f, got[i]) {
				t.Fatalf("again: %+v, not %+v", f, got[i])
			}
		}
		if len(got)+work.MergedFindings(got) != len(in) {
			t.Fatalf("%d listed and %d merged of %d", len(got), work.MergedFindings(got), len(in))
		}
		for _, name := range Builtin() {
			different := map[string]bool{}
			for _, f := range in {
				if f.Specialist == name {
					different[fmt.Sprint(f.File, f.Line, strings.Fields(f.Issue))] = true
				}
			}
			listed := 0
			for _, f := range got {
				if f.Specialist == name || slices.Contains(f.Also, name) {
					listed++
				}
			}
			if listed != len(different) {
				t.Fatalf("%s said %d things, and is named in %d", name, len(different), listed)
			}
		}
		for _, file := range []string{"a", "b"} {
			if worstIn(in, file) != worstIn(got, file) {
				t.Fatalf("worst of %s: %d, was %d", file, worstIn(got, file), worstIn(in, file))
			}
		}
		listed, notes := limit(got)
		if len(listed)+len(notes) != len(got) || len(got) > 0 && rank(listed[0].Severity) != rank(got[0].Severity) {
			t.Fatalf("%d listed, %d notes of %d", len(listed), len(notes), len(got))
		}
	})
}

func worstIn(all []work.Finding, file string) int {
	out := 9
	for _, f := range all {
		if f.File == file {
			out = min(out, rank(f.Severity))
		}
	}
	return out
}

func TestLimitLists(t *testing.T) {
	var all []work.Finding
	for i := range 30 {
		all = append(all, work.Finding{Severity: work.SeverityMinor, Line: i})
	}
	all = append([]work.Finding{{Severity: "odd"}, {Severity: work.SeverityMajor}, {Severity: work.SeverityMajor}, {Severity: work.SeverityMajor}}, all...)
	listed, notes := limit(all)
	if len(listed) != maxListed || len(notes) != len(all)-maxListed || notes[0].Severity != work.SeverityMajor || listed[3].Severity != work.SeverityMinor {
		t.Errorf("%d listed, %d notes", len(listed), len(notes))
	}
}
