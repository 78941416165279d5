package proof

import (
	"bytes"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"path"
	"strconv"
	"strings"
)

// asInside writes tests of Go that stand beside their package in one of two states
// and within it in the other as if they stood within it in both: calc.Add is Add.
// The other files are as they were.
func asInside(was, now map[string][]byte) (before, after map[string][]byte) {
	before, after = was, now
	for p, a := range was {
		b := now[p]
		if language(p) != "go" || a == nil || b == nil {
			continue
		}
		switch from, to := goPackage(a), goPackage(b); {
		case to == from+"_test":
			after = with(after, p, unqualified(b, from))
		case from == to+"_test":
			before = with(before, p, unqualified(a, to))
		}
	}
	return before, after
}

func with(files map[string][]byte, p string, content []byte) map[string][]byte {
	out := make(map[string][]byte, len(files))
	for name, was := range files {
		out[name] = was
	}
	out[p] = content
	return out
}

// goPackage is the package that a file of Go says it is of.
func goPackage(content []byte) string {
	f, err := parser.ParseFile(gotoken.NewFileSet(), "", content, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

// unqualified is a file without the name of a package that it imports before what
// it takes from it, each line where it was. A variable of that name is none.
func unqualified(content []byte, pkg string) []byte {
	fset := gotoken.NewFileSet()
	f, err := parser.ParseFile(fset, "", content, 0)
	if err != nil || !imports(f, pkg) {
		return content
	}
	out := bytes.Clone(content)
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if name, ok := sel.X.(*ast.Ident); ok && name.Name == pkg && name.Obj == nil {
			from, to := fset.Position(name.Pos()).Offset, fset.Position(sel.Sel.Pos()).Offset
			if !bytes.Contains(out[from:to], []byte("\n")) {
				copy(out[from:to], strings.Repeat(" ", to-from))
			}
		}
		return true
	})
	return out
}

func imports(f *ast.File, pkg string) bool {
	for _, spec := range f.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err == nil && path.Base(at) == pkg && (spec.Name == nil || spec.Name.Name == pkg) {
			return true
		}
	}
	return false
}
