package house

import (
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// Every command is in a group of the help, or below another command, says what it
// is for, and is on a page. Help, man page and completion are made of that.
func TestEveryCommandIsOffered(t *testing.T) {
	for _, problem := range commandProblems(t, os.DirFS(root)) {
		t.Error(problem)
	}
}

func TestAFakeCommandIsMissedEverywhere(t *testing.T) {
	const at = "func (a *App) versionCommand()"
	made := with(t, os.DirFS(root), "internal/cli/commands.go", at,
		"func (a *App) fakeCommand() *cli.Command { return &cli.Command{Name: \"fake\"} }\n\n"+at)
	missed(t, commandProblems(t, made), "fakeCommand is in no group and below no command", "fakeCommand does not say what it is for (Usage)")

	grouped := with(t, made, "internal/cli/commands.go", "a.versionCommand()", "a.fakeCommand(), a.versionCommand()")
	missed(t, commandProblems(t, grouped), "fakeCommand does not say what it is for (Usage)", "no page names forge fake")
}

// commandProblems says which commands a person could not find.
func commandProblems(t *testing.T, tree fs.FS) (problems []string) {
	t.Helper()
	files := parsed(t, tree, "internal/cli")
	var makers []*ast.FuncDecl
	called, grouped := map[string]bool{}, map[string]bool{}
	for _, file := range files {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if f.Recv != nil && strings.HasSuffix(f.Name.Name, "Command") && makesCommand(f) {
				makers = append(makers, f)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
						called[sel.Sel.Name] = true
						grouped[sel.Sel.Name] = grouped[sel.Sel.Name] || f.Name.Name == "groups"
					}
				}
				return true
			})
		}
	}
	if len(makers) < 40 {
		t.Fatalf("only %d commands were found", len(makers))
	}

	pages := pagesOf(t, tree)
	for _, f := range makers {
		name, usage := commandOf(f)
		if !called[f.Name.Name] {
			problems = append(problems, f.Name.Name+" is in no group and below no command")
		}
		if !usage {
			problems = append(problems, f.Name.Name+" does not say what it is for (Usage)")
		}
		if grouped[f.Name.Name] && name != "" && !namesCommand(pages, name) {
			problems = append(problems, fmt.Sprintf("no page names forge %s", name))
		}
	}
	return problems
}

func namesCommand(pages, name string) bool {
	_, rest, found := strings.Cut(pages, "forge "+name)
	for found {
		if rest == "" || !strings.ContainsAny(rest[:1], "abcdefghijklmnopqrstuvwxyz-") {
			return true
		}
		_, rest, found = strings.Cut(rest, "forge "+name)
	}
	return false
}

// makesCommand says that a method returns one command.
func makesCommand(f *ast.FuncDecl) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	star, ok := f.Type.Results.List[0].Type.(*ast.StarExpr)
	return ok && selected(star.X, "cli") == "Command"
}

// commandOf is the name of the command that a method makes, where it stands
// there, and whether it says what the command is for.
func commandOf(f *ast.FuncDecl) (name string, usage bool) {
	seen := false
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok || seen || selected(lit.Type, "cli") != "Command" {
			return !seen
		}
		seen = true
		for _, e := range lit.Elts {
			kv, ok := e.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Name" {
				name = literal(kv.Value)
			} else if ok && key.Name == "Usage" {
				usage = true
			}
		}
		return false
	})
	return name, usage || !seen
}

// pagesOf are the pages that people read, one after the other.
func pagesOf(t *testing.T, tree fs.FS) string {
	t.Helper()
	names, err := fs.Glob(tree, "docs/*.md")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	var all strings.Builder
	for _, name := range slices.Concat(names, []string{"README.md"}) {
		body, err := fs.ReadFile(tree, name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(body)
	}
	return all.String()
}
