package proof

import "testing"

// Copies of a Go module that the trusted state has none of are product: only
// what is new can import them. All else below vendor is evidence.
func TestNewVendoredModules(t *testing.T) {
	m := survey1(t, memory{
		"go.mod": "module me\n", "calc.go": "package calc\n\nimport _ \"a.b/c\"\n", "calc_test.go": "package calc\n\nimport (\n\t_ \"t.e/st/assert\"\n\t\"testing\"\n)\n",
		"vendor/modules.txt": "# a.b/c v1.0.0\na.b/c\n", "vendor/a.b/c/c.go": "package c\n",
	})
	sees(t, m, Product, "vendor/d.e/f/f.go vendor/d.e/f/deep/x.go vendor/a.b/new/new.go vendor/d.e/f/LICENSE vendor/d.e/f/f.s")
	sees(t, m, Evidence, "vendor/a.b/c/c.go vendor/a.b/c/more.go vendor/t.e/st/st.go vendor/t.e/st/assert/assert.go vendor/testing/testing.go vendor/x.go vendor/d.e/f/vendor/g.h/i.go node_modules/x.y/z.js other/vendor/d.e/f/f.go vendor/d.e/f/conftest.py vendor/d.e/f/f_test.go vendor/d.e/f/go.mod vendor/d.e/f/x.json third_party/d.e/f/f.go")
	without := survey1(t, memory{"go.mod": "module me\n", "calc.go": "package calc\n"})
	sees(t, without, Evidence, "vendor/d.e/f/f.go vendor/modules.txt")
}
