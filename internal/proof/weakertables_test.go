package proof

import (
	"strings"
	"testing"
)

// Rows that tests loop over and flags that make checks strict are evidence line
// by line; what only grows or moves is not lost.
func TestLostRowsAndFlags(t *testing.T) {
	const (
		python = "import unittest\n\nROWS = [(\"A b\", \"a-b\"), (\"C\", \"c\")]\n\n\nclass TableTest(unittest.TestCase):\n    def test_rows(self):\n        for text, want in ROWS:\n            self.assertEqual(slug(text), want)\n"
		php    = "<?php\nclass CalcTest extends TestCase\n{\n    /** @dataProvider sums */\n    public function testAdd(int $a): void\n    {\n        $this->assertSame(1, $a);\n    }\n\n    public function sums(): array\n    {\n        return [[2, 3, 5], [-1, 1, 0], [4, 0, 4]];\n    }\n}\n"
		golang = "package a\n\nvar cases = []struct{ in, want int }{{1, 2}, {2, 3}}\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range cases {\n\t\tif A(c.in) != c.want {\n\t\t\tt.Error()\n\t\t}\n\t}\n}\n"
		spec   = "const { strictEqual } = require('assert');\nit('slug', () => {\n  strictEqual(slug('Hello World'), 'hello-world');\n});\n"
		make   = "CFLAGS = -Wall -Werror -Isrc\ncheck:\n\tcc $(CFLAGS) -fsanitize=address -o a a.c && ./a\n"
	)
	for name, c := range map[string]struct {
		file, was, old, now string
		want                string // "" = nothing is lost
	}{
		"rows easier":        {"test_a.py", python, `[("A b", "a-b"), ("C", "c")]`, `[("a b", "a-b"), ("c", "c")]`, `had the row "\"A b\" , \"a-b\"" and now has`},
		"rows gone":          {"tests/CalcTest.php", php, "[[2, 3, 5], [-1, 1, 0], [4, 0, 4]]", "[[4, 0, 4]]", "lost the row"},
		"rows of Go gone":    {"a_test.go", golang, "{{1, 2}, {2, 3}}", "{{1, 2}}", "lost the row"},
		"rows more":          {"test_a.py", python, `("C", "c")]`, `("C", "c"), ("D", "d")]`, ""},
		"rows in order":      {"test_a.py", python, `[("A b", "a-b"), ("C", "c")]`, `[("C", "c"), ("A b", "a-b")]`, ""},
		"row grown":          {"test_a.py", python, `("C", "c")`, `("C", "c", "x")`, ""},
		"rows into the test": {"a_test.go", strings.Replace(golang, "var cases = []struct{ in, want int }{{1, 2}, {2, 3}}\n\n", "", 1) + "\nvar cases = []struct{ in, want int }{{1, 2}, {2, 3}}\n", "range cases", "range []struct{ in, want int }{{1, 2}, {2, 3}}", ""},
		"rows of no test":    {"a.py", python, `("A b", "a-b"), `, "", ""},
		"with itself":        {"test/words.spec.js", spec, "'hello-world'", "slug('Hello World')", "now says"},
		"to panic":           {"tests/calc.rs", "#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n", "fn adds() {", "#[should_panic]\nfn adds() {", "test adds is to fail now: should_panic"},
		"warnings off":       {"Makefile", make, "-Wall -Werror ", "", "-Werror is gone"},
		"a sanitizer off":    {"Makefile", make, "-fsanitize=address ", "", "-fsanitize=address is gone"},
		"warnings elsewhere": {"Makefile", make, "CFLAGS = -Wall -Werror", "CFLAGS = -Werror -Wextra -Wall", ""},
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
}
