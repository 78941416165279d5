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

// So it is where a module is named before what is taken from it, or no more.
func TestWeakerByAnotherImport(t *testing.T) {
	const (
		python = "from calc import add, sub\n\n\ndef test_add():\n    assert add(2, 3) == 5\n    assert sub(5, 3) == 2\n"
		script = "const { add, sub } = require('./calc');\n\ntest('add', () => {\n  expect(add(2, 3)).toBe(5);\n  expect(sub(5, 3)).toBe(2);\n});\n"
		module = "import { add, sub } from './calc.js';\n\ntest('add', () => {\n  expect(add(2, 3)).toBe(5);\n  expect(sub(5, 3)).toBe(2);\n});\n"
	)
	whole := strings.NewReplacer("from calc import add, sub", "import calc", "from lib.calc import add, sub", "import calc", "const { add, sub }", "const calc", "import { add, sub } from './calc.js'", "import * as calc from './calc'", " add(", " calc.add(", " sub(", " calc.sub(", "(add(", "(calc.add(", "(sub(", "(calc.sub(").Replace
	for name, c := range map[string]struct {
		file, was, old, now string
		want                string
	}{
		"python":             {"test_a.py", python, "", "", ""},
		"script":             {"a.test.js", script, "", "", ""},
		"module":             {"a.test.mjs", module, "", "", ""},
		"by another name":    {"test_a.py", strings.Replace(python, "calc", "lib.calc", 1), "import calc", "from lib import calc", ""},
		"alias":              {"test_a.py", strings.Replace(python, "calc", "lib.calc", 1), "import calc", "import lib.calc as calc", ""},
		"more of it":         {"test_a.py", python, "    assert calc.sub", "    assert calc.mul(2, 3) == 6\n    assert calc.sub", ""},
		"expects another":    {"test_a.py", python, "== 5", "== 6", "5"},
		"asks another":       {"test_a.py", python, "calc.sub(5", "calc.add(5", "no longer says"},
		"another module":     {"test_a.py", python, "import calc", "import fake as calc", "said"},
		"another in script":  {"a.test.js", script, "'./calc'", "'./fake'", "said"},
		"stand-in":           {"test_a.py", python, "():\n", "():\n    calc = Mock()\n", "said"},
		"parameter":          {"test_a.py", python, "test_add()", "test_add(calc)", "said"},
		"member written":     {"test_a.py", python, "():\n", "():\n    calc.add = lambda a, b: 5\n", "said"},
		"member of script":   {"a.test.js", script, "{\n", "{\n  calc.add = () => 5;\n", "said"},
		"spied on":           {"a.test.js", script, "{\n", "{\n  jest.spyOn(calc, 'add').mockReturnValue(5);\n", "said"},
		"members together":   {"test_a.py", python, "():\n", "():\n    (calc.add, other) = (fake, 1)\n", "said"},
		"by its dictionary":  {"test_a.py", python, "():\n", "():\n    calc.__dict__['add'] = fake\n", "said"},
		"by a method":        {"test_a.py", python, "():\n", "():\n    calc.__setattr__('add', fake)\n", "said"},
		"deeper":             {"test_a.py", python, "():\n", "():\n    calc.inner.add = fake\n", "said"},
		"in a loop":          {"test_a.py", python, "():\n", "():\n    for calc.add in [fake]:\n        pass\n", "said"},
		"taken away":         {"test_a.py", python, "():\n", "():\n    del calc.add\n", "said"},
		"member of another":  {"test_a.py", python, "assert calc.add", "assert fake.calc.add", "said"},
		"loses an assertion": {"test_a.py", python, "    assert calc.sub(5, 3) == 2\n", "", "no longer says"},
	} {
		now := strings.Replace(whole(c.was), c.old, c.now, 1)
		if c.old != "" && now == whole(c.was) {
			t.Fatalf("%s: nothing changed in %s", name, now)
		}
		var got []string
		for _, w := range Weaker(c.file, []byte(c.was), []byte(now)) {
			got = append(got, w.What)
		}
		if all := strings.Join(got, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
		if c.old == "" {
			if got := Weaker(c.file, []byte(now), []byte(c.was)); len(got) > 0 {
				t.Errorf("%s: back again it lost %+v", name, got)
			}
		}
	}
}
