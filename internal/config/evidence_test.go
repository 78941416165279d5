package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestIsTestFile(t *testing.T) {
	yes := `a_test.go pkg/testdata/x.json test_a.py pkg/a_test.py tests/anything.txt conftest.py src/a.test.ts a.spec.jsx __tests__/a.js
		__snapshots__/a.snap app.cy.ts spec/models/user_spec.rb test/user_test.rb src/test/java/A.java ATest.java FooTests.cs FooSpec.scala
		UserIT.java tests/it.rs src/tests.rs lib/foo_test.exs test_helper.exs foo_SUITE.erl FooTest.php a_unittest.cc test_a.c foo_test.dart
		MainTests.swift TestMain.kt features/login.feature run.bats t/basic.t test-thing.R e2e/x.ts Tests/UnitTests/a.swift x_test.sh`
	no := `main.go contest.go latest.py attest.ts src/app.js README.md testament.rb protest.java Testing.md Latest.java src/it.rs spec.md
		inspect.py fastest.c Greatest.cs .forge/spec.md detest.exs manifest.php`
	for _, f := range strings.Fields(yes) {
		if !IsTestFile(f) {
			t.Errorf("%s is a test file", f)
		}
	}
	for _, f := range strings.Fields(no) {
		if IsTestFile(f) {
			t.Errorf("%s is no test file", f)
		}
	}
}

