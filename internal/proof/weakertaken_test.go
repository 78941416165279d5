package proof

import (
	"strings"
	"testing"
)

// Tests that name a module before what they take from it, or do so no more, ask the
// same as before; where that name may be anything else they do not.
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
		"python":              {"test_a.py", python, "", "", ""},
		"script":              {"a.test.js", script, "", "", ""},
		"module":              {"a.test.mjs", module, "", "", ""},
		"by another name":     {"test_a.py", strings.Replace(python, "calc", "lib.calc", 1), "import calc", "from lib import calc", ""},
		"alias":               {"test_a.py", strings.Replace(python, "calc", "lib.calc", 1), "import calc", "import lib.calc as calc", ""},
		"more of it":          {"test_a.py", python, "    assert calc.sub", "    assert calc.mul(2, 3) == 6\n    assert calc.sub", ""},
		"expects another":     {"test_a.py", python, "== 5", "== 6", "5"},
		"asks another":        {"test_a.py", python, "calc.sub(5", "calc.add(5", "no longer says"},
		"another module":      {"test_a.py", python, "import calc", "import fake as calc", "said"},
		"another in script":   {"a.test.js", script, "'./calc'", "'./fake'", "said"},
		"stand-in":            {"test_a.py", python, "():\n", "():\n    calc = Mock()\n", "said"},
		"parameter":           {"test_a.py", python, "test_add()", "test_add(calc)", "said"},
		"member written":      {"test_a.py", python, "():\n", "():\n    calc.add = lambda a, b: 5\n", "said"},
		"member of script":    {"a.test.js", script, "{\n", "{\n  calc.add = () => 5;\n", "said"},
		"spied on":            {"a.test.js", script, "{\n", "{\n  jest.spyOn(calc, 'add').mockReturnValue(5);\n", "said"},
		"members together":    {"test_a.py", python, "():\n", "():\n    (calc.add, other) = (fake, 1)\n", "said"},
		"by its dictionary":   {"test_a.py", python, "():\n", "():\n    calc.__dict__['add'] = fake\n", "said"},
		"by a method":         {"test_a.py", python, "():\n", "():\n    calc.__setattr__('add', fake)\n", "said"},
		"deeper":              {"test_a.py", python, "():\n", "():\n    calc.inner.add = fake\n", "said"},
		"in a loop":           {"test_a.py", python, "():\n", "():\n    for calc.add in [fake]:\n        pass\n", "said"},
		"taken away":          {"test_a.py", python, "():\n", "():\n    del calc.add\n", "said"},
		"bound twice":         {"test_a.py", python, "import calc", "import calc\nimport fake as calc", "said"},
		"bound by another":    {"test_a.py", python, "import calc", "import calc\nfrom fake import it as calc", "said"},
		"bound by everything": {"test_a.py", python, "import calc", "import calc\nfrom fake import *", "said"},
		"a part of it":        {"a.test.js", script, "require('./calc')", "require('./calc').fake", "said"},
		"one or another":      {"a.test.js", script, "require('./calc')", "require('./fake') || require('./calc')", "said"},
		"it or another":       {"a.test.js", script, "require('./calc');", "require('./calc') && fake;", "said"},
		"bound by a pattern":  {"a.test.js", script, "require('./calc');", "require('./calc');\n{\n  const { it: calc } = require('./fake');\n}", "said"},
		"member of another":   {"test_a.py", python, "assert calc.add", "assert fake.calc.add", "said"},
		"loses an assertion":  {"test_a.py", python, "    assert calc.sub(5, 3) == 2\n", "", "no longer says"},
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
