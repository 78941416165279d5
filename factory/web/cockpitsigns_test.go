package web

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"forge/internal/work"
	"forge/orchestrator"
)

// Every reason for which a result can wait is said in words: whichever constant
// named Hold… there is.
func TestHoldsHaveWords(t *testing.T) {
	found := 0
	for _, dir := range []string{"../../review", ".."} {
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
				if words, ok := holdWords[reason]; !ok || strings.Contains(words, "_ ") || words == reason {
					t.Errorf("%s %q has no words for people", spec.Names[0].Name, reason)
				}
				return true
			})
		}
	}
	if found < 15 {
		t.Errorf("only %d reasons were found", found)
	}
	if got := holdText("something_new"); got != "something new" {
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

// What speaks against a change stands at its head, in the same order, and what is
// not known does not look like yes.
func TestSignsOfAChange(t *testing.T) {
	files := []cockpitFile{{Path: "a.go"}}
	for name, c := range map[string]struct {
		d    cockpitData
		want string
	}{
		"no change":        {cockpitData{}, ""},
		"nothing checked":  {cockpitData{Files: files}, "1 file, +0 −0|! nothing was checked"},
		"checked":          {cockpitData{Files: files, Judged: Judged{Verify: &work.VerifyFinishedData{OK: true}}}, "1 file, +0 −0|✓ your checks passed on exactly this commit"},
		"red":              {cockpitData{Files: files, Judged: Judged{Verify: &work.VerifyFinishedData{}}}, "1 file, +0 −0|✗ your checks failed"},
		"without evidence": {cockpitData{Criteria: []orchestrator.CriterionState{{}, {Met: true}}}, "! 1 criterion without evidence"},
		"in doubt":         {cockpitData{Judged: Judged{InDoubt: make([]work.Doubt, 2), Protected: []string{"x"}}, Findings: make([]work.Finding, 3)}, "! 2 doubts about the proof|! 1 file that decides the proof was changed|! 3 findings of reviewers"},
	} {
		var got []string
		for _, s := range c.d.Signs() {
			got = append(got, strings.TrimSpace(s.Mark()+" "+s.Text))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s: %q, want %q", name, strings.Join(got, "|"), c.want)
		}
	}
	if got := withoutPromise("I did it. <promise>DONE</promise>\nMore <b>"); got != "I did it.\nMore <b>" {
		t.Errorf("without its promise the agent said %q", got)
	}
}
