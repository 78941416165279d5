package house

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

// Every word that a program may meet in the stream is in docs/cli.md.
func TestDocsNameEveryWordOfTheStream(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{"EventKind": true, "PhaseOutcome": true, "RunOutcome": true, "Reason": true, "Proof": true, "Outcome": true, "VerifyOn": true}
	words := 0
	for _, file := range []string{"event.go", "iteration.go"} {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal", "work", file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			kind, ok := spec.Type.(*ast.Ident)
			value, isText := spec.Values[0].(*ast.BasicLit)
			if !ok || !isText || !types[kind.Name] {
				return true
			}
			word, err := strconv.Unquote(value.Value)
			if err != nil {
				t.Fatal(err)
			}
			words++
			if !strings.Contains(string(page), "`"+word+"`") {
				t.Errorf("docs/cli.md does not name the %s `%s`", kind.Name, word)
			}
			return true
		})
	}
	if words < 50 {
		t.Errorf("only %d words were found in internal/work", words)
	}
}
