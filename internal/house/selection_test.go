package house

import (
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sandboxWord is the variable by which a test is told that it may not be
// skipped for want of a sandbox.
const sandboxWord = "FORGE_TEST_REQUIRE_" + "SANDBOX"

// scripts/real.sh runs no test that needs no real program, and misses none
// that does: none of a file with the build tag real, and none that looks, by
// itself or by a helper, whether it may be skipped without a sandbox.
func TestSelectionOfRealTests(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(root + "/scripts/real.sh")
	if err != nil {
		t.Fatal(err)
	}
	selected := regexp.MustCompile(assigned(t, string(script), "selection"))
	packages := strings.Fields(assigned(t, string(script), "packages"))
	found := 0
	for dir, need := range needReal(t, root) {
		for _, name := range need {
			found++
			if !selected.MatchString(name) {
				t.Errorf("%s of %s is not selected by scripts/real.sh, and would run nowhere", name, dir)
			}
			if !slices.Contains(packages, dir) {
				t.Errorf("%s has %s, and is not among the packages of scripts/real.sh", dir, name)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d tests that need real programs were found", found)
	}
}

// The search finds a test of a tagged file, one that looks for a sandbox by
// way of two helpers, and no other.
func TestSelectionFinds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a_test.go": "//go:build real && linux\n\npackage a\n\nfunc TestTagged(t *testing.T) {}\n\nfunc helper() {}\n",
		"b_test.go": "package a\n\nfunc TestByHelpers(t *testing.T) { t.Run(\"x\", func(t *testing.T) { outer() }) }\n\nfunc TestOther(t *testing.T) { harmless() }\n" +
			"\nfunc TestMain(m *testing.M) { outer() }\n",
		"c_test.go": "//go:build !real\n\npackage a\n\nfunc outer() { inner() }\n\nfunc inner() { os.Getenv(\"" + sandboxWord + "\") }\n\nfunc harmless() {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got := needReal(t, dir)["."]; !slices.Equal(got, []string{"TestByHelpers", "TestTagged"}) {
		t.Errorf("found %q", got)
	}
}

// assigned is what a shell script sets a variable to, in single quotes.
func assigned(t *testing.T, script, variable string) string {
	t.Helper()
	_, rest, ok := strings.Cut(script, "\n"+variable+"='")
	value, _, closed := strings.Cut(rest, "'")
	if !ok || !closed {
		t.Fatalf("the script does not set %s", variable)
	}
	return value
}

// needReal lists the tests below root that need real programs, by folder.
func needReal(t *testing.T, root string) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			rel, err := filepath.Rel(root, filepath.Dir(path))
			if err != nil {
				return err
			}
			dir := filepath.ToSlash(rel)
			if dir != "." {
				dir = "./" + dir
			}
			files[dir] = append(files[dir], path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for dir, paths := range files {
		if need := needRealOf(t, paths); len(need) > 0 {
			out[dir] = need
		}
	}
	return out
}

// needRealOf lists those of one package.
func needRealOf(t *testing.T, paths []string) []string {
	t.Helper()
	uses := map[string][]string{} // function → what it names
	var need []string
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			uses[f.Name.Name] = append(uses[f.Name.Name], names(f)...)
			if isTest(f.Name.Name) && tagged(file) {
				need = append(need, f.Name.Name)
			}
		}
	}
	for name := range uses {
		if isTest(name) && !slices.Contains(need, name) && reaches(uses, name, map[string]bool{}) {
			need = append(need, name)
		}
	}
	slices.Sort(need)
	return need
}

func isTest(name string) bool { return strings.HasPrefix(name, "Test") && name != "TestMain" }

// names are the identifiers of a function, and sandboxWord where it is written.
func names(f *ast.FuncDecl) []string {
	var out []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			out = append(out, n.Name)
		case *ast.BasicLit:
			if n.Value == `"`+sandboxWord+`"` {
				out = append(out, sandboxWord)
			}
		}
		return true
	})
	return out
}

func reaches(uses map[string][]string, name string, seen map[string]bool) bool {
	if seen[name] {
		return false
	}
	seen[name] = true
	return slices.ContainsFunc(uses[name], func(used string) bool {
		return used == sandboxWord || uses[used] != nil && reaches(uses, used, seen)
	})
}

// tagged says that a file is built only with the tag real.
func tagged(file *ast.File) bool {
	for _, group := range file.Comments {
		for _, c := range group.List {
			if !constraint.IsGoBuild(c.Text) {
				continue
			}
			expr, err := constraint.Parse(c.Text)
			return err == nil && !expr.Eval(func(tag string) bool { return tag != "real" })
		}
	}
	return false
}
