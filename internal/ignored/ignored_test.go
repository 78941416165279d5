package ignored

import (
	"strings"
	"testing"
	"time"

	"forge/internal/work"
	"forge/review"
)

func traceOf(issue string) review.Trace {
	c := review.Change{Files: []review.File{{Path: "a.go", Status: review.Modified, Hunks: []review.Hunk{{OldStart: 1, NewStart: 1, NewLines: 1, Body: []byte("+query(name)\n")}}}}}
	return review.TraceOf(work.Finding{Specialist: "security", Severity: work.SeverityMajor, File: "a.go", Line: 1, Issue: issue}, true, c)
}

func TestAddAndMatch(t *testing.T) {
	now := time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)
	first := traceOf("The name reaches the query unescaped")
	e := New(first, "a.go", "trusted \"callers\" \\ alone\n[[finding]]", "ann", "", now)
	body, problems := Add("", e)
	if problems != nil || e.Until != "2027-02-25" {
		t.Fatalf("%+v, %v\n%s", e, problems, body)
	}
	body, problems = Add(body, New(traceOf("It allocates in a hot loop"), "a.go", "rare", "ben", "2026-11-26", now))
	all, _ := Parse(body)
	if problems != nil || len(all) != 2 || all[0] != e {
		t.Fatalf("%+v, %v\n%s", all, problems, body)
	}
	// In other words about the same line it is the same; of another line it is not.
	if got, expired, found := Of(all, traceOf("An unescaped name reaches the query"), now); !found || expired || got.By != "ann" {
		t.Errorf("%+v %v %v", got, expired, found)
	}
	other := first
	other.Anchor = review.LineTrace("query(name, 1)")
	if _, _, found := Of(all, other, now); found {
		t.Error("a line that nobody saw is let stand")
	}
	if got, expired, found := Of(all, traceOf("It allocates in a hot loop"), now); !found || !expired || got.By != "ben" {
		t.Errorf("%+v %v %v", got, expired, found)
	}
	if e.Expired(time.Date(2027, 2, 25, 23, 0, 0, 0, time.UTC)) || !e.Expired(time.Date(2027, 2, 26, 0, 0, 0, 0, time.UTC)) {
		t.Error("the last day")
	}
	// Said anew, it takes the place of what was said.
	body, problems = Add(body, New(traceOf("It allocates in a hot loop"), "a.go", "still rare", "cid", "2027-01-01", now))
	if all, _ = Parse(body); problems != nil || len(all) != 2 || all[1].By != "cid" || strings.Contains(body, "ben") {
		t.Errorf("%+v, %v\n%s", all, problems, body)
	}
}

func TestProblems(t *testing.T) {
	good, _ := Add("", New(traceOf("x y z"), "a.go", "why", "ann", "2026-01-01", time.Time{}))
	for name, tc := range map[string]struct {
		body string
		line int
	}{
		"no TOML": {good + "[[finding\n", 12}, "no reason": {strings.Replace(good, `"why"`, `" "`, 1), 4}, "nobody": {strings.Replace(good, `"ann"`, `""`, 1), 4},
		"no day": {strings.Replace(good, "2026-01-01", "soon", 1), 4}, "another id": {strings.Replace(good, `id = "`, `id = "0`, 1), 4},
		"unknown key": {good + "secret = 1\n", 1}, "twice": {good + strings.Replace(good, head, "", 1), 12}, "too large": {strings.Repeat("#", MaxBytes+1), 1},
	} {
		all, problems := Parse(tc.body)
		if len(problems) == 0 || problems[0].Line != tc.line || len(all) != 0 || problems[0].Fix == "" {
			t.Errorf("%s: %+v, %+v", name, all, problems)
		}
	}
}

func FuzzParse(f *testing.F) {
	good, _ := Add("", New(traceOf("x y z"), "a.go", "why", "ann", "2026-01-01", time.Time{}))
	f.Add(good)
	f.Add("[[finding]]\n")
	f.Fuzz(func(t *testing.T, body string) {
		all, problems := Parse(body)
		if len(problems) > 0 && len(all) > 0 {
			t.Error("entries count beside problems")
		}
		for _, e := range all {
			if got, problems := Add(body, e); problems != nil {
				t.Errorf("%v in\n%s", problems, got)
			}
		}
	})
}
