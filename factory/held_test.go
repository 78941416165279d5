package factory

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Every reason for which a result can wait is said in words: whichever constant
// named Hold… there is.
func TestHoldsHaveWords(t *testing.T) {
	found := 0
	for _, dir := range []string{"../review", "."} {
		for _, name := range goFiles(t, dir) {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.ValueSpec)
				if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Hold") {
					return true
				}
				lit, ok := spec.Values[0].(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				reason, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				found++
				if words, ok := heldWords()[reason]; !ok || strings.Contains(words, "_ ") || words == reason {
					t.Errorf("%s %q has no words for people", spec.Names[0].Name, reason)
				}
				return true
			})
		}
	}
	if found < 15 {
		t.Errorf("only %d reasons were found", found)
	}
	if got := HeldWords("something_new"); got != "something new" {
		t.Errorf("a reason without words is %q", got)
	}
}

func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

func TestFactsSayWhyInWords(t *testing.T) {
	const facts = "a note\nheld by: autonomy_disabled unverified\n1 first: done"
	const want = "a note\nwhy you are asked: your level asks you before a result is merged; a criterion has no evidence\n1 first: done"
	if got := PlainFacts(facts); got != want {
		t.Errorf("PlainFacts = %q, want %q", got, want)
	}
	if got := HeldList("autonomy_disabled, another_one"); got != "your level asks you before a result is merged; another one" {
		t.Errorf("HeldList = %q", got)
	}
	if got := HeldList(""); got != "" {
		t.Errorf("HeldList of none = %q", got)
	}
}
