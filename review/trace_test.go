package review

import (
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

// changeWith is a change of one file that now has these lines.
func changeWith(path string, lines ...string) Change {
	body := ""
	for _, l := range lines {
		body += "+" + l + "\n"
	}
	return Change{Files: []File{{Path: path, Status: Modified, OldMode: "100644", NewMode: "100644", Hunks: []Hunk{{OldStart: 1, NewStart: 1, NewLines: len(lines), Body: []byte(body)}}}}}
}

func TestTraceFindsAFindingAgain(t *testing.T) {
	finding := func(line int, issue string) work.Finding {
		return work.Finding{Specialist: "security", Severity: work.SeverityMajor, File: "a.go", Line: line, Issue: issue}
	}
	was := changeWith("a.go", "one", "  query(name)", "three")
	first := TraceOf(finding(2, "The name reaches the query unescaped"), true, was)
	for name, tc := range map[string]struct {
		now            work.Finding
		change         Change
		same, sameLine bool
	}{
		"as it was":                  {finding(2, "the name reaches  the query unescaped"), was, true, true},
		"the line moved":             {finding(4, "The name reaches the query unescaped"), changeWith("a.go", "new", "new", "one", "query(name)"), true, true},
		"in other words":             {finding(2, "An unescaped name reaches the query"), was, true, true},
		"the line is another one":    {finding(2, "The name reaches the query unescaped"), changeWith("a.go", "one", "query(name, 1)"), true, false},
		"other words, another line":  {finding(2, "An unescaped name reaches the query"), changeWith("a.go", "one", "query(name, 1)"), false, false},
		"another fault of that line": {finding(2, "It allocates in a hot loop"), was, false, false},
	} {
		now := TraceOf(tc.now, true, tc.change)
		if now.Same(first) != tc.same || first.Same(now) != tc.same || now.SameLine(first) != tc.sameLine {
			t.Errorf("%s: same %v, of the same line %v", name, now.Same(first), now.SameLine(first))
		}
	}
	other := finding(2, "The name reaches the query unescaped")
	other.File = "b.go"
	if TraceOf(other, true, changeWith("b.go", "one", "query(name)")).Same(first) {
		t.Error("of another file")
	}
	if !first.StandsIn([]byte("x\n\tquery(name)\n")) || first.StandsIn([]byte("x\nquery(other)\n")) || first.StandsIn(nil) {
		t.Error("whether its line stands")
	}
	if !was.Shows(first) || changeWith("a.go", "x").Shows(first) || changeWith("b.go", "query(name)").Shows(first) {
		t.Error("whether a change shows it")
	}
}

func FuzzParseTrace(f *testing.F) {
	t := TraceOf(work.Finding{Specialist: "security", Also: []string{"x"}, Severity: work.SeverityMinor, File: "a.go", Line: 1, Issue: strings.Repeat("some words of it ", 9)}, false, changeWith("a.go", "one"))
	f.Add(t.String())
	f.Add(TraceOf(work.Finding{Severity: work.SeverityCritical}, true, Change{}).String())
	f.Add("x.y")
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := ParseTrace(s)
		if !ok {
			return
		}
		if again, ok := ParseTrace(got.String()); !ok || !reflect.DeepEqual(again, got) || got.String() != s {
			t.Errorf("%q: %+v, %+v", s, got, again)
		}
		if strings.ContainsAny(s, "<> \n") {
			t.Errorf("%q could end the comment that it stands in", s)
		}
	})
}

// A replacement is kept where it can be put in place of its lines as it is.
func TestReplacementIsExact(t *testing.T) {
	c := changeWith("a.go", "one", "two", "three")
	gone := Change{Files: []File{{Path: "a.go", Status: Deleted, Hunks: []Hunk{{OldStart: 1, OldLines: 1, Body: []byte("-one\n")}}}}}
	long := strings.Repeat("x", maxFindingText+1)
	said := func(s string) *string { return &s }
	for name, tc := range map[string]struct {
		change    Change
		line, end int
		now, want *string
	}{
		"none":              {c, 1, 0, nil, nil},
		"one line":          {c, 2, 0, said("\t2"), said("\t2")},
		"its end":           {c, 2, 0, said("2\n"), said("2")},
		"two for one":       {c, 2, 0, said("2\n2b"), said("2\n2b")},
		"lines out":         {c, 1, 2, said(""), said("")},
		"nothing new":       {c, 2, 0, said("two"), nil},
		"past the hunk":     {c, 2, 9, said("2"), nil},
		"a deleted file":    {gone, 1, 0, said("1"), nil},
		"too long":          {c, 1, 0, &long, nil},
		"what is not seen":  {c, 1, 0, said("a\u202eb"), nil},
		"with Windows ends": {changeWith("a.go", "one\r"), 1, 0, said("1"), nil},
	} {
		placed, _ := place(tc.change, []work.Finding{{File: "a.go", Line: tc.line, EndLine: tc.end, Replacement: tc.now}}, "s")
		if len(placed) != 1 || (placed[0].Replacement == nil) != (tc.want == nil) || tc.want != nil && *placed[0].Replacement != *tc.want {
			t.Errorf("%s: %+v", name, placed)
		}
	}
}

// What is posted is asked for in the schema, and read; a summary that cannot be used
// makes no answer unusable.
func TestSummaryAndReplacement(t *testing.T) {
	in := Input{Specialist: work.Specialist{Name: Security}, Change: changeWith("a.go", "one", "two"), Summarise: true, Replacements: true}
	for summary, want := range map[string]int{`["It a.","It b.","It c.","It d."]`: 3, `null`: 0, `"words"`: 0, `[1]`: 0, `[""," x "]`: 1, ``: 0} {
		answer := `{"verdict":"warn","confidence":1,"need":[],"findings":[{"file":"a.go","line":2,"end_line":null,"severity":"minor","issue":"i","failure":"f","suggestion":"s","repro":null,"replacement":"2"}]`
		if summary != "" {
			answer += `,"summary":` + summary
		}
		asked := ""
		r := Review(t.Context(), &fakeModel{answer: func(_ int, q Question) (string, error) {
			asked = string(q.Schema) + q.User
			return answer + "}", nil
		}}, in)
		if r.Verdict != work.VerdictWarn || len(r.Sentences) != want || len(r.Findings) != 1 || r.Findings[0].Replacement == nil || *r.Findings[0].Replacement != "2" {
			t.Errorf("%s: %+v", summary, r)
		}
		if !strings.Contains(asked, `"replacement":{`) || !strings.Contains(asked, `"summary":{`) || !strings.Contains(asked, "in `summary` what") {
			t.Errorf("it is not asked for: %s", asked)
		}
	}
	if plain := string(Schema(true)); strings.Contains(plain, "replacement") || strings.Contains(plain, "summary") {
		t.Error("a run's reviewers are asked for what is not posted")
	}
}
