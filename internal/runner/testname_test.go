package runner

import "testing"

// A test is told by the name that its file gives it.
func TestNameOf(t *testing.T) {
	for _, c := range []struct {
		path, line, name string
		want             bool
	}{
		{"tests/test_a.py", "def test_add(a, b):", "tests/test_a.py::test_add[2-3]", true},
		{"tests/test_a.py", "def test_add(a, b):", "tests/test_a.py::test_add_all", false},
		{"a_test.go", "func TestAdd", "calc TestAdd/rows", true},
		{"a_test.go", "func TestAdd", "calc TestAddress", false},
		{"a.test.js", "test('adds two', () => {", "sums > adds two", true},
		{"src/a.rs", "fn adds() {", "tests::adds", true},
		{"tests/ATest.php", "public function testAdd(): void", "ATest::testAdd", true},
		{"tests/test_a.c", "int main(void)", "test_a", true},
		{"t/sums.sh", "run all", "t/sums.sh", true},
	} {
		if got := NameOf(Wrong{Path: c.path, Test: c.line}).In(c.name); got != c.want {
			t.Errorf("%q in %q: %v", c.line, c.name, got)
		}
	}
}
