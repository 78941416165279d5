package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// core is the package whose phases are seen outside in views.
const core = "forge/orchestrator"

// TestPhasesAreSeenInViews holds that outside the core nobody has a phase: who reads one
// asks the state for a View, a copy without what the core alone goes by.
func TestPhasesAreSeenInViews(t *testing.T) {
	packages := listed(t)
	load := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(packages[path].Export)
	})
	for _, p := range packages {
		if !slices.Contains(p.Deps, core) {
			continue
		}
		sources := map[string][]byte{}
		for _, name := range p.GoFiles {
			file := filepath.Join(p.Dir, name)
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources[file] = src
		}
		for _, problem := range phasesHeld(t, p.ImportPath, sources, load) {
			t.Error(problem)
		}
	}
}

// TestPhasesAreSeenInViewsOnManyMachines holds the program that is a module of its own, whose
// libraries are not built here, to the same by what it writes.
func TestPhasesAreSeenInViewsOnManyMachines(t *testing.T) {
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "cmd/forge-temporal"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		files++
		src, err := os.ReadFile(file)
		for _, problem := range phasesNamed(t, file, src) {
			t.Error(problem)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files, %v", files, err)
	}
	for src, want := range map[string]bool{
		"var p *orchestrator.Phase":                     true,
		"func f() { g(s.Phases[n]) }":                   true,
		"func f() { for range s.Phases { } }":           true,
		"func f() { for range s.Spec.Plan.Phases { } }": false,
		"var p *orchestrator.View":                      false,
	} {
		if got := len(phasesNamed(t, "x.go", []byte("package x; "+src))) > 0; got != want {
			t.Errorf("%s: %v", src, got)
		}
	}
}

// phasesNamed is where a file names the type of a phase, or the phases of what is no plan.
func phasesNamed(t *testing.T, name string, src []byte) []string {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		sel, is := n.(*ast.SelectorExpr)
		if !is {
			return true
		}
		of, _ := sel.X.(*ast.Ident)
		in, _ := sel.X.(*ast.SelectorExpr)
		if sel.Sel.Name == "Phase" && of != nil && of.Name == "orchestrator" || sel.Sel.Name == "Phases" && (in == nil || in.Sel.Name != "Plan") {
			found = append(found, fmt.Sprintf("%s: a phase of the core: ask the state for its View", set.Position(sel.Pos())))
		}
		return true
	})
	return found
}

// TestPhasesHeld breaks the rule in each way.
func TestPhasesHeld(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "core.go", `package orchestrator
type View struct{ Number string }
type Phase struct { View; Conflict string }
type State struct { Phases map[string]*Phase }
func (s *State) View(n string) *View { v := s.Phases[n].View; return &v }
func (s *State) First() *Phase { return nil }
type Plan struct { Phases []View }
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := new(types.Config).Check(core, set, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]string{
		`func f(s *orchestrator.State) string { return s.View("1").Number }`:               "",
		`func f(p orchestrator.Plan) string { return p.Phases[0].Number }`:                 "",
		`func f(s *orchestrator.State) string { return s.Phases["1"].Number }`:             "x.go:3:",
		`func f(s orchestrator.State) { for _, p := range s.Phases { p.Number = "2" } }`:   "x.go:3:",
		`func f(p *orchestrator.Phase) {}`:                                                 "x.go:3:",
		`func f(s *orchestrator.State) { _ = s.First() }`:                                  "x.go:3:",
		`type S struct { *orchestrator.State }; func f(s S) bool { return s.Phases==nil }`: "x.go:3:",
	} {
		sources := map[string][]byte{"x.go": []byte("package x\nimport \"forge/orchestrator\"\n" + src)}
		got := strings.Join(phasesHeld(t, "x", sources, only{checked}), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", src, got, want)
		}
	}
}

// only imports one package.
type only struct{ *types.Package }

func (o only) Import(path string) (*types.Package, error) {
	if path != o.Path() {
		return nil, errors.New("no package " + path)
	}
	return o.Package, nil
}

// phaseOfCore is the type, in whatever else: behind a pointer, in a map, what a function
// takes or returns.
var phaseOfCore = regexp.MustCompile(regexp.QuoteMeta(core) + `\.Phase\b`)

// phasesHeld is where a package has a phase of the core in hand.
func phasesHeld(t *testing.T, path string, sources map[string][]byte, load types.Importer) []string {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	for name, src := range sources {
		file, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: load}).Check(path, set, files, &info); err != nil {
		t.Fatal(err)
	}
	var held []string
	for expr, is := range info.Types {
		if phaseOfCore.MatchString(types.TypeString(is.Type, nil)) {
			held = append(held, fmt.Sprintf("%s: a phase of the core: ask the state for its View", set.Position(expr.Pos())))
		}
	}
	slices.Sort(held)
	return held
}

// listedPackage is what go list says of a package.
type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles, Deps           []string
}

// listed are the packages of the module and all that they import, built.
func listed(t *testing.T) map[string]listedPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,Deps", "./...")
	cmd.Dir = root
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, complaint.String())
	}
	packages := map[string]listedPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var p listedPackage
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages[p.ImportPath] = p
	}
	return packages
}
