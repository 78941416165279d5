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

// fromInside is a test of Go that stands beside its package as it would be within it:
// without the package's name before what it takes from it, each line where it was. A
// variable of that name is none. nil = inside, which is the other state, it is not
// the same test's, or what it imports is another package.
func (m *Map) fromInside(p string, outside, inside []byte) []byte {
	pkg := goPackage(inside)
	if pkg == "" || goPackage(outside) != pkg+"_test" {
		return nil
	}
	fset := gotoken.NewFileSet()
	f, err := parser.ParseFile(fset, "", outside, 0)
	if err != nil || !imports(f, m.goImportPath(path.Dir(p)), pkg) {
		return nil
	}
	out := bytes.Clone(outside)
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

// goPackage is the package that a file of Go says it is of.
func goPackage(content []byte) string {
	f, err := parser.ParseFile(gotoken.NewFileSet(), "", content, parser.PackageClauseOnly)
	if err != nil {
		return ""
	}
	return f.Name.Name
}

// goImportPath is what a folder's package is imported by; "" = it is in no module of
// the tree.
func (m *Map) goImportPath(dir string) string {
	for at, rest := dir, ""; ; at, rest = path.Dir(at), path.Join(path.Base(at), rest) {
		if name := m.GoModules[at]; name != "" {
			return path.Join(name, rest)
		}
		if at == "." || at == "/" {
			return ""
		}
	}
}

// imports says that a file imports one package, by the name pkg.
func imports(f *ast.File, from, pkg string) bool {
	for _, spec := range f.Imports {
		at, err := strconv.Unquote(spec.Path.Value)
		if err == nil && at == from && from != "" && (spec.Name == nil || spec.Name.Name == pkg) {
			return true
		}
	}
	return false
}
