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
	for name, c := range map[string]struct {
		old, now string
		want     string // "" = nothing is lost
	}{
		"as it is":             {"", "", ""},
		"expects another":      {"{3, 4}", "{3, 5}", "4"},
		"loses an assertion":   {"\tif calc.Zero() != 0 {\n\t\tt.Error(\"zero\")\n\t}\n", "", "no longer says"},
		"asks another":         {"calc.Zero()", "calc.None()", "no longer says"},
		"a variable":           {"func TestAdd(t *testing.T) {\n", "func TestAdd(t *testing.T) {\n\tcalc := fake{}\n", "and now says"},
		"a package of another": {"example.com/m/calc", "example.com/m/fake", "and now says"},
		"a function beside":    {"calc.Zero() != 0", "zero() != 0", "no longer says"},
	} {
		now := strings.Replace(outside, c.old, c.now, 1)
		if c.old != "" && now == outside {
			t.Fatalf("%s: nothing changed", name)
		}
		var got []string
		for _, w := range Weaker("calc/calc_test.go", []byte(inside), []byte(now)) {
			got = append(got, w.What)
		}
		if all := strings.Join(got, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
	if got := Weaker("calc/calc_test.go", []byte(outside), []byte(inside)); len(got) > 0 {
		t.Errorf("what moved into its package lost %+v", got)
	}
	if got := Weaker("calc/calc_test.go", []byte(outside), []byte(strings.ReplaceAll(outside, "calc.Add", "Add"))); len(got) == 0 {
		t.Error("outside it remains, and asks a function of its own")
	}
}
