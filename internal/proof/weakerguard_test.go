package proof

import (
	"strings"
	"testing"
)

// An assertion that moves under a condition, or into a handler that forgets,
// is weaker; one that was there already, or is only indented anew, is not.
func TestWeakerGuards(t *testing.T) {
	tests := []struct {
		name, file, was, now string
		weaker               bool
	}{
		{"python if", "test_a.py", "def test_a():\n    assert f() == 5\n", "def test_a():\n    if STRICT:\n        assert f() == 5\n", true},
		{"python if on the line", "test_a.py", "def test_a():\n    assert f() == 5\n", "def test_a():\n    if STRICT: assert f() == 5\n", true},
		{"python try", "test_a.py", "def test_a():\n    assert f() == 5\n", "def test_a():\n    try:\n        assert f() == 5\n    except AssertionError:\n        print('rounding')\n", true},
		{"python loop", "test_a.py", "def test_a():\n    assert f() == 5\n", "def test_a():\n    for _ in range(3):\n        assert f() == 5\n", false},
		{"python with", "test_a.py", "def test_a():\n    assert f() == 5\n", "def test_a():\n    with tmp():\n        assert f() == 5\n", false},
		{"python after an if", "test_a.py", "def test_a():\n    assert f() == 5\n", "def test_a():\n    if x:\n        y()\n    assert f() == 5\n", false},
		{"python was under it", "test_a.py", "def test_a():\n    if x:\n        assert f() == 5\n", "def test_a():\n    if x:\n        assert f() == 5\n    g()\n", false},
		{"script if", "a.test.js", "test('a', () => {\n  assert.strictEqual(f(), 5);\n});\n", "test('a', () => {\n  if (process.env.STRICT) assert.strictEqual(f(), 5);\n});\n", true},
		{"script block", "a.test.js", "test('a', () => {\n  expect(f()).toBe(5);\n});\n", "test('a', () => {\n  if (x) {\n    expect(f()).toBe(5);\n  }\n});\n", true},
		{"script try", "a.test.js", "test('a', () => {\n  expect(f()).toBe(5);\n});\n", "test('a', () => {\n  try {\n    expect(f()).toBe(5);\n  } catch (e) { console.log(e); }\n});\n", true},
		{"script and", "a.test.js", "test('a', () => {\n  expect(f()).toBe(5);\n});\n", "test('a', () => {\n  x && expect(f()).toBe(5);\n});\n", true},
		{"script helper call before", "a.test.js", "test('a', () => {\n  expect(f()).toBe(5);\n});\n", "test('a', () => {\n  [1].forEach(() => {\n    expect(f()).toBe(5);\n  });\n});\n", false},
		{"go", "a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif f() != 5 {\n\t\tt.Fatal(1)\n\t}\n}\n", "package a\n\nfunc TestA(t *testing.T) {\n\tif os.Getenv(\"S\") != \"\" {\n\t\tif f() != 5 {\n\t\t\tt.Fatal(1)\n\t\t}\n\t}\n}\n", true},
		{"go in a subtest", "a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tif f() != 5 {\n\t\tt.Fatal(1)\n\t}\n}\n", "package a\n\nfunc TestA(t *testing.T) {\n\tfor range 3 {\n\t\tif f() != 5 {\n\t\t\tt.Fatal(1)\n\t\t}\n\t}\n}\n", false},
		{"ruby", "a_test.rb", "def test_a\n  assert_equal 5, f\nend\n", "def test_a\n  if strict\n    assert_equal 5, f\n  end\nend\n", true},
	}
	for _, tt := range tests {
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
