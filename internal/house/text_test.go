package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"forge/internal/text"
)

// seenClasses are what of package unicode says nothing about what can be seen.
var seenClasses = []string{
	"IsLetter", "IsDigit", "IsNumber", "IsMark", "IsSpace", "IsPunct", "IsSymbol", "IsUpper", "IsLower", "IsTitle",
	"ToUpper", "ToLower", "ToTitle", "SimpleFold", "MaxRune", "MaxASCII", "ReplacementChar",
}

// What is invisible, and how a text is cut, stands in internal/text alone.
func TestTextIsMadeInOnePlace(t *testing.T) {
	found, err := textProblems(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		t.Error(p)
	}
}

// textProblems are the places in the program outside of internal/text that
// decide what can be seen, or cut a text between characters.
func textProblems(tree fs.FS) ([]string, error) {
	var found []string
	err := fs.WalkDir(tree, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if n := d.Name(); d.IsDir() {
			if p != "." && (n == "testdata" || n == "bin" || strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_") || p == "internal/text") {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go") {
			return nil
		}
		source, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, p, source, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := textProblem(n); what != "" {
				found = append(found, fmt.Sprintf("%s %s: internal/text does that", set.Position(n.Pos()), what))
			}
			return true
		})
		return nil
	})
	return found, err
}

func textProblem(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BasicLit:
		if r, ok := hiddenIn(n); ok {
			return fmt.Sprintf("names %U, which nobody sees", r)
		}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "unicode" && x.Obj == nil && !slices.Contains(seenClasses, n.Sel.Name) {
			return "asks unicode." + n.Sel.Name + " what can be seen"
		}
	case *ast.CallExpr:
		if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "ToValidUTF8" && len(n.Args) > 0 && isBeginning(n.Args[0]) {
			return "cuts a text and drops the half of a character"
		}
		if f, ok := n.Fun.(*ast.Ident); ok && f.Name == "string" && len(n.Args) == 1 && isBeginning(n.Args[0]) && areRunes(n.Args[0]) {
			return "cuts a text after so many characters"
		}
	case *ast.BinaryExpr:
		if n.Op == token.ADD && isBeginning(n.X) && isEllipsis(n.Y) {
			return "cuts a text and says that there was more"
		}
	}
	return ""
}

// hiddenIn is the first character of a literal that nobody sees; control
// characters of ASCII are also those of Forge's own output.
func hiddenIn(n *ast.BasicLit) (rune, bool) {
	var words string
	switch n.Kind {
	case token.STRING:
		words, _ = strconv.Unquote(n.Value)
	case token.CHAR:
		r, _, _, _ := strconv.UnquoteChar(n.Value[1:], '\'')
		words = string(r)
	case token.INT:
		if v, err := strconv.ParseInt(n.Value, 0, 32); err == nil && len(n.Value) >= len("0x2028") && strings.HasPrefix(n.Value, "0x") {
			words = string(rune(v))
		}
	}
	for _, r := range words {
		if r > 0x7f && text.Invisible(r) {
			return r, true
		}
	}
	return 0, false
}

// isBeginning says that an expression is x[:n].
func isBeginning(e ast.Expr) bool {
	s, ok := e.(*ast.SliceExpr)
	return ok && s.Low == nil && s.High != nil
}

// areRunes says that what is sliced was made of a text by []rune, there or where
// the variable was.
func areRunes(e ast.Expr) bool {
	of := e.(*ast.SliceExpr).X
	if x, ok := of.(*ast.Ident); ok && x.Obj != nil {
		if a, ok := x.Obj.Decl.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, left := range a.Lhs {
				if l, ok := left.(*ast.Ident); ok && l.Name == x.Name {
					of = a.Rhs[i]
				}
			}
		}
	}
	call, ok := of.(*ast.CallExpr)
	if !ok {
		return false
	}
	to, ok := call.Fun.(*ast.ArrayType)
	if !ok {
		return false
	}
	elem, ok := to.Elt.(*ast.Ident)
	return ok && elem.Name == "rune"
}

func isEllipsis(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return false
	}
	words, err := strconv.Unquote(lit.Value)
	words = strings.TrimSpace(words)
	return err == nil && (strings.HasPrefix(words, "…") || strings.HasPrefix(words, "..."))
}

func TestTextProblemsAreFound(t *testing.T) {
	for body, want := range map[string]string{
		`_ = strings.Contains(s, "\u200b")`:                   "names U+200B",
		"_ = strings.Contains(s, `\u3164`)":                   "names U+3164",
		"_ = strings.Contains(s, `\\u3164`)":                  "",
		`_ = s[0] == '\u2028'`:                                "names U+2028",
		`_ = rune(s[0]) == 0xfe0f`:                            "names U+FE0F",
		`_ = unicode.Is(unicode.Cf, 'a')`:                     "asks unicode.",
		`_ = unicode.IsControl('a')`:                          "asks unicode.IsControl",
		`_ = unicode.IsLetter('a')`:                           "",
		`_ = strings.ToValidUTF8(s[:5], "")`:                  "drops the half",
		`r := []rune(s); _ = string(r[:5])`:                   "after so many characters",
		`if r := []rune(s); len(r) > 5 { s = string(r[:5]) }`: "after so many characters",
		`_ = string([]rune(s)[:5])`:                           "after so many characters",
		`_ = s[:5] + "…"`:                                     "says that there was more",
		`_ = s[:5] + "\x1b[m"`:                                "",
		`b := []byte(s); _ = string(b[:5])`:                   "",
	} {
		tree := fstest.MapFS{
			"a/a.go":             {Data: []byte("package a\nfunc f(s string) { " + body + " }\n")},
			"a/a_test.go":        {Data: []byte("package a\nfunc f(s string) { _ = s[:5] + \"…\" }\n")},
			"internal/text/a.go": {Data: []byte("package text\nfunc f(s string) { _ = s[:5] + \"…\" }\n")},
		}
		found, err := textProblems(tree)
		if err != nil {
			t.Fatal(err)
		}
		all := strings.Join(found, "\n")
		if want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s: %q, want %q", body, all, want)
		}
	}
}
