package runner

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// Taking all hunks back gives the file as it was, taking none back leaves it,
// and the hunks hold as few lines as the slow way finds.
func TestHunksGoBackAndForth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := func() []byte {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString(string(rune('a'+r.IntN(4))) + "\n")
		}
		if r.IntN(4) == 0 {
			b.WriteString("z") // no end of line
		}
		return append([]byte{}, b.String()...)
	}
	for range 3000 {
		was, now := text(), text()
		hunks := Hunks("f", was, now)
		if got := TakeBack(now, hunks); string(got) != string(was) && string(was) != string(now) {
			t.Fatalf("%q → %q: all taken back is %q", was, now, got)
		}
		if got := TakeBack(now, nil); string(got) != string(now) {
			t.Fatalf("%q: none taken back is %q", now, got)
		}
		lines := 0
		for _, h := range hunks {
			lines += len(h.Was) + len(h.Now)
		}
		a, b := splitLines(was), splitLines(now)
		if want := len(a) + len(b) - 2*longest(a, b); lines != want {
			t.Fatalf("%q → %q: %d lines in hunks, want %d", was, now, lines, want)
		}
	}
}

// longest is how many lines two texts have in common, found slowly.
func longest(a, b []string) int {
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			best[i+1][j+1] = max(best[i][j+1], best[i+1][j])
			if a[i] == b[j] {
				best[i+1][j+1] = best[i][j] + 1
			}
		}
	}
	return best[len(a)][len(b)]
}

func TestHunksOfWholeFiles(t *testing.T) {
	if got := Hunks("f", nil, []byte("a\n")); len(got) != 1 || !got[0].Whole || TakeBack([]byte("a\n"), got) != nil {
		t.Errorf("a new file: %+v", got)
	}
	if got := Hunks("f", []byte("a\n"), nil); len(got) != 1 || string(TakeBack(nil, got)) != "a\n" {
		t.Errorf("a file that is gone: %+v", got)
	}
	if got := Hunks("f", []byte("a\x00\n"), []byte("a\x00b\n")); len(got) != 1 || !got[0].Whole {
		t.Errorf("no text: %+v", got)
	}
}

func TestPlain(t *testing.T) {
	for _, tt := range []struct{ file, was, now, want string }{
		{"a.go", "x := 1\n", "// one\nx  :=  1\n", "only comments or layout"},
		{"a.go", "", "\t\"os\"\n", "only imports"},
		{"a.py", "import os\n", "from os import path\n", "only imports"},
		{"a.py", "", "    logger.info('x %s', y)\n", "only log calls"},
		{"a.js", "", "  console.log(x);\n", "only log calls"},
		{"a.js", "const sum = a + b;\nreturn sum;\n", "const total = a + b;\nreturn total;\n", "only names"},
		{"a.js", "return a + b;\n", "return a - b;\n", ""},
		{"a.js", "return f(a, b);\n", "return f(b, b);\n", ""},
		{"a.js", "return true;\n", "return false;\n", ""},
		{"a.py", "    f(x)\n        g(x)\n", "    f(x)\n    g(x)\n", ""},
		{"a.js", "x = 'red';\n", "x = 'blue';\n", ""},
		{"a.css", "a {}\n", "b {}\n", ""},
	} {
		h := Hunk{Path: tt.file, Was: splitLines([]byte(tt.was)), Now: splitLines([]byte(tt.now))}
		if got := h.Plain(); got != tt.want {
			t.Errorf("%q → %q is %q, want %q", tt.was, tt.now, got, tt.want)
		}
	}
}
