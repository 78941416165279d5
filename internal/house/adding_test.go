package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"
)

// edited is the repository with some files otherwise: with a fake event, command
// or reviewer in one place alone, each of the other places has to be missed.
type edited struct {
	fs.FS
	files map[string]string
}

// ReadFile returns what stands in the file, or would.
func (e edited) ReadFile(name string) ([]byte, error) {
	if body, ok := e.files[name]; ok {
		return []byte(body), nil
	}
	return fs.ReadFile(e.FS, name)
}

// with returns tree with old replaced in one file, which has to hold it.
func with(t *testing.T, tree fs.FS, name, old, now string) edited {
	t.Helper()
	body, err := fs.ReadFile(tree, name)
	if err != nil || !strings.Contains(string(body), old) {
		t.Fatalf("%s does not hold %q: %v", name, old, err)
	}
	return edited{tree, map[string]string{name: strings.Replace(string(body), old, now, 1)}}
}

// missed holds what is found of a fake against what has to be.
func missed(t *testing.T, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("of the fake is missed:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// parsed are the product's files of a room, without its tests.
func parsed(t *testing.T, tree fs.FS, room string) (files []*ast.File) {
	t.Helper()
	names, err := fs.Glob(tree, room+"/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: %d files: %v", room, len(names), err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files = append(files, parsedFile(t, tree, name))
	}
	return files
}

func parsedFile(t *testing.T, tree fs.FS, name string) *ast.File {
	t.Helper()
	body, err := fs.ReadFile(tree, name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path.Base(name), body, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// selected is the name that an expression takes from a package; "" = it is none.
func selected(e ast.Expr, pkg string) string {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := sel.X.(*ast.Ident); !ok || x.Name != pkg {
		return ""
	}
	return sel.Sel.Name
}

// literal is a text that stands in the source; "" = e is none.
func literal(e ast.Expr) string {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	word, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return word
}
