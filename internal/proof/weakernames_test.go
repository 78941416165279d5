package proof

import (
	"strings"
	"testing"
)

// The names that an assertion is about keep what they were given, and what a test
// calls keeps its meaning.
func TestWeakerNames(t *testing.T) {
	const (
		python  = "from calc import add\n\n\ndef test_add():\n    want = 5\n    got = add(2, 3)\n    assert got == want\n"
		golang  = "package a\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range cases {\n\t\tif got := A(c.in); got != c.want {\n\t\t\tt.Error(got)\n\t\t}\n\t}\n}\n"
		program = "#include \"calc.h\"\n\nint main(void)\n{\n\tCHECK(add(2, 3) == 5);\n\treturn 0;\n}\n"
		shell   = "@test \"add\" {\n\trun bin/sum 2 3\n\t[ \"$output\" = 5 ]\n}\n"
	)
	for name, c := range map[string]struct {
		file, was, old, now string
		want                string // "" = nothing is lost
	}{
		"given twice":            {"test_a.py", python, "    assert", "    got = 5\n    assert", "makes got"},
		"given for a second one": {"test_a.py", python, "== want\n", "== want\n    got = add(1, 1)\n    assert got == 2\n", ""},
		"not a literal any more": {"test_a.py", python, "want = 5", "want = add(2, 3)", "had want = 5"},
		"another call":           {"test_a.py", python, "got = add(2, 3)", "got = calc.add(2, 3)", ""},
		"another name":           {"test_a.py", python, "    want = 5", "    more = 7\n    want = 5", ""},
		"member given":           {"a_test.go", golang, "\t\tif got", "\t\tc.want = max(c.want, A(c.in))\n\t\tif got", "makes want"},
		"input given":            {"a_test.go", golang, "\t\tif got", "\t\tc.name = \"x\"\n\t\tif got", ""},
		"macro of the name":      {"tests/test_a.c", program, "int main", "#define add(a, b) ((a) + (b))\n\nint main", "gives add"},
		"another macro":          {"tests/test_a.c", program, "int main", "#define sub(a, b) ((a) - (b))\n\nint main", ""},
		"function of the name":   {"test_a.py", python, "def test_add", "def add(a, b):\n    return a + b\n\n\ndef test_add", "gives add"},
		"passed on":              {"test_a.py", python, "from calc import add", "import calc\n\nadd = calc.add", ""},
		"helper of the file":     {"test_a.py", python, "def test_add", "def sample():\n    return 2\n\n\ndef test_add", ""},
		"assertion of its own":   {"ATest.java", "class ATest {\n    @Test\n    public void adds() {\n        assertEquals(5, add(2, 3));\n    }\n}\n", "class ATest {\n", "class ATest {\n    void assertEquals(int a, int b) {\n    }\n\n", "gives assertEquals"},
		"command of the name":    {"test/a.bats", shell, "@test", "run() {\n\toutput=5\n}\n\n@test", "gives run"},
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
	helper := "def sample():\n    return 2\n\n\n"
	test := "def test_a():\n    assert add(sample(), 2) == 4\n"
	was := map[string][]byte{"tests/samples.py": []byte(helper), "tests/test_a.py": []byte(test)}
	now := map[string][]byte{"tests/samples.py": nil, "tests/test_a.py": []byte(helper + test)}
	for _, w := range WeakerAll(was, now) {
		if strings.Contains(w.What, "of its own") {
			t.Errorf("a helper that moved to its test: %+v", w)
		}
	}
}
