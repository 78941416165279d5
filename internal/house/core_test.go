package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// coreImports are the packages of the standard library that the core may import:
// none of them reads or writes anything, tells the time by itself, or waits.
func coreImports() []string {
	return []string{
		"bytes", "cmp", "crypto/sha256", "encoding/hex", "encoding/json", "errors", "fmt", "maps", "math", "path", "reflect", "slices", "sort",
		"strings", "time",
	}
}

// TestTheCoresAreAlone holds the cores of runs and of landings to values: the same
// state and input give the same events, whatever process and machine asks.
func TestTheCoresAreAlone(t *testing.T) {
	for _, core := range []string{"orchestrator", "factory/landing"} {
		alone(t, core)
	}
}

// TestWhatTheCoreIsMadeOfBeginsNothing holds what is not watched by the race detector,
// since it begins nothing beside itself, to that.
func TestWhatTheCoreIsMadeOfBeginsNothing(t *testing.T) {
	for _, room := range []string{"gates", "dag", "review"} {
		files, err := filepath.Glob(filepath.Join(root, room, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files: %v", room, len(files), err)
		}
		for _, name := range files {
			src, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.go") && beginsSomething(t, string(src)) {
				t.Errorf("%s/%s begins something beside itself: its package may not say pace.OnlyBeside then", room, filepath.Base(name))
			}
		}
	}
	for src, want := range map[string]bool{"func f() { go f() }": true, "func f() { each.Go(f) }": true, "func f() { f() }": false} {
		if got := beginsSomething(t, "package x; "+src); got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}

func beginsSomething(t *testing.T, src string) (is bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		call, calls := n.(*ast.SelectorExpr)
		_, goes := n.(*ast.GoStmt)
		is = is || goes || calls && call.Sel.Name == "Go"
		return true
	})
	return is
}

func alone(t *testing.T, core string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, core, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files: %v", core, len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range impure(t, core+"/"+filepath.Base(name), string(src)) {
			t.Error(p)
		}
	}
}

// impure is what in a file of the core is no matter of values.
func impure(t *testing.T, name, src string) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	say := func(n ast.Node, what string) {
		at := set.Position(n.Pos())
		found = append(found, fmt.Sprintf("%s:%d: %s: the core is values alone; what it needs comes in with an input, and what is to be done goes out as an effect", at.Filename, at.Line, what))
	}
	for _, spec := range file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !strings.HasPrefix(p, "forge/") && !slices.Contains(coreImports(), p):
			say(spec, "it imports "+p)
		case spec.Name != nil && (spec.Name.Name == "." || p == "time" || p == "fmt"):
			say(spec, "it imports "+p+" under another name")
		case path.Base(p) == "proc" || path.Base(p) == "git":
			say(spec, "it imports "+p)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			say(n, "a goroutine")
		case *ast.SelectStmt:
			say(n, "a select")
		case *ast.ChanType:
			say(n, "a channel")
		case *ast.SelectorExpr:
			of, ok := n.X.(*ast.Ident)
			if !ok {
				break
			}
			acts := of.Name == "fmt" && (strings.HasPrefix(n.Sel.Name, "Print") || strings.HasPrefix(n.Sel.Name, "Scan"))
			clock := of.Name == "time" && slices.Contains([]string{
				"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Local", "LoadLocation",
			}, n.Sel.Name)
			if acts || clock {
				say(n, of.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return found
}

// TestWhatTheCoreMayNotDo breaks the rule in every way that it names.
func TestWhatTheCoreMayNotDo(t *testing.T) {
	for src, want := range map[string]string{
		`import "os"`:                            "it imports os",
		`import "context"`:                       "it imports context",
		`import "sync"`:                          "it imports sync",
		`import "net/http"`:                      "it imports net/http",
		`import "math/rand/v2"`:                  "it imports math/rand/v2",
		`import "path/filepath"`:                 "it imports path/filepath",
		`import "forge/internal/proc"`:           "it imports forge/internal/proc",
		`import t "time"`:                        "under another name",
		`import "time"; var at = time.Now()`:     "time.Now",
		`import "time"; var at = time.Local`:     "time.Local",
		`import "fmt"; func f() { fmt.Print() }`: "fmt.Print",
		`func f() { go f() }`:                    "a goroutine",
		`func f() { select {} }`:                 "a select",
		`var c chan int`:                         "a channel",
		`import "time"; var d = time.Second`:     "",
		`import "forge/gates"`:                   "",
	} {
		got := strings.Join(impure(t, "orchestrator/x.go", "package orchestrator; "+src), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}
