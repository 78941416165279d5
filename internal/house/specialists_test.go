package house

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forge/gates"
	"forge/review"
)

// The pages name every built-in specialist, and say rightly whether it holds a
// change; no text lies beside them that is nobody's.
func TestEverySpecialistIsExplained(t *testing.T) {
	for _, problem := range specialistProblems(t, os.DirFS(root), review.Builtin(), review.Gates) {
		t.Error(problem)
	}
}

func TestAFakeSpecialistIsMissedEverywhere(t *testing.T) {
	missed(t, specialistProblems(t, os.DirFS(root), append(review.Builtin(), "fake"), review.Gates),
		"docs/review.md has no row that says: | `fake` | yes |",
		"docs/config.md does not name fake in what it says of reviews.specialists",
		"review/prompts has no fake.md",
	)

	advises := func(string) bool { return false }
	missed(t, specialistProblems(t, os.DirFS(root), []string{review.Security}, advises),
		"docs/review.md has no row that says: | `security` | no, advises |",
		"review/prompts/architecture.md is the text of no specialist",
		"review/prompts/performance.md is the text of no specialist",
		"review/prompts/simplicity.md is the text of no specialist",
	)
}

// specialistProblems says where a specialist is not known that has to be.
func specialistProblems(t *testing.T, tree fs.FS, names []string, gates func(string) bool) (problems []string) {
	t.Helper()
	about := page(t, "docs/review.md")
	_, settings, _ := strings.Cut(page(t, "docs/config.md"), "Changes a built-in reviewer")
	settings, _, found := strings.Cut(settings, "\n")
	if !found || settings == "" {
		t.Fatal("docs/config.md does not explain reviews.specialists")
	}
	texts, err := fs.Glob(tree, "review/prompts/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		holds := "no, advises"
		if gates(name) {
			holds = "yes"
		}
		if row := fmt.Sprintf("| `%s` | %s |", name, holds); !strings.Contains(about, row) {
			problems = append(problems, "docs/review.md has no row that says: "+row)
		}
		if !strings.Contains(settings, name) {
			problems = append(problems, "docs/config.md does not name "+name+" in what it says of reviews.specialists")
		}
		if !slices.Contains(texts, "review/prompts/"+name+".md") {
			problems = append(problems, "review/prompts has no "+name+".md")
		}
	}
	for _, file := range texts {
		name := strings.TrimSuffix(path.Base(file), ".md")
		if name != "rules" && name != "arbiter" && name != "vote" && !slices.Contains(names, name) {
			problems = append(problems, file+" is the text of no specialist")
		}
	}
	return problems
}

// Whoever needs all specialists or all presets asks for them: a list that is
// written down in a second place would miss a new one.
func TestNobodyListsByHand(t *testing.T) {
	files := 0
	err := fs.WalkDir(os.DirFS(root), ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if d.IsDir() || filepath.Ext(at) != ".go" || strings.HasSuffix(at, "_test.go") {
			return nil
		}
		files++
		if at == "gates/presets.go" || at == "review/prompts.go" {
			return nil // the tables themselves, and the levels, which are some of the presets
		}
		body, err := os.ReadFile(filepath.Join(root, at))
		if err != nil || !mayList(string(body)) {
			return err
		}
		for _, list := range listsByHand(parsedFile(t, os.DirFS(root), at)) {
			t.Errorf("%s lists %s: ask gates.Catalogue or review.Builtin", at, list)
		}
		return nil
	})
	if err != nil || files < 500 {
		t.Fatalf("%d files: %v", files, err)
	}
}

func TestAListByHandIsFound(t *testing.T) {
	for list, want := range map[string]int{
		`var x = []string{"full", "review", "partial"}`:                                  1,
		`var x = []string{"full", "review"}`:                                             0,
		`var x = map[string]int{"security": 1, "architecture": 2, "performance": 3}`:     1,
		`func f(s string) { switch s { case "manual", "guided": case "interactive": } }`: 1,
		`func f(s string) bool { return s == "manual" || s == "guided" }`:                0,
	} {
		tree := edited{os.DirFS(root), map[string]string{"x.go": "package x\n\n" + list + "\n"}}
		if got := listsByHand(parsedFile(t, tree, "x.go")); len(got) != want {
			t.Errorf("%s: found %v, want %d", list, got, want)
		}
	}
}

// whole are the words that belong together: presets, and specialists.
func whole() [][]string { return [][]string{gates.Catalogue{}.Names(), review.Builtin()} }

// mayList says that a source holds enough words for a list; most hold none, and
// need not be parsed.
func mayList(body string) bool {
	return slices.ContainsFunc(whole(), func(set []string) bool {
		held := slices.DeleteFunc(slices.Clone(set), func(word string) bool { return !strings.Contains(body, strconv.Quote(word)) })
		return len(held) > 2
	})
}

// listsByHand are the lists and switches of a file that name three or more
// presets or specialists.
func listsByHand(file *ast.File) (found []string) {
	sets := whole()
	ast.Inspect(file, func(n ast.Node) bool {
		var words []string
		switch n := n.(type) {
		case *ast.CompositeLit:
			for _, e := range n.Elts {
				if kv, ok := e.(*ast.KeyValueExpr); ok {
					e = kv.Key
				}
				words = append(words, literal(e))
			}
		case *ast.SwitchStmt:
			for _, s := range n.Body.List {
				for _, e := range s.(*ast.CaseClause).List {
					words = append(words, literal(e))
				}
			}
		}
		for _, set := range sets {
			named := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !slices.Contains(set, w) })
			if len(named) > 2 {
				found = append(found, strings.Join(named, ", "))
			}
		}
		return true
	})
	return found
}
