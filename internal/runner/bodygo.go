package runner

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/scanner"
	"go/token"
	"strings"
)

// goFunctions returns the functions of a Go file. Their bodies go out in two
// ways: a panic, and zero values for what is called while a package starts.
func goFunctions(src []byte) ([]Function, bool) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return nil, false
	}
	var all []Function
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil || len(fn.Body.List) == 0 {
			continue
		}
		begin, end := fset.Position(fn.Pos()), fset.Position(fn.End())
		all = append(all, Function{
			Name: goName(fn), Line: begin.Line, End: end.Line,
			From: fset.Position(fn.Body.Lbrace).Offset + 1, To: fset.Position(fn.Body.Rbrace).Offset,
			Form: goForm(src[begin.Offset:end.Offset]),
			ends: []string{` panic("%s"); `, zeroBody(fset, fn)},
		})
	}
	return all, true
}

func goName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name + "." + fn.Name.Name
		default:
			return fn.Name.Name
		}
	}
}

// goForm is a function as the tokens that mean something.
func goForm(src []byte) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), src, func(token.Position, string) {}, 0)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON {
			lit = ""
		}
		if tok.IsLiteral() || tok == token.SEMICOLON && lit != "" {
			b.WriteString(lit)
		} else {
			b.WriteString(tok.String())
		}
		b.WriteByte(' ')
	}
	form := b.String()
	for _, close := range []string{")", "]", "}"} {
		form = strings.ReplaceAll(form, ", "+close, close)
	}
	return strings.ReplaceAll(form, "; }", "}")
}

// zeroBody returns zero values of what a function returns.
func zeroBody(fset *token.FileSet, fn *ast.FuncDecl) string {
	if fn.Type.Results == nil {
		return " return; "
	}
	var values []string
	for _, field := range fn.Type.Results.List {
		var typ bytes.Buffer
		if printer.Fprint(&typ, fset, field.Type) != nil {
			return " return; "
		}
		for range max(1, len(field.Names)) {
			values = append(values, fmt.Sprintf("*new(%s)", typ.String()))
		}
	}
	return " return " + strings.Join(values, ", ") + "; "
}

// Catching returns a Go test file in which each test reports a panic as its
// own failure, so that one lost function does not end the tests of all others.
func Catching(src []byte) []byte {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return src
	}
	var cuts []int
	names := map[int]string{}
	note := func(t *ast.FuncType, body *ast.BlockStmt) {
		if body == nil || !takesT(t) || len(t.Params.List[0].Names) != 1 || t.Params.List[0].Names[0].Name == "_" {
			return
		}
		at := fset.Position(body.Lbrace).Offset + 1
		cuts = append(cuts, at)
		names[at] = t.Params.List[0].Names[0].Name
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if strings.HasPrefix(n.Name.Name, "Test") {
				note(n.Type, n.Body)
			}
		case *ast.FuncLit:
			note(n.Type, n.Body)
		}
		return true
	})
	var out []byte
	last := 0
	for _, at := range cuts {
		out = append(out, src[last:at]...)
		out = append(out, fmt.Sprintf(" defer func() { if r := recover(); r != nil { %s.Errorf(\"%%v\", r) } }(); ", names[at])...)
		last = at
	}
	return append(out, src[last:]...)
}
