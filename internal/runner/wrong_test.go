package runner

import (
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// expected are assertions by file, and what makes them wrong: "test | line as
// it was | line as it is".
var expected = []struct {
	file, src string
	want      []string // lines that some wrong expectation makes
	never     []string // words that no wrong expectation touches
}{
	{
		"a_test.go", "package a\n\nfunc TestA(t *testing.T) {\n\tfor _, c := range []struct{ in, want int }{{in: 1, want: 2}} {\n\t\tif got := A(c.in); got != c.want {\n\t\t\tt.Errorf(\"got 5\")\n\t\t}\n\t}\n\tassert.Equal(t, \"x\", B())\n\tif n > 0 {\n\t\tn--\n\t}\n}\n\nfunc helper() {\n\tif 3 != 4 {\n\t\tt.Error()\n\t}\n}\n",
		[]string{"!(got != c.want)", "want: 3}", "\"xq\"", "assert.NotEqual(t"}, []string{"got 6", "3 != 5"},
	},
	{
		"test_a.py", "def test_a():\n    # assert 1 == 1\n    assert f(1) == 3, 'no'\n    assert x is None\n    assert ok(y)\n    assert not bad(y)\n    self.assertEqual(g('a'), True)\n    s = 'assert 9 == 9'\n",
		[]string{"f(1) != 3", "f(1) == 4", "x is not None", "assert not (ok(y))", "assert  bad(y)", "assertNotEqual(g", "'aq'", "False)"}, []string{"assert 2 == 1", "10"},
	},
	{
		"a.test.ts", "it('adds', () => {\n  // expect(1).toBe(1)\n  expect(add(1, 2)).toBe(3);\n  expect(f()).not.toEqual('x');\n  assert.strictEqual(a, true);\n  assert(ok(a), 'message');\n});\n",
		[]string{".not.toBe(3)", "toBe(4)", ".toEqual('x')", "'xq'", "assert.notStrictEqual(a", "assert(!(ok(a)),", "false"}, []string{"expect(2).toBe"},
	},
	{
		"lib.rs", "#[test]\nfn adds() {\n    let c = '\"';\n    assert_eq!(add(1, 2), 3);\n    assert!(x < 'a', \"m\");\n}\n",
		[]string{"assert_ne!(", ", 4)", "assert!(!(x < 'a')"}, nil,
	},
	{
		"a_test.rb", "def test_a\n  assert_equal 3, add(1, 2)\n  refute x\nend\nit 'b' do\n  expect(f).to eq(5)\n  expect(f).not_to eq(7)\nend\n",
		[]string{"refute_equal 3", "assert_equal 4", "assert x", ".not_to eq(5)", ".to eq(7)", "eq(6)"}, nil,
	},
	{
		"ATest.php", "<?php\nclass ATest {\n  public function testA() {\n    $this->assertSame(3, add(1, 2)); # assertSame(7)\n    self::assertTrue($x);\n  }\n}\n",
		[]string{"assertNotSame(3", "assertSame(4", "assertFalse($x"}, []string{"8"},
	},
	{
		"ATest.java", "class ATest {\n  @Test\n  void adds() {\n    assertEquals(3, Calc.add(1, 2));\n    assertTrue(ok);\n  }\n}\n",
		[]string{"Assertions.assertNotEquals(3", "assertEquals(4", "assertTrue(!(ok))"}, nil,
	},
	{
		"calc_test.c", "int main(void) {\n    assert(add(1, 2) == 3);\n    if (x != 4) return 1;\n    return 0;\n}\n",
		[]string{"assert(!(add(1, 2) == 3))", "== 4)", "x == 4", "x != 5"}, nil,
	},
	{
		"a.bats", "@test \"adds\" {\n  run add 1 2\n  [ \"$status\" -eq 0 ]\n  [ \"$output\" = \"3\" ]\n}\n",
		[]string{"-ne 0", "-eq 1", "!= \"3\"", "\"3q\""}, []string{"addsq"},
	},
}

func TestExpectations(t *testing.T) {
	for _, tt := range expected {
		all := Expectations(tt.file, []byte(tt.src))
		var made []string
		for _, w := range all {
			made = append(made, changedLines(tt.src, string(MakeWrong([]byte(tt.src), []Wrong{w}))))
		}
		text := strings.Join(made, "\n")
		for _, want := range tt.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s: nothing makes %q; made:\n%s", tt.file, want, text)
			}
		}
		for _, never := range tt.never {
			if strings.Contains(text, never) {
				t.Errorf("%s: %q was made:\n%s", tt.file, never, text)
			}
		}
	}
}

// changedLines returns the lines of now that are not in was.
func changedLines(was, now string) string {
	old := map[string]bool{}
	for line := range strings.Lines(was) {
		old[line] = true
	}
	var b strings.Builder
	for line := range strings.Lines(now) {
		if !old[line] {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Each wrong expectation changes one place of one line inside a test, keeps its
// key in a file that moved, and a file of Go still parses.
func TestWrongIsOnePlace(t *testing.T) {
	for _, tt := range expected {
		for _, w := range Expectations(tt.file, []byte(tt.src)) {
			checkOnePlace(t, tt.file, []byte(tt.src), w)
			moved := append([]byte("\n\n"), tt.src...)
			if tt.file == "a_test.go" {
				moved = append([]byte("// moved\n\n"), tt.src...)
			}
			found := false
			for _, m := range Expectations(tt.file, moved) {
				found = found || m.Key() == w.Key()
			}
			if !found {
				t.Errorf("%s: %+v is not found again", tt.file, w)
			}
		}
	}
}

func checkOnePlace(t *testing.T, file string, src []byte, w Wrong) {
	t.Helper()
	if w.Path != file || w.Test == "" || w.From > w.To || w.To > len(src) {
		t.Fatalf("%s: %+v", file, w)
	}
	now := MakeWrong(src, []Wrong{w})
	if string(now) != string(src[:w.From])+w.Text+string(src[w.To:]) || string(now) == string(src) {
		t.Errorf("%s: not one place: %+v", file, w)
	}
	if strings.HasSuffix(file, ".go") {
		if _, err := parser.ParseFile(token.NewFileSet(), "", now, 0); err != nil {
			t.Errorf("%s: %+v does not parse: %v", file, w, err)
		}
	}
}

func FuzzExpectations(f *testing.F) {
	for _, tt := range expected {
		f.Add(tt.file, tt.src)
	}
	f.Fuzz(func(t *testing.T, file, src string) {
		for _, w := range Expectations(file, []byte(src)) {
			checkOnePlace(t, file, []byte(src), w)
		}
		MakeWrong([]byte(src), Expectations(file, []byte(src)))
	})
}
