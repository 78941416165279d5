package proof

import (
	"strings"
	"testing"
)

// What helpers assert, what closures hide, what stand-ins answer, and the numbers
// that tests go by are evidence; what is moved, called or grown is not lost.
func TestWeakerHelpers(t *testing.T) {
	const (
		helper  = "def same(got, want):\n    assert got == want\n"
		python  = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"
		rust    = "#[test]\nfn adds() {\n    assert_eq!(add(2, 3), 5);\n}\n"
		golang  = "package a\n\nconst slack = 0\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range cases {\n\t\tif d := A(c.in) - c.want; d > slack {\n\t\t\tt.Error(d)\n\t\t}\n\t}\n}\n"
		program = "int main(void)\n{\n\tint n;\n\tfor (n = 0; n < 50; n++)\n\t\tCHECK(add(n, 17) == n + 17);\n\treturn 0;\n}\n"
		script  = "test('add', () => {\n  expect(add(2, 3)).toBe(5);\n});\n"
	)
	for name, c := range map[string]struct {
		file, was, old, now string
		want                string // "" = nothing is lost
	}{
		"helper returns":          {"tests/compare.py", helper, "assert got == want", "return got == want", "is gone"},
		"helper says more":        {"tests/compare.py", helper, "assert got == want", "assert got == want, (got, want)", ""},
		"helper has another":      {"tests/compare.py", helper, "def same", "def near(a, b):\n    assert abs(a - b) < 1\n\n\ndef same", ""},
		"helper under condition":  {"tests/compare.py", helper, "    assert", "    if want:\n        assert", "under a condition only"},
		"assertion with a reason": {"test_a.py", python, "== 5", "== 5, \"the sum\"", ""},
		"variable of the name":    {"test_a.py", python, "():\n", "():\n    add = Mock(return_value=5)\n", "a stand-in for add"},
		"parameter of the name":   {"test_a.py", python, "test_add()", "test_add(add)", "a stand-in for add"},
		"patched by name":         {"test_a.py", python, "():\n", "(monkeypatch):\n    monkeypatch.setattr(\"calc.add\", lambda a, b: 5)\n", "a stand-in for add"},
		"patched something else":  {"test_a.py", python, "():\n", "(monkeypatch):\n    monkeypatch.setattr(\"calc.now\", lambda: 5)\n", ""},
		"another variable":        {"test_a.py", python, "    assert add(2, 3)", "    total = add(2, 3)\n    assert add(2, 3)", ""},
		"spied on":                {"a.test.js", script, "{\n", "{\n  jest.spyOn(calc, 'add').mockReturnValue(5);\n", "a stand-in for add"},
		"closure uncalled":        {"tests/a.rs", rust, "    assert_eq!(add(2, 3), 5);", "    let later = || {\n        assert_eq!(add(2, 3), 5);\n    };", "under a condition only"},
		"closure called":          {"tests/a.rs", rust, "    assert_eq!(add(2, 3), 5);", "    let check = || {\n        assert_eq!(add(2, 3), 5);\n    };\n    check();", ""},
		"inner uncalled":          {"test_a.py", python, "    assert add(2, 3) == 5", "    def inner():\n        assert add(2, 3) == 5", "under a condition only"},
		"inner called":            {"test_a.py", python, "    assert add(2, 3) == 5", "    def inner():\n        assert add(2, 3) == 5\n\n    inner()", ""},
		"arrow uncalled":          {"a.test.js", script, "  expect(add(2, 3)).toBe(5);", "  const later = () => {\n    expect(add(2, 3)).toBe(5);\n  };", "under a condition only"},
		"constant":                {"a_test.go", golang, "slack = 0", "slack = 100", "slack was 0 and is 100"},
		"constant documented":     {"a_test.go", golang, "const slack = 0", "// slack is what may be off.\nconst slack = 0", ""},
		"constant below":          {"test_a.py", "LIMIT = -1\n" + python, "LIMIT = -1", "LIMIT = 1", "LIMIT was -1 and is 1"},
		"loop left":               {"a_test.go", golang, "\t\t\tt.Error(d)\n\t\t}\n", "\t\t\tt.Error(d)\n\t\t}\n\t\tif c.in == 2 {\n\t\t\tbreak\n\t\t}\n", "may leave by break"},
		"loop left when it fails": {"a_test.go", golang, "t.Error(d)\n", "t.Error(d)\n\t\t\tbreak\n", ""},
		"loop stands still":       {"tests/test_many.c", program, "n < 50", "n < 0", "went over"},
		"loop from later":         {"tests/test_many.c", program, "n = 0", "n = 49", "went over"},
		"loop longer":             {"tests/test_many.c", program, "n < 50", "n < 300", ""},
	} {
		now := strings.Replace(c.was, c.old, c.now, 1)
		if now == c.was {
			t.Fatalf("%s: nothing changed", name)
		}
		var got []string
		for _, w := range Weaker(c.file, []byte(c.was), []byte(now)) {
			got = append(got, w.What)
		}
		if all := strings.Join(got, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", name, all, c.want)
		}
	}
	moved := WeakerAll(map[string][]byte{"tests/compare.py": []byte(helper), "tests/support/same.py": nil}, map[string][]byte{"tests/compare.py": nil, "tests/support/same.py": []byte(helper)})
	if len(moved) > 0 {
		t.Errorf("a helper that moved is lost: %+v", moved)
	}
}
