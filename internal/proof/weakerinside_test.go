package proof

import (
	"strings"
	"testing"
)

// Tests of Go that move out of their package, or into it, ask the same as before;
// what else they are given under that name is a stand-in.
func TestWeakerFromOutside(t *testing.T) {
	const (
		inside  = "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tfor _, c := range []struct{ in, want int }{{1, 2}, {3, 4}} {\n\t\tif got := Add(c.in, 1); got != c.want {\n\t\t\tt.Errorf(\"got %d\", got)\n\t\t}\n\t}\n\tif Zero() != 0 {\n\t\tt.Error(\"zero\")\n\t}\n}\n"
		imports = "import (\n\t\"testing\"\n\n\t\"example.com/m/calc\"\n)"
	)
	outside := strings.NewReplacer("package calc", "package calc_test", "import \"testing\"", imports, " Add(", " calc.Add(", " Zero(", " calc.Zero(").Replace(inside)
	m := &Map{}
	m.GoModules = map[string]string{".": "example.com/top", "lib": "example.com/m"}
	lost := func(m *Map, was, now string) string {
		var got []string
		for _, w := range m.Weaker(map[string][]byte{"lib/calc/calc_test.go": []byte(was)}, map[string][]byte{"lib/calc/calc_test.go": []byte(now)}) {
			got = append(got, w.What)
		}
		return strings.Join(got, "\n")
	}
	for name, c := range map[string]struct {
		old, now string
		want     string // "" = nothing is lost
	}{
		"as it is":               {"", "", ""},
		"expects another":        {"{3, 4}", "{3, 5}", "4"},
		"loses an assertion":     {"\tif calc.Zero() != 0 {\n\t\tt.Error(\"zero\")\n\t}\n", "", "no longer says"},
		"asks another":           {"calc.Zero()", "calc.None()", "no longer says"},
		"a variable":             {"func TestAdd(t *testing.T) {\n", "func TestAdd(t *testing.T) {\n\tcalc := fake{}\n", "and now says"},
		"a package of another":   {"example.com/m/calc", "example.com/m/fake", "and now says"},
		"of the same last name":  {"example.com/m/calc", "example.com/m/fake/calc", "and now says"},
		"of the module around":   {"example.com/m/calc", "example.com/top/lib/calc", "and now says"},
		"under the package's":    {"\"example.com/m/calc\"", "calc \"example.com/m/fake\"", "and now says"},
		"it under another name":  {"\"example.com/m/calc\"", "it \"example.com/m/calc\"", "and now says"},
		"it, under its own name": {"\"example.com/m/calc\"", "calc \"example.com/m/calc\"", ""},
		"a function beside":      {"calc.Zero() != 0", "zero() != 0", "no longer says"},
	} {
		now := strings.Replace(outside, c.old, c.now, 1)
		if c.old != "" && now == outside {
			t.Fatalf("%s: nothing changed", name)
		}
		if all := lost(m, inside, now); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
	if got := lost(m, outside, inside); got != "" {
		t.Errorf("what moved into its package lost %s", got)
	}
	if lost(m, outside, strings.ReplaceAll(outside, "calc.Add", "Add")) == "" {
		t.Error("outside it remains, and asks a function of its own")
	}
	if lost(&Map{}, inside, outside) == "" {
		t.Error("which module it is of is not known, and it is taken for the same")
	}
}

// The paths of modules are read with the tree; what is vendored is none of it.
func TestGoModulesAreRead(t *testing.T) {
	m, err := Survey(memory{
		"go.mod": "// Ours.\nmodule example.com/top // Deprecated: no.\n", "lib/go.mod": "module \"example.com/m\"\n", "lib/calc/calc.go": "package calc\n",
		"vendor/example.com/x/go.mod": "module example.com/x\n",
	}, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{".": "example.com/top", "lib": "example.com/m", "lib/calc": "example.com/m/calc", "cmd/a": "example.com/top/cmd/a"} {
		if got := m.goImportPath(dir); got != want {
			t.Errorf("%s is imported by %q, want %q", dir, got, want)
		}
	}
}
