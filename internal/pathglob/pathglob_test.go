package pathglob

import (
	"strings"
	"testing"
)

func TestMatcher(t *testing.T) {
	for _, tt := range []struct{ glob, yes, no string }{
		{"Makefile", "Makefile sub/Makefile a/b/Makefile", "Makefile.am xMakefile"},
		{"/Makefile", "Makefile", "sub/Makefile"},
		{".github/**", ".github/a .github/workflows/x.yml", ".githubx/a sub/.github/a"},
		{"docs", "docs docs/a.md sub/docs/b", "docs2 xdocs/a"},
		{"docs/", "docs/a.md docs//b/../a.md", "mydocs/a.md docs/../a.md"},
		{"src/**/gen", "src/gen src/a/gen src/a/b/gen/x.go", "gen src/gens"},
		{"**/x.go", "x.go a/x.go a/b/x.go", "xx.go"},
		{"*.go", "a.go b/c.go", "a.gox"},
		{"src/*.go", "src/a.go", "src/b/a.go a.go"},
		{"{a,b}.txt", "a.txt c/b.txt", "c.txt"},
	} {
		m, err := New([]string{tt.glob})
		if err != nil {
			t.Fatal(err)
		}
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
	for _, bad := range []string{"", "/", "[", "{a"} {
		if _, err := New([]string{"a", bad}); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if (Matcher{}).Match("x") {
		t.Error("the zero value matches")
	}
}
