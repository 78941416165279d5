package eval

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"forge/internal/work"
)

// placeless is a folder of cases with a trap that has no place.
func placeless(expected string) fstest.MapFS {
	return fstest.MapFS{
		"a/context.md":    {Data: []byte("Add two numbers up.\n")},
		"a/code.py":       {Data: []byte("def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n")},
		"a/expected.json": {Data: []byte(expected)},
	}
}

const trapAnywhere = `{"specialist": "security", "must_find": [
 {"id": "swapped", "severity": "major", "description": "They are swapped.", "location": {"file": "code.py", "line": 1}}],
 "must_not_flag": [{"id": "overflow", "description": "Numbers of Python do not overflow."}]}`

// What must not be flagged needs no place, and no severity: who says whether a
// finding means it decides; without anybody it is not decided.
func TestTrapWithoutAPlace(t *testing.T) {
	cases, err := Load(placeless(trapAnywhere))
	if err != nil || len(cases) != 1 {
		t.Fatal(cases, err)
	}
	c := cases[0]
	at := slices.IndexFunc(c.Expected, func(e Expectation) bool { return e.ID == "overflow" })
	hit := work.Finding{File: "code.py", Line: 1, Severity: work.SeverityMajor, Issue: "swapped"}
	other := work.Finding{File: "code.py", Line: 6, Severity: work.SeverityMinor, Issue: "it overflows"}
	say := func(yes bool) func(Expectation, work.Finding) *bool {
		return func(e Expectation, f work.Finding) *bool {
			is := e.ID == "swapped" && f.Issue == "swapped" || yes && e.ID == "overflow" && f.Issue == "it overflows"
			return &is
		}
	}
	for name, one := range map[string]struct {
		findings []work.Finding
		same     func(Expectation, work.Finding) *bool
		trap     Status
		kinds    []Kind
	}{
		"nothing is said":           {nil, nil, Quiet, nil},
		"what had to be found":      {[]work.Finding{hit}, nil, Quiet, []Kind{Hit}},
		"something else, by place":  {[]work.Finding{hit, other}, nil, Unknown, []Kind{Hit, Other}},
		"it is flagged, and judged": {[]work.Finding{hit, other}, say(true), Flagged, []Kind{Hit, False}},
		"it is not, and judged":     {[]work.Finding{hit, other}, say(false), Quiet, []Kind{Hit, Other}},
		"nobody said":               {[]work.Finding{other}, func(Expectation, work.Finding) *bool { return nil }, Unknown, []Kind{Other}},
	} {
		m := MatchAll(c.Expected, one.findings, one.same)
		if m.Expected[at] != one.trap || !slices.Equal(m.Findings, one.kinds) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	// Each finding may mean it, and a model is asked without a place.
	pairs := NearPairs(c, []work.Finding{hit, other})
	if n := len(slices.DeleteFunc(pairs, func(s Same) bool { return s.Expectation != "overflow" })); n != 2 {
		t.Errorf("%d pairs: %+v", n, pairs)
	}
	q, ok := sameQuestion(c, Same{Expectation: "overflow", File: "code.py", Line: 6, Issue: "it overflows"}, []work.Finding{other})
	if !ok || strings.Contains(strings.SplitN(q.User, "\n", 2)[0], "line") {
		t.Errorf("the question: %q", q.User)
	}
	for what, expected := range map[string]string{
		"a fault needs a place":    strings.Replace(trapAnywhere, `, "location": {"file": "code.py", "line": 1}`, "", 1),
		"a fault needs a severity": strings.Replace(trapAnywhere, `"severity": "major", `, "", 1),
		"also without a place":     strings.Replace(trapAnywhere, `do not overflow."`, `do not overflow.", "also": [{"file": "code.py", "line": 1}]`, 1),
	} {
		var bad *Problems
		if _, err := Load(placeless(expected)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Folders of folders of cases: each is named by its path, and what is wrong says
// where.
func TestFoldersOfCases(t *testing.T) {
	from := fstest.MapFS{}
	for _, at := range []string{"one", "go/two", "go/deep/three"} {
		for name, f := range placeless(trapAnywhere) {
			from[at+"/"+strings.TrimPrefix(name, "a/")] = f
		}
	}
	from["go/README.md"] = &fstest.MapFile{Data: []byte("about these\n")}
	from["go/.hidden/x"] = &fstest.MapFile{Data: []byte("x")}
	cases, err := Load(from)
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	if err != nil || !slices.Equal(names, []string{"go/deep/three", "go/two", "one"}) {
		t.Fatal(names, err)
	}
	delete(from, "go/deep/three/context.md")
	var bad *Problems
	if _, err := Load(from); !errors.As(err, &bad) || len(bad.List) != 1 || bad.List[0].File != "go/deep/three/context.md" {
		t.Errorf("%v", err)
	}
}
