package eval

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"forge/internal/work"
)

// bruteForce tries every way to pair rows and columns.
func bruteForce(weights [][]int, row int, used map[int]bool) int {
	if row == len(weights) {
		return 0
	}
	best := bruteForce(weights, row+1, used)
	for j, w := range weights[row] {
		if w > 0 && !used[j] {
			used[j] = true
			best = max(best, w+bruteForce(weights, row+1, used))
			delete(used, j)
		}
	}
	return best
}

func TestAssignAgainstBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, columns := rapid.IntRange(0, 6).Draw(t, "rows"), rapid.IntRange(0, 6).Draw(t, "columns")
		weights := make([][]int, rows)
		for i := range weights {
			weights[i] = rapid.SliceOfN(rapid.IntRange(-2, 9), columns, columns).Draw(t, "row")
		}
		of := assign(weights)
		sum, seen := 0, map[int]bool{}
		for i, j := range of {
			if j < 0 {
				continue
			}
			if seen[j] || weights[i][j] <= 0 {
				t.Fatalf("%v pairs %v", weights, of)
			}
			seen[j] = true
			sum += weights[i][j]
		}
		if want := bruteForce(weights, 0, map[int]bool{}); sum != want {
			t.Fatalf("%v: %v is worth %d, the best is %d", weights, of, sum, want)
		}
	})
}

func finding(line, end int, s work.Severity) work.Finding {
	return work.Finding{File: "a.go", Line: line, EndLine: end, Severity: s, Issue: fmt.Sprintf("at %d", line)}
}

func expect(must Must, id string, line, end int, s work.Severity) Expectation {
	return Expectation{Must: must, ID: id, Place: Place{"a.go", line, end}, Severity: s, Description: id}
}

func TestNear(t *testing.T) {
	const crit, major, minor = work.SeverityCritical, work.SeverityMajor, work.SeverityMinor
	e := expect(Find, "e", 10, 12, major)
	for _, tc := range []struct {
		f    work.Finding
		want bool
	}{
		{finding(11, 0, major), true},
		{finding(8, 0, major), true},
		{finding(7, 0, major), false},
		{finding(7, 8, major), true},
		{finding(14, 0, major), true},
		{finding(15, 0, major), false},
		{finding(1, 100, major), true},
		{finding(11, 0, crit), true},
		{finding(11, 0, minor), true},
		{finding(11, 0, "blocker"), false},
	} {
		if got := Near(e, tc.f); got != tc.want {
			t.Errorf("%+v: %v", tc.f, got)
		}
	}
	critical := expect(Find, "e", 10, 12, crit)
	if Near(critical, finding(11, 0, minor)) {
		t.Error("two steps of severity are near")
	}
	alarm := expect(NotFlag, "e", 10, 12, crit)
	if !Near(alarm, finding(11, 0, minor)) {
		t.Error("a false alarm counts at any severity")
	}
	twice := e
	twice.Also = []Place{{"b.go", 40, 40}, {"a.go", 60, 61}}
	for line, want := range map[int]bool{11: true, 40: false, 58: true, 64: false} {
		if got := Near(twice, finding(line, 0, major)); got != want {
			t.Errorf("line %d of a fault in two places: %v", line, got)
		}
	}
	other := finding(11, 0, major)
	other.File = "b.go"
	if Near(e, other) || Near(alarm, other) {
		t.Error("another file is near")
	}
}

