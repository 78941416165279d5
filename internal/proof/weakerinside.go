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

// asInside writes what tests take from a module alike in both states, where one
// names the module before it and the other does not: calc.add is add. Of Go that is
// the package beside which tests stand in one state and within it in the other. All
// else is as it was.
func asInside(was, now map[string][]byte) (before, after map[string][]byte) {
	before, after = was, now
	for p, a := range was {
		b := now[p]
		if a == nil || b == nil {
			continue
		}
		var shortA, shortB []byte
		switch lang := language(p); lang {
		case "go":
			from, to := goPackage(a), goPackage(b)
			if to == from+"_test" {
				shortB = unqualified(b, from)
			} else if from == to+"_test" {
				shortA = unqualified(a, to)
			}
		case "python", "script":
			shortA, shortB = shortened(lang, a, b), shortened(lang, b, a)
		}
		if shortA != nil {
			before = with(before, p, shortA)
		}
		if shortB != nil {
			after = with(after, p, shortB)
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
		return nil
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