func TestMatcher(t *testing.T) {
	for _, tt := range []struct{ glob, yes, no string }{
		{"Makefile", "Makefile sub/Makefile a/b/Makefile", "Makefile.am xMakefile"},
		{"/Makefile", "Makefile", "sub/Makefile"},
		{".github/**", ".github/a .github/workflows/x.yml", ".githubx/a sub/.github/a"},
		{"docs", "docs docs/a.md sub/docs/b", "docs2 xdocs/a"},
		{"docs/", "docs/a.md", "mydocs/a.md"},
		{"src/**/gen", "src/gen src/a/gen src/a/b/gen/x.go", "gen src/gens"},
		{"**/x.go", "x.go a/x.go a/b/x.go", "xx.go"},
		{"*.go", "a.go b/c.go", "a.gox"},
		{"src/*.go", "src/a.go", "src/b/a.go a.go"},
		{"{a,b}.txt", "a.txt c/b.txt", "c.txt"},
	} {
		m, err := NewMatcher([]string{tt.glob})
		must(t, err)
		for _, f := range strings.Fields(tt.yes) {
			if !m.Match(f) {
				t.Errorf("%s does not match %s", tt.glob, f)
			}
		}
		for _, f := range strings.Fields(tt.no) {
			if m.Match(f) {
				t.Errorf("%s matches %s", tt.glob, f)
			}
		}
	}
	for _, bad := range []string{"", "/", "a/../b", "..", "[", "{a", strings.Repeat("a", 501)} {
		if _, err := NewMatcher([]string{bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if (Matcher{}).Match("x") {
		t.Error("the zero value matches")
	}
}

func TestEvidence(t *testing.T) {
	base := map[string]bool{}
	for _, f := range strings.Fields("a_test.go b_test.go c_test.go d_test.go Makefile pytest.ini package.json go.mod main.go tests/x.py .github/w.yml composer.json") {
		base[f] = true
	}
	protected, err := Protected([]string{DefaultProtected})
	must(t, err)
	mayChange, err := NewMatcher([]string{"tests/**", "d_test.go"})
	must(t, err)
	changes := []work.FileChange{
		{Path: "main.go", Status: "M"}, {Path: "go.mod", Status: "M"}, // not evidence
		{Path: "a_test.go", Status: "M"},   // changed test of the base
		{Path: "b_test.go", Status: "D"},   // gone
		{Path: "c_test.go", Status: "T"},   // became a link
		{Path: "d_test.go", Status: "D"},   // may change
		{Path: "new_test.go", Status: "A"}, // new tests are welcome
		{Path: "Makefile", Status: "D"},
		{Path: "sub/pytest.ini", Status: "A"}, // new settings change how evidence is made
		{Path: "conftest.py", Status: "A"},    // a test file by name, settings by glob
		{Path: ".github/new.yml", Status: "A"},
		{Path: "package.json", Status: "M"},  // only dependencies
		{Path: "composer.json", Status: "M"}, // its scripts
		{Path: "tests/x.py", Status: "D"},    // may change
	}
	touched, gone := Evidence(changes, EvidenceFacts{
		InBase: func(p string) bool { return base[p] }, ScriptsChanged: func(p string) bool { return p == "composer.json" },
	}, protected, mayChange)
	if got, want := strings.Join(touched, " "), "a_test.go c_test.go Makefile sub/pytest.ini conftest.py .github/new.yml composer.json"; got != want {
		t.Errorf("touched %s\nwant    %s", got, want)
	}
	if got := strings.Join(gone, " "); got != "b_test.go" {
		t.Errorf("gone %s", got)
	}
	// Without facts everything counts.
	touched, _ = Evidence([]work.FileChange{{Path: "package.json", Status: "M"}, {Path: "e_test.go", Status: "M"}, {Path: "f_test.go", Status: "A"}}, EvidenceFacts{}, protected, Matcher{})
	if strings.Join(touched, " ") != "package.json e_test.go" {
		t.Errorf("touched %v", touched)
	}
	// A list of one's own without @tests leaves tests alone.
	own, err := Protected([]string{"Makefile"})
	must(t, err)
	touched, gone = Evidence(changes, EvidenceFacts{}, own, Matcher{})
	if strings.Join(touched, " ") != "Makefile" || gone != nil {
		t.Errorf("own list: %v %v", touched, gone)
	}
}

func TestManifests(t *testing.T) {
	base := `{"name":"x","version":"1.0.0","dependencies":{"a":"1"},"scripts":{"test":"jest"},"jest":{"bail":true}}`
	for _, tt := range []struct {
		name, file, base, changed string
		differ                    bool
	}{
		{"a dependency", "web/package.json", base, strings.Replace(base, `"a":"1"`, `"a":"1","b":"2"`, 1), false},
		{"a script", "package.json", base, strings.Replace(base, `"jest"}`, `"true"}`, 1), true},
		{"a setting of the runner", "package.json", base, strings.Replace(base, `"bail":true`, `"bail":false`, 1), true},
		{"a runner that was not there", "package.json", `{}`, `{"vitest":{}}`, true},
		{"not JSON", "package.json", base, `{`, true},
		{"new", "package.json", "", base, true},
		{"toml dependency", "pyproject.toml", "[project]\ndependencies = []\n[tool.pytest.ini_options]\naddopts = \"-q\"\n", "[project]\ndependencies = [\"x\"]\n[tool.pytest.ini_options]\naddopts = \"-q\"\n", false},
		{"toml setting", "pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q\"\n", "[tool.pytest.ini_options]\naddopts = \"--co\"\n", true},
		{"cargo dependency", "Cargo.toml", "[dependencies]\n", "[dependencies]\na = \"1\"\n", false},
		{"cargo tests off", "Cargo.toml", "[dependencies]\n", "[lib]\ntest = false\n", true},
		{"no manifest", "go.mod", "a", "b", true},
	} {
		if got := ScriptsDiffer(tt.file, []byte(tt.base), []byte(tt.changed)); got != tt.differ {
			t.Errorf("%s: differ %v", tt.name, got)
		}
		back, err := PutScriptsBack(tt.file, []byte(tt.base), []byte(tt.changed))
		if err != nil {
			if tt.name != "not JSON" && tt.name != "no manifest" && tt.name != "new" {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		if ScriptsDiffer(tt.file, []byte(tt.base), back) {
			t.Errorf("%s: scripts are not back: %s", tt.name, back)
		}
		if tt.name == "a dependency" {
			var got, want map[string]any
			must(t, json.Unmarshal(back, &got))
			must(t, json.Unmarshal([]byte(tt.changed), &want))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the dependency is lost: %s", back)
			}
		}
		if tt.name == "toml dependency" && !strings.Contains(string(back), `dependencies = ["x"]`) {
			t.Errorf("the dependency is lost: %s", back)
		}
	}
	for _, g := range ProtectedDefaults() {
		if g != TestFiles {
			if what := checkPathGlob(g); what != "" {
				t.Errorf("%s: %s", g, what)
			}
		}
	}
}