func TestMatch(t *testing.T) {
	const major, minor = work.SeverityMajor, work.SeverityMinor
	yes, no := true, false
	always := func(v *bool) func(Expectation, work.Finding) *bool {
		return func(Expectation, work.Finding) *bool { return v }
	}
	one := []Expectation{expect(Find, "x", 10, 10, major)}
	for name, tc := range map[string]struct {
		expected []Expectation
		findings []work.Finding
		same     func(Expectation, work.Finding) *bool
		want     Match
	}{
		"nothing said":      {one, nil, nil, Match{Expected: []Status{Missed}, Findings: []Kind{}}},
		"found":             {one, []work.Finding{finding(10, 0, major)}, nil, Match{[]Status{Found}, []Kind{Hit}}},
		"elsewhere":         {one, []work.Finding{finding(20, 0, major)}, nil, Match{[]Status{Missed}, []Kind{Other}}},
		"twice":             {one, []work.Finding{finding(11, 0, minor), finding(10, 0, major)}, nil, Match{[]Status{Found}, []Kind{Duplicate, Hit}}},
		"another fault":     {one, []work.Finding{finding(10, 0, major)}, always(&no), Match{[]Status{Missed}, []Kind{Other}}},
		"same fault":        {one, []work.Finding{finding(10, 0, major)}, always(&yes), Match{[]Status{Found}, []Kind{Hit}}},
		"nobody knows":      {one, []work.Finding{finding(10, 0, major)}, always(nil), Match{[]Status{Unknown}, []Kind{Unclear}}},
		"nobody knows of 2": {one, []work.Finding{finding(10, 0, major), finding(30, 0, major)}, always(nil), Match{[]Status{Unknown}, []Kind{Unclear, Other}}},
		"false alarm": {[]Expectation{expect(NotFlag, "n", 10, 10, major)}, []work.Finding{finding(10, 0, minor)}, nil,
			Match{[]Status{Flagged}, []Kind{False}}},
		"left alone": {[]Expectation{expect(NotFlag, "n", 10, 10, major)}, nil, nil, Match{[]Status{Quiet}, []Kind{}}},
		"the fault before the alarm": {[]Expectation{expect(Find, "x", 12, 12, major), expect(NotFlag, "n", 10, 10, major)}, []work.Finding{finding(10, 0, major)}, nil,
			Match{[]Status{Found, Quiet}, []Kind{Hit}}},
		"both faults although the greedy way finds one": {
			[]Expectation{expect(Find, "x", 10, 10, major), expect(Find, "y", 13, 13, major)}, []work.Finding{finding(11, 0, major), finding(8, 0, major)}, nil,
			Match{[]Status{Found, Found}, []Kind{Hit, Hit}}},
	} {
		got := MatchAll(tc.expected, tc.findings, tc.same)
		if !slices.Equal(got.Expected, tc.want.Expected) || !slices.Equal(got.Findings, tc.want.Findings) {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}

// mostFound is the largest number of faults that any pairing finds.
func mostFound(expected []Expectation, findings []work.Finding, at int, used map[int]bool) int {
	if at == len(findings) {
		return 0
	}
	best := mostFound(expected, findings, at+1, used)
	for j, e := range expected {
		if e.Must == Find && !used[j] && Near(e, findings[at]) {
			used[j] = true
			best = max(best, 1+mostFound(expected, findings, at+1, used))
			delete(used, j)
		}
	}
	return best
}

func TestMatchLaws(t *testing.T) {
	severity := rapid.SampledFrom(work.Severities())
	rapid.Check(t, func(t *rapid.T) {
		var expected []Expectation
		for i := range rapid.IntRange(0, 5).Draw(t, "expected") {
			line := rapid.IntRange(1, 20).Draw(t, "line")
			expected = append(expected, expect(rapid.SampledFrom([]Must{Find, NotFlag}).Draw(t, "must"), fmt.Sprint(i), line, line+rapid.IntRange(0, 3).Draw(t, "more"), severity.Draw(t, "severity")))
		}
		var findings []work.Finding
		for range rapid.IntRange(0, 6).Draw(t, "findings") {
			findings = append(findings, finding(rapid.IntRange(1, 24).Draw(t, "line"), 0, severity.Draw(t, "severity")))
		}
		m := MatchAll(expected, findings, nil)
		found, hits, flagged, alarms := 0, 0, 0, 0
		for i, e := range expected {
			near := slices.ContainsFunc(findings, func(f work.Finding) bool { return Near(e, f) })
			switch m.Expected[i] {
			case Found:
				found++
			case Flagged:
				flagged++
			}
			if m.Expected[i] == Unknown || !near && (m.Expected[i] == Found || m.Expected[i] == Flagged) {
				t.Fatalf("%+v is %s", e, m.Expected[i])
			}
		}
		for _, k := range m.Findings {
			switch k {
			case Hit:
				hits++
			case False:
				alarms++
			}
		}
		if found != hits || flagged != alarms {
			t.Fatalf("%d found by %d, %d flagged by %d", found, hits, flagged, alarms)
		}
		if want := mostFound(expected, findings, 0, map[int]bool{}); found != want {
			t.Fatalf("%d found, %d can be", found, want)
		}
	})
}
