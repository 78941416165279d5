// Pick prints the arguments with which go test plays a part of the tests:
//
//	pick long       the slow tests that neither make test nor make race plays
//	pick others     the packages that do not say pace.OnlyBeside, where something is begun
//	pick beside     of those that do, the tests that begin something beside themselves
//	pick quick      all packages, without these tests
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("which part is meant: long, others, quick or beside"))
	}
	all, err := read(".")
	if err != nil {
		fail(err)
	}
	args, err := pick(os.Args[1], all)
	if err != nil {
		fail(err)
	}
	fmt.Println(strings.Join(args, " "))
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "pick:", err)
	os.Exit(2)
}

// pkg is a package that has tests.
type pkg struct {
	path       string // as go test takes it
	onlyBeside bool   // says pace.OnlyBeside
	begins     bool   // something goes on beside, in its tests or in what they test
	tests      map[string]reached
}

// reached is what a test calls, by whatever way within its folder.
type reached map[string]bool

// beside is in reached where something is begun that goes on beside: by a go statement,
// or by a method Go.
const beside = "go"

// unwatched says of a test that make race does not play it.
func (p pkg) unwatched(r reached) bool {
	return r["pace.Sequential"] || !p.begins || p.onlyBeside && !r[beside]
}

// long says of a test that neither make test nor make race plays it.
func (p pkg) long(r reached) bool {
	return r["pace.Slow"] && p.unwatched(r) || r["pace.LeftButLong"]
}

// pick are the arguments for one part of the tests.
func pick(part string, all []pkg) ([]string, error) {
	var packages []string
	tests := map[string]bool{}
	add := func(p pkg, chosen func(reached) bool) {
		any := false
		for name, r := range p.tests {
			if chosen(r) {
				tests[name], any = true, true
			}
		}
		if any {
			packages = append(packages, p.path)
		}
	}
	for _, p := range all {
		switch {
		case part == "long":
			add(p, p.long)
		case part == "beside" && p.onlyBeside:
			add(p, func(r reached) bool { return !p.unwatched(r) })
		case part == "others" && !p.onlyBeside && p.begins:
			packages = append(packages, p.path)
		}
	}
	if part == "quick" {
		return quick(all)
	}
	if len(packages) == 0 {
		return nil, fmt.Errorf("%q is no part of the tests here", part)
	}
	if len(tests) > 0 {
		packages = append([]string{"-run=^(" + strings.Join(slices.Sorted(maps.Keys(tests)), "|") + ")$"}, packages...)
	}
	return packages, nil
}

// quick leaves what make race plays of packages that say pace.OnlyBeside. These tests are
// left by their names, so that no other test may have one of them.
func quick(all []pkg) ([]string, error) {
	left := map[string]string{} // the package of a test
	for _, p := range all {
		for name, r := range p.tests {
			if p.onlyBeside && !p.unwatched(r) {
				left[name] = p.path
			}
		}
	}
	for _, p := range all {
		for name := range p.tests {
			if of, ok := left[name]; ok && of != p.path {
				return nil, fmt.Errorf("%s and %s both have a %s: call one of them otherwise", of, p.path, name)
			}
		}
	}
	if len(left) == 0 {
		return []string{"./..."}, nil
	}
	return []string{"-skip=^(" + strings.Join(slices.Sorted(maps.Keys(left)), "|") + ")$", "./..."}, nil
}

// read are the packages of the module below root that have tests.
func read(root string) ([]pkg, error) {
	var out []pkg
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "vendor" || isModule(dir)) {
			return fs.SkipDir
		}
		p, err := readPackage(dir)
		if p != nil {
			out = append(out, *p)
		}
		return err
	})
	return out, err
}

// isModule says that a folder is a module of its own.
func isModule(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// readPackage is the package of a folder; nil where it has no tests. What a test calls in
// the same folder counts as its own.
func readPackage(dir string) (*pkg, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		return nil, err
	}
	p := &pkg{path: "./" + filepath.ToSlash(dir), tests: map[string]reached{}}
	if p.begins, err = begins(dir); err != nil {
		return nil, err
	}
	calls := map[string]reached{} // of each function
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if isReal(f) {
			continue
		}
		for _, decl := range f.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				name := decl.Name.Name
				if calls[name] == nil { // methods of two types may have one name
					calls[name] = reached{}
				}
				maps.Copy(calls[name], callsOf(decl))
			case *ast.GenDecl:
				p.onlyBeside = p.onlyBeside || callsOf(decl)["pace.OnlyBeside"]
			}
		}
	}
	for name := range calls {
		if strings.HasPrefix(name, "Test") {
			p.tests[name] = reaches(calls, name)
		}
	}
	return p, nil
}

// begins says that in a folder's files, or in a test of them, something goes on beside: a go
// statement, a method Go, an AfterFunc, tests beside each other, a server, which begins one
// for each request, or a program whose output is read. What goes on in other packages is
// watched there.
func begins(dir string) (bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return false, err
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		for _, i := range f.Imports {
			if strings.HasPrefix(i.Path.Value, `"net/http`) || i.Path.Value == `"os/exec"` {
				return true, nil
			}
		}
		if calls := callsOf(f); calls[beside] || calls["Parallel"] || calls["AfterFunc"] {
			return true, nil
		}
	}
	return false, nil
}

// isReal says that a file is of the tests against real programs, which are of neither
// target.
func isReal(f *ast.File) bool {
	for _, g := range f.Comments {
		if g.Pos() < f.Package && strings.Contains(g.List[0].Text, "//go:build real") {
			return true
		}
	}
	return false
}

// callsOf are the functions that a declaration calls or passes on: its package's own by
// their name, those of pace as pace.Name.
func callsOf(decl ast.Node) reached {
	out := reached{}
	ast.Inspect(decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && of.Name == "pace" {
				out["pace."+n.Sel.Name] = true
			}
			if n.Sel.Name == "Go" {
				out[beside] = true
			}
			out[n.Sel.Name] = true
		case *ast.GoStmt:
			out[beside] = true
		case *ast.Ident:
			out[n.Name] = true
		}
		return true
	})
	return out
}

// reaches is all that a function calls, by whatever way within its folder.
func reaches(calls map[string]reached, name string) reached {
	seen, todo := reached{}, []string{name}
	for len(todo) > 0 {
		next := todo[0]
		todo = todo[1:]
		for callee := range calls[next] {
			if !seen[callee] {
				seen[callee] = true
				todo = append(todo, callee)
			}
		}
	}
	return seen
}
