package runner

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// goExpectations finds what tests of Go expect: conditions that lead to a
// failure, and calls of assertion libraries that have an opposite.
func goExpectations(src []byte) []Wrong {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	var all []Wrong
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || !isGoTest(fn) {
			continue
		}
		name := "func " + fn.Name.Name
		ast.Inspect(fn.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if failsIn(n.Body) {
					from, to := at(n.Cond.Pos()), at(n.Cond.End())
					all = append(all, Wrong{Test: name, From: from, To: to, Text: "!(" + string(src[from:to]) + ")", Sort: WrongTurned})
					all = append(all, goValues(fset, n.Cond, name, true)...)
				}
			case *ast.CallExpr:
				sel, ok := n.Fun.(*ast.SelectorExpr)
				if !ok || !isAssertLibrary(sel.X) {
					return true
				}
				if turned := goWords(sel.Sel.Name); turned != "" {
					all = append(all, Wrong{Test: name, From: at(sel.Sel.Pos()), To: at(sel.Sel.End()), Text: turned, Sort: WrongTurned})
				}
				for _, a := range n.Args[min(1, len(n.Args)):] {
					all = append(all, goValues(fset, a, name, true)...)
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && isExpected(key.Name) {
					all = append(all, goValues(fset, n.Value, name, true)...)
				}
			case *ast.BasicLit:
				all = append(all, goValues(fset, n, name, false)...)
			}
			return true
		})
	}
	return all
}

// goValues returns the literals in x, each as another value. Numbers count
// anywhere, texts and truth only where something is expected.
func goValues(fset *token.FileSet, x ast.Expr, test string, expected bool) []Wrong {
	var all []Wrong
	add := func(n ast.Node, text string) {
		w := Wrong{Test: test, From: fset.Position(n.Pos()).Offset, To: fset.Position(n.End()).Offset, Text: text, Sort: WrongNumber}
		if expected {
			w.Sort = WrongValue
		}
		if text != "" {
			all = append(all, w)
		}
	}
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			switch {
			case n.Kind == token.INT:
				add(n, another(n.Value))
			case n.Kind == token.STRING && expected:
				add(n, n.Value[:len(n.Value)-1]+"q"+n.Value[len(n.Value)-1:])
			}
		case *ast.Ident:
			if expected {
				add(n, opposites("true", "false")(n.Name))
			}
		}
		return true
	})
	return all
}

// isExpected says whether a name is one of what a test expects.
func isExpected(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"want", "expect", "exp", "result", "out"} {
		if strings.HasPrefix(name, word) {
			return true
		}
	}
	return false
}

func isGoTest(fn *ast.FuncDecl) bool {
	return strings.HasPrefix(fn.Name.Name, "Test") && fn.Name.Name != "TestMain"
}

// takesT says whether a function's first parameter is of the testing package.
func takesT(t *ast.FuncType) bool {
	if t.Params == nil || len(t.Params.List) == 0 {
		return false
	}
	p, ok := t.Params.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := p.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "testing" && sel.Sel.Name == "T"
}

// failsIn says whether a block reports a failure itself.
func failsIn(b *ast.BlockStmt) bool {
	for _, s := range b.List {
		e, ok := s.(*ast.ExprStmt)
		if !ok {
			continue
		}
		call, ok := e.X.(*ast.CallExpr)
		if !ok {
			continue
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
			switch sel.Sel.Name {
			case "Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow":
				return true
			}
		}
	}
	return false
}

// isAssertLibrary says whether x is what assertion libraries are imported as.
func isAssertLibrary(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	if !ok {
		return false
	}
	switch id.Name {
	case "assert", "require", "is", "s", "suite", "c", "qt":
		return true
	}
	return false
}

var goWords = opposites("Equal", "NotEqual", "True", "False", "Nil", "NotNil", "NoError", "Error", "Contains", "NotContains",
	"Empty", "NotEmpty", "Zero", "NotZero", "Same", "NotSame", "ErrorIs", "NotErrorIs", "Panics", "NotPanics", "Regexp", "NotRegexp",
	"Greater", "LessOrEqual", "Less", "GreaterOrEqual")
