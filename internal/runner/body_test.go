package runner

import (
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// bodies are sources and the functions in them.
var bodies = []struct {
	file, src string
	names     []string
	throws    string // stands at the head of each body
}{
	{"a.go", "package a\n\nimport \"x\"\n\nfunc A() (n int, err error) { return x.B(), nil }\n\nfunc (t *T[K]) B() {\n\tgo func() {}()\n}\n\nfunc empty() {}\n", []string{"A", "T.B"}, `panic("balo");`},
	{"a.py", "class A:\n    \"\"\"def no(): pass\"\"\"\n    def a(self, x=(1,\n          2)) -> int:\n        \"\"\"Doc.\"\"\"\n        return 1\n\n    async def b(self):\n        def inner():\n            return 2\n        return inner\n\n    def c(self): return 3\n\n    def nothing(self):\n        ...\n", []string{"a", "b", "inner", "c"}, `raise RuntimeError("balo")`},
	{"a.ts", "export function add<T>(a: number, b = {c: 1}): number { return a; }\nconst f = async (x: string): Promise<void> => {\n  if (x) { return; }\n};\nclass A {\n  private async m(a) {\n    for (;;) { break; }\n  }\n  get g() { return `}${1}`; }\n}\nconst re = /\\{\"/;\n// function no() { x }\nmodule.exports = { h: function () { return 1; } };\n", []string{"add", "f", "m", "g", ""}, `throw new Error("balo");`},
	{"a.rs", "pub fn a<'a>(x: &'a str) -> char { '}' }\nimpl T {\n    fn b(&self) where Self: X {\n        if true { c() }\n    }\n}\ntrait U { fn none(&self); }\n", []string{"a", "b"}, `panic!("balo");`},
	{"a.php", "<?php\nclass A {\n  public function a(int $x): ?int { return $x; }\n  abstract function none();\n}\n# function no() { 1; }\n", []string{"a"}, `throw new \RuntimeException("balo");`},
	{"A.java", "class A {\n  @Override\n  public List<String> a(int x) throws E { if (x > 1) { y(); } return null; }\n  A() { super(); }\n}\n", []string{"a"}, `if (true) throw new RuntimeException("balo");`},
	{"a.c", "static int add(int a, int b) { return a + b; }\n\nint decl(void);\n\nvoid *\nb(char c)\n{\n  while (c) { c--; }\n}\n", []string{"add", "b"}, "__builtin_trap();"},
	{"a.rb", "class A\n  def a(x)\n    x.each do |y|\n      y\n    end\n  end\n\n  def self.b\n    2\n  end\n\n  def c = 3\nend\n", []string{"a", "self.b"}, `raise "balo"`},
}

func TestFunctions(t *testing.T) {
	for _, tt := range bodies {
		all, ok := Functions(tt.file, []byte(tt.src))
		var names []string
		for _, f := range all {
			names = append(names, f.Name)
			out := string(f.Without([]byte(tt.src), 0, "balo"))
			if !strings.Contains(out, tt.throws) || len(out) <= len(tt.src) {
				t.Errorf("%s: %s:\n%s", tt.file, f.Name, out)
			}
			if strings.HasSuffix(tt.file, ".go") {
				checkGo(t, f, []byte(tt.src))
			}
		}
		if !ok || !slices.Equal(names, tt.names) {
			t.Errorf("%s: %q, want %q", tt.file, names, tt.names)
		}
	}
}

func checkGo(t *testing.T, f Function, src []byte) {
	t.Helper()
	for way := range f.Ways() {
		if _, err := parser.ParseFile(token.NewFileSet(), "", f.Without(src, way, "balo"), 0); err != nil {
			t.Errorf("%s, way %d: %v", f.Name, way, err)
		}
	}
}

func TestWithoutInOneLineAndAtItsIndentation(t *testing.T) {
	src := []byte("class A:\n  def a(self):\n     # why\n     return 1\n  def c(self): return 3\n")
	all, _ := Functions("a.py", src)
	if got, want := string(all[0].Without(src, 0, "w")), "class A:\n  def a(self):\n     raise RuntimeError(\"w\")\n     # why\n     return 1\n  def c(self): return 3\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := string(all[1].Without(src, 0, "w")), "class A:\n  def a(self):\n     # why\n     return 1\n  def c(self): raise RuntimeError(\"w\");  return 3\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		file, was, now string
		want           []string
	}{
		"laid out and documented": {"a.go", "package a\n\nfunc A(a int, b int) int { return a + b }\n", "package a\n\n// A adds.\nfunc A(\n\ta int,\n\tb int,\n) int {\n\t// the sum\n\treturn a + b\n}\n", nil},
		"moved":                   {"a.py", "def a():\n    return 1\n\ndef b():\n    return 2\n", "def b():\n    return 2\n\n\ndef a():\n    # one\n    return 1\n", nil},
		"another value":           {"a.py", "def a():\n    return 1\n", "def a():\n    return 2\n", []string{"a"}},
		"another depth":           {"a.py", "def a():\n    for x in y:\n        f(x)\n        g(x)\n", "def a():\n    for x in y:\n        f(x)\n    g(x)\n", []string{"a"}},
		"other quotes and width":  {"a.py", "def a():\n    return f('x', 1)\n", "def a():\n  return f(\n    \"x\",\n    1,\n  )\n", nil},
		"the inner one":           {"a.js", "function a() {\n  function b() { return 1; }\n  return b;\n}\n", "function a() {\n  function b() { return 2; }\n  return b;\n}\n", []string{"b"}},
		"a text is no comment":    {"a.js", "function a() { return 'x // y'; }\n", "function a() { return 'x // z'; }\n", []string{"a"}},
	} {
		var got []string
		for _, f := range Changed(map[string][]byte{tt.file: []byte(tt.was)}, map[string][]byte{tt.file: []byte(tt.now)}) {
			got = append(got, f.Name)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestCatching(t *testing.T) {
	src := "package a\n\nfunc TestA(t *testing.T) {\n\tt.Run(\"x\", func(tt *testing.T) { f() })\n}\n\nfunc TestB(_ *testing.T) {}\n\nfunc helper(t *testing.T) {}\n"
	out := string(Catching([]byte(src)))
	if strings.Count(out, "recover()") != 2 || !strings.Contains(out, "tt.Errorf") {
		t.Errorf("got\n%s", out)
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", out, 0); err != nil {
		t.Error(err)
	}
}

func FuzzFunctions(f *testing.F) {
	for _, tt := range bodies {
		f.Add(tt.file, tt.src)
	}
	f.Fuzz(func(t *testing.T, file, src string) {
		all, _ := Functions(file, []byte(src))
		for _, fn := range all {
			if fn.From < 0 || fn.From > fn.To || fn.To > len(src) || fn.Line < 1 || fn.End < fn.Line {
				t.Fatalf("%+v of %d bytes", fn, len(src))
			}
			for way := range fn.Ways() {
				out := string(fn.Without([]byte(src), way, "balo"))
				if !strings.HasPrefix(out, src[:fn.From]) || !strings.HasSuffix(out, src[fn.From:]) {
					t.Fatalf("%+v changes more than one place", fn)
				}
			}
		}
		Catching([]byte(src))
	})
}
