package stuck

import (
	"fmt"
	"testing"
)

func patch(file string, lines ...string) string {
	p := fmt.Sprintf("diff --git a/%s b/%s\nindex 1..2 100644\n--- a/%s\n+++ b/%s\n@@ -1 +1 @@\n", file, file, file, file)
	for _, l := range lines {
		p += l + "\n"
	}
	return p
}

func TestShape(t *testing.T) {
	const move = "diff --git a/x/a.go b/y/a.go\nsimilarity index 100%\nrename from x/a.go\nrename to y/a.go\n"
	for name, p := range map[string]string{
		"comments":       patch("a.go", "-// one", "+// two", "+", "+\t/* three */", "+ * four"),
		"blanks":         patch("a.py", "-x = 1", "+x  =  1", "+   "),
		"hash":           patch("a.py", "+# one", "-x = 1 # old", "+x = 1 # new"),
		"moved":          patch("a.go", "-x()", "-y()", "+y()", "+x()"),
		"renamed":        move,
		"moved to other": patch("a.go", "-x()") + patch("b.go", "+x()"),
	} {
		if digest, bare := Shape(p); digest != "" || !bare {
			t.Errorf("%s: %q, bare %v", name, digest, bare)
		}
	}
	for name, p := range map[string]string{
		"code":             patch("a.go", "-x := 1", "+x := 2"),
		"heading":          patch("a.md", "+# Heading"),
		"include":          patch("a.c", "+#include <a.h>"),
		"pointer":          patch("a.c", "+*p = 1;"),
		"a mark in a text": patch("a.go", `-s := "a //b"`, `+s := "a //c"`),
		"mode":             "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n",
		"binary":           "diff --git a/a.png b/a.png\nindex 1..2\nBinary files a/a.png and b/a.png differ\n",
		"an empty file":    "diff --git a/a b/a\nnew file mode 100644\nindex 0..1\n",
		"a removed header": patch("a.sql", "--- note") + patch("a.sql", "+select 1"),
	} {
		if digest, bare := Shape(p); digest == "" || bare {
			t.Errorf("%s: %q, bare %v", name, digest, bare)
		}
	}
	if d, bare := Shape(""); d != "" || bare {
		t.Error("nothing has a shape")
	}

	one, _ := Shape(patch("a.go", "-old()", "+new()"))
	two, _ := Shape(patch("b/c.go", "-\told()", "+\tnew()", "+// why"))
	if one != two {
		t.Error("the same change in another file, with a comment, has another shape")
	}
	if three, _ := Shape(patch("a.go", "+old()", "-new()")); three == one {
		t.Error("a change and its opposite have the same shape")
	}
}

func FuzzShape(f *testing.F) {
	f.Add(patch("a.go", "-a", "+b"))
	f.Add("Binary files \nnew mode \n@@ ")
	f.Fuzz(func(t *testing.T, p string) {
		if digest, bare := Shape(p); bare == (digest != "") && p != "" {
			t.Errorf("%q: %q, bare %v", p, digest, bare)
		}
	})
}
