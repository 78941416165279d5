package eval

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"forge/review"
)

const goodExpected = `{
  "specialist": "security",
  "language": "go",
  "path": "a/b.go",
  "must_find": [
    {"id": "one", "severity": "major", "description": "d", "location": {"file": "a/b.go", "line": 2, "end_line": 3}}
  ],
  "must_not_flag": []
}
`

// folder is one case, "" = the file is not there.
func folder(name string, files map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	all := map[string]string{"expected.json": goodExpected, "context.md": "Do it.\n", "code.go": "one\ntwo\nthree\n"}
	for f, text := range files {
		all[f] = text
	}
	for f, text := range all {
		if text != "" {
			out[name+"/"+f] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return out
}

func TestLoadGood(t *testing.T) {
	from := folder("x", nil)
	from["README.md"] = &fstest.MapFile{Data: []byte("beside the folders")}
	from[".git/x"] = &fstest.MapFile{Data: []byte("hidden")}
	cases, err := Load(from)
	if err != nil || len(cases) != 1 {
		t.Fatalf("%v, %v", cases, err)
	}
	c := cases[0]
	if c.Name != "x" || c.Specialist != "security" || c.Context != "Do it." || c.Clean() || len(c.Hash) != 16 {
		t.Errorf("%+v", c)
	}
	if want := (Place{"a/b.go", 2, 3}); c.Expected[0].Place != want {
		t.Errorf("%+v", c.Expected)
	}
	if f := c.Change.Files[0]; f.Path != "a/b.go" || f.Status != review.Added || string(f.Hunks[0].Body) != "+one\n+two\n+three\n" {
		t.Errorf("%+v", f)
	}
	again, err := Load(folder("x", map[string]string{"recorded.json": `{"reviewer": "r", "answers": []}`}))
	if err != nil || again[0].Hash != c.Hash || again[0].Recorded == nil {
		t.Errorf("an answer on record changes the case: %+v, %v", again, err)
	}
	other, err := Load(folder("x", map[string]string{"context.md": "Do something else."}))
	if err != nil || other[0].Hash == c.Hash {
		t.Errorf("another context has the same hash: %v", err)
	}
}

func TestLoadBad(t *testing.T) {
	with := func(old, now string) map[string]string {
		if !strings.Contains(goodExpected, old) {
			t.Fatalf("%q is not there", old)
		}
		return map[string]string{"expected.json": strings.Replace(goodExpected, old, now, 1)}
	}
	location := `{"file": "a/b.go", "line": 2, "end_line": 3}`
	for name, tc := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no expected":          {map[string]string{"expected.json": ""}, "x/expected.json: is missing"},
		"no context":           {map[string]string{"context.md": ""}, "x/context.md: is missing"},
		"blank context":        {map[string]string{"context.md": " \n"}, "x/context.md: is empty"},
		"no change":            {map[string]string{"code.go": ""}, "x: has neither code.* nor change.diff"},
		"two changes":          {map[string]string{"change.diff": "diff --git a/x b/x\n"}, "x: has change.diff and code.go"},
		"no JSON":              {map[string]string{"expected.json": "{\n  \"specialist\": security\n}\n"}, "x/expected.json:2: is not JSON"},
		"cut":                  {map[string]string{"expected.json": "{\n  \"specialist\": \"a\",\n"}, "x/expected.json:2: ends too early"},
		"behind the end":       {map[string]string{"expected.json": goodExpected + "{}"}, "x/expected.json:10: goes on behind its end"},
		"a list":               {map[string]string{"expected.json": "[]"}, "x/expected.json:1: is no JSON object"},
		"twice the same field": {with(`"language": "go"`, `"specialist": "go"`), `x/expected.json:3: has "specialist" twice`},
		"unknown field":        {with(`"language"`, `"languages"`), `x/expected.json:3: unknown field "languages"`},
		"no specialist":        {with(`"specialist": "security",`, ``), "x/expected.json:1: specialist is missing"},
		"bad specialist":       {with(`"security"`, `"se curity"`), `x/expected.json:2: specialist "se curity" is no name of a reviewer`},
		"bad path":             {with(`"path": "a/b.go"`, `"path": "../b.go"`), `x/expected.json:4: path "../b.go" is no path within a project`},
		"no list":              {with(`"must_not_flag": []`, `"must_not_flag": {}`), "x/expected.json:8: must_not_flag is no list"},
		"list missing":         {map[string]string{"expected.json": `{"specialist": "a", "must_find": []}`}, "x/expected.json:1: must_not_flag is missing"},
		"id missing":           {with(`"id": "one", `, ``), "x/expected.json:6: id is missing"},
		"bad id":               {with(`"one"`, `"one two"`), `x/expected.json:6: id "one two" is no id`},
		"unknown severity":     {with(`"major"`, `"blocker"`), `x/expected.json:6: severity "blocker" is unknown`},
		"no description":       {with(`"description": "d"`, `"description": " "`), "x/expected.json:6: description is empty"},
		"no location":          {with(`, "location": `+location, ``), "x/expected.json:6: location is missing"},
		"other file":           {with(`"file": "a/b.go"`, `"file": "b.go"`), `x/expected.json:6: "one" is in b.go, which is not in the change`},
		"line 0":               {with(`"line": 2`, `"line": 0`), "x/expected.json:6: line is no whole number from 1 on"},
		"half a line":          {with(`"line": 2`, `"line": 2.5`), "x/expected.json:6: line is no whole number from 1 on"},
		"end before line":      {with(`"end_line": 3`, `"end_line": 1`), "x/expected.json:6: end_line is no whole number from 2 on"},
		"behind the change":    {with(`"end_line": 3`, `"end_line": 4`), `x/expected.json:6: "one" is at lines 2 to 4 of a/b.go, which the change does not show`},
		"also behind":          {with(location, location+`, "also": [{"file": "a/b.go", "line": 9}]`), `x/expected.json:6: "one" is at lines 9 to 9`},
		"not UTF-8":            {with(`"d"`, "\"\xff\""), "x/expected.json:6: is not UTF-8"},
		"bad patch":            {map[string]string{"code.go": "", "change.diff": "hello\n", "expected.json": strings.Replace(goodExpected, "\"path\": \"a/b.go\",", "", 1)}, "x/change.diff: does not begin with a line diff --git"},
		"path beside a patch":  {map[string]string{"code.go": "", "change.diff": "hello\n"}, "x/expected.json: has a path beside change.diff"},
		"empty code":           {map[string]string{"code.go": " \n"}, "x/code.go: is empty"},
		"no record":            {map[string]string{"recorded.json": "{\n\"reviewer\": \"r\", \"answers\": [\n{\"none\": \"w\", \"answer\": {}}]}"}, "x/recorded.json:3: is no recorded answer"},
		"ruling":               {map[string]string{"expected.json": `{"specialist": "arbiter", "findings": [], "right": "AskHuman"}`}, `x/expected.json:1: right "AskHuman" is no ruling`},
		"threshold":            {map[string]string{"expected.json": `{"specialist": "arbiter", "findings": [], "right": "Fix", "threshold": 2}`}, `x/expected.json:1: threshold is no number from 0 to 1`},
		"unknown":              {map[string]string{"expected.json": `{"specialist": "arbiter", "findings": [], "right": "Fix", "unknown": "yes"}`}, `x/expected.json:1: unknown is neither true nor false`},
		"ruling elsewhere": {map[string]string{"expected.json": `{"specialist": "arbiter", "right": "Fix", "findings": [
{"specialist": "s", "severity": "major", "file": "code.go", "line": 9, "issue": "i"}]}`}, `x/expected.json:2: finding 1 is at lines 9 to 9 of code.go`},
	} {
		cases, err := Load(folder("x", tc.files))
		var problems *Problems
		if !errors.As(err, &problems) || len(cases) > 0 {
			t.Errorf("%s: %v, %v", name, cases, err)
			continue
		}
		if len(problems.List) != 1 || !strings.HasPrefix(problems.List[0].Error(), tc.want) || problems.List[0].Fix == "" {
			t.Errorf("%s:\n got %v\nwant %s", name, err, tc.want)
		}
	}
}

// Everything is said at once, also what is wrong in other folders.
func TestLoadSaysAll(t *testing.T) {
	from := folder("x", map[string]string{"context.md": "", "expected.json": strings.NewReplacer("major", "huge", `"one"`, `"o n e"`).Replace(goodExpected)})
	for name, file := range folder("y", map[string]string{"code.go": ""}) {
		from[name] = file
	}
	from["bad name/expected.json"] = &fstest.MapFile{Data: []byte("{}")}
	_, err := Load(from)
	var problems *Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	var at []string
	for _, p := range problems.List {
		at = append(at, p.File)
	}
	if want := []string{"bad name", "x/context.md", "x/expected.json", "x/expected.json", "y"}; !slices.Equal(at, want) {
		t.Errorf("%v", at)
	}
}

func TestTwiceTheSameID(t *testing.T) {
	again := strings.Replace(goodExpected, `"must_not_flag": []`, `"must_not_flag": [
  {"id": "one", "severity": "minor", "description": "d", "location": {"file": "a/b.go", "line": 1}}]`, 1)
	if _, err := Load(folder("x", map[string]string{"expected.json": again})); err == nil || !strings.Contains(err.Error(), `x/expected.json:9: the id "one" is there twice`) {
		t.Error(err)
	}
}

const patch = `diff --git a/old.go b/new.go
similarity index 80%
rename from old.go
rename to new.go
index 1111111..2222222 100644
--- a/old.go
+++ b/new.go
@@ -1,3 +1,4 @@
 package x
+// --- a/tricky
--- a/removed
++++ b/added
 
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 1111111..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
\ No newline at end of file
diff --git a/run.sh b/run.sh
new file mode 100755
--- /dev/null
+++ b/run.sh
@@ -0,0 +1,2 @@
+a
+b`

func TestReadPatch(t *testing.T) {
	c, err := readPatch([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Files {
		got = append(got, string(f.Status)+" "+f.OldPath+" "+f.Path+" "+f.NewMode)
	}
	if want := []string{"R old.go new.go 100644", "D  gone.txt 000000", "A  run.sh 100755"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for at, ok := range map[Place]bool{
		{"new.go", 1, 4}: true, {"new.go", 4, 5}: false, {"old.go", 1, 1}: false,
		{"gone.txt", 1, 1}: true, {"gone.txt", 2, 2}: false, {"run.sh", 2, 2}: true, {"run.sh", 0, 1}: false,
	} {
		if what := placed(c, at); (what == "") != ok {
			t.Errorf("%+v: %q", at, what)
		}
	}
	for _, bad := range []string{"", "text\n" + patch, strings.Replace(patch, "+a\n", "", 1), "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\n", "diff --git a/x b/x\nBinary files a/x and b/x differ\n+++ b/x\n"} {
		if _, err := readPatch([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

// FuzzExpected holds that whatever stands in expected.json, it is read whole or
// its problems have a line of it; what is read is in the change.
func FuzzExpected(f *testing.F) {
	f.Add([]byte(goodExpected), []byte(patch))
	f.Add([]byte(`{"specialist": "arbiter", "findings": [{"specialist": "s", "severity": "major", "file": "run.sh", "line": 1, "issue": "i"}], "right": "Fix"}`), []byte(patch))
	f.Add([]byte("{\"must_find\": [[[\n{\"id\": 1e999}]]]}"), []byte("diff --git a/x b/x\n"))
	f.Add([]byte("\"\xff"), []byte("@@ -1 +1 @@"))
	for _, c := range []string{"security-python-project-access", "architecture-python-timeout-unit"} {
		expected, err := fs.ReadFile(Builtin(), c+"/expected.json")
		if err != nil {
			f.Fatal(err)
		}
		diff, err := fs.ReadFile(Builtin(), c+"/change.diff")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(expected, diff)
	}
	f.Fuzz(func(t *testing.T, expected, diff []byte) {
		from := fstest.MapFS{
			"x/expected.json": {Data: expected}, "x/context.md": {Data: []byte("Do it.")}, "x/change.diff": {Data: diff},
			"y/expected.json": {Data: expected}, "y/context.md": {Data: []byte("Do it.")}, "y/code.go": {Data: []byte("a\nb\n")},
			"y/recorded.json": {Data: expected},
		}
		cases, err := Load(from)
		var problems *Problems
		if err != nil && !errors.As(err, &problems) {
			t.Fatal(err)
		}
		if problems != nil {
			for _, p := range problems.List {
				if p.What == "" || p.Fix == "" || p.Line < 0 || strings.HasSuffix(p.File, ".json") && p.Line > 1+strings.Count(string(expected), "\n") {
					t.Fatalf("%+v", p)
				}
			}
		}
		for _, c := range cases {
			for _, e := range c.Expected {
				if placed(c.Change, e.Place) != "" || !e.Severity.Known() || e.ID == "" {
					t.Fatalf("%+v", e)
				}
			}
		}
	})
}
