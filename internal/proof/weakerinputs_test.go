package proof

import (
	"strings"
	"testing"
)

// A test that asks about other inputs, leaves before it asserts, or goes over
// some of its rows only, is weaker; one that got more to do, or whose set-up
// moved into a helper, is not.
func TestWeakerInputs(t *testing.T) {
	goTest := func(body string) string {
		return "package a\n\nfunc TestA(t *testing.T) {\n" + body + "}\n"
	}
	const check = "\tif f() != 5 {\n\t\tt.Fatal(1)\n\t}\n"
	for _, tt := range []struct {
		name, file, was, now string
		weaker               bool
	}{
		{"python input changed", "test_a.py", "def test_a():\n    s.put('a', 2)\n    assert s.total() == 5\n", "def test_a():\n    s.put('a', 5)\n    assert s.total() == 5\n", true},
		{"python input gone", "test_a.py", "def test_a():\n    s.put('a', 2)\n    assert s.total() == 5\n", "def test_a():\n    assert s.total() == 5\n", true},
		{"python input in a variable", "test_a.py", "def test_a():\n    n = add(2, 3)\n    assert n == 5\n", "def test_a():\n    n = add(0, 5)\n    assert n == 5\n", true},
		{"python more inputs", "test_a.py", "def test_a():\n    s.put('a', 2)\n    assert s.total() == 5\n", "def test_a():\n    s.put('a', 2)\n    s.put('b', 3)\n    assert s.total() == 5\n", false},
		{"python input in a helper", "test_a.py", "def test_a():\n    s.put('a', 2)\n    assert s.total() == 5\n", "def fill():\n    s.put('a', 2)\n\ndef test_a():\n    fill()\n    assert s.total() == 5\n", false},
		{"python said otherwise", "test_a.py", "def test_a():\n    print('begin')\n    assert f() == 5\n", "def test_a():\n    print('it begins')\n    assert f() == 5\n", false},
		{"go seed", "a_test.go", "package a\n\nfunc FuzzA(f *testing.F) {\n\tf.Add(2, 3)\n\tf.Add(70, 8)\n\tf.Fuzz(func(t *testing.T, a, b int) {\n\t\tif f(a) != b {\n\t\t\tt.Error(a)\n\t\t}\n\t})\n}\n", "package a\n\nfunc FuzzA(f *testing.F) {\n\tf.Add(2, 3)\n\tf.Fuzz(func(t *testing.T, a, b int) {\n\t\tif f(a) != b {\n\t\t\tt.Error(a)\n\t\t}\n\t})\n}\n", true},
		{"go return", "a_test.go", goTest(check), goTest("\tif f() != 5 {\n\t\treturn\n\t}\n" + check), true},
		{"go continue", "a_test.go", goTest("\tfor _, x := range rows {\n\t\tif f(x) != 5 {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n"), goTest("\tfor _, x := range rows {\n\t\tif x == 3 {\n\t\t\tcontinue\n\t\t}\n\t\tif f(x) != 5 {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n"), true},
		{"go return after a failure", "a_test.go", goTest(check), goTest("\tif err != nil {\n\t\tt.Error(err)\n\t\treturn\n\t}\n" + check), false},
		{"go return in a handler", "a_test.go", goTest(check), goTest("\th := func(w W) {\n\t\tif w.Bad {\n\t\t\tw.No()\n\t\t\treturn\n\t\t}\n\t\tw.Yes()\n\t}\n\tserve(h)\n" + check), false},
		{"go slice", "a_test.go", goTest("\tfor _, x := range rows {\n\t\tif f(x) != 5 {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n"), goTest("\tfor _, x := range rows[:1] {\n\t\tif f(x) != 5 {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n"), true},
		{"go other name", "a_test.go", goTest("\tfor _, x := range rows {\n\t\tif f(x) != 5 {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n"), goTest("\tfor _, x := range cases {\n\t\tif f(x) != 5 {\n\t\t\tt.Error(x)\n\t\t}\n\t}\n"), false},
		{"python parameters", "test_a.py", "@pytest.mark.parametrize('a, b', ROWS)\ndef test_a(a, b):\n    assert f(a) == b\n", "@pytest.mark.parametrize('a, b', [r for r in ROWS if r[1]])\ndef test_a(a, b):\n    assert f(a) == b\n", true},
		{"python parameters as they were", "test_a.py", "@pytest.mark.parametrize('a, b', [r for r in ROWS if r[1]])\ndef test_a(a, b):\n    assert f(a) == b\n", "@pytest.mark.parametrize('a, b', [r for r in ROWS if r[1]])\ndef test_a(a, b):\n    x = b\n    assert f(a) == b\n", false},
		{"script filter", "a.test.js", "test('a', () => {\n  for (const x of rows) {\n    expect(f(x)).toBe(5);\n  }\n});\n", "test('a', () => {\n  for (const x of rows.filter((r) => r.ok)) {\n    expect(f(x)).toBe(5);\n  }\n});\n", true},
		{"script return", "a.test.js", "test('a', () => {\n  expect(f()).toBe(5);\n});\n", "test('a', () => {\n  if (!f) return;\n  expect(f()).toBe(5);\n});\n", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := Weaker(tt.file, []byte(tt.was), []byte(tt.now))
			var all []string
			for _, w := range found {
				all = append(all, w.Kind+" "+w.What)
			}
			if (len(found) > 0) != tt.weaker {
				t.Errorf("weaker %v, want %v: %s", len(found) > 0, tt.weaker, strings.Join(all, "; "))
			}
		})
	}
}
