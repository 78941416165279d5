package review

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// added is a change that adds a file of these lines.
func added(path string, text ...string) File {
	var body []byte
	for _, l := range text {
		body = append(append(append(body, '+'), l...), '\n')
	}
	return File{Path: path, Status: Added, OldMode: "000000", NewMode: "100644", Hunks: []Hunk{{NewStart: 1, NewLines: len(text), Body: body}}}
}

func anyFile(t *rapid.T, i int) File {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abc \t{}é\u202e")), 0, 60, -1)
	text := rapid.SliceOfN(word, 0, 400).Draw(t, "lines")
	f := added(fmt.Sprintf("dir/file %d", i), text...)
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		f.Binary, f.Hunks = true, nil
	case 1:
		f.Cut, f.Hunks = true, nil
	case 2:
		f.Hunks = nil
	case 3:
		f.Status = Deleted
		f.Hunks[0] = Hunk{OldStart: 1, OldLines: len(text), Body: bytes.ReplaceAll(f.Hunks[0].Body, []byte("\n+"), []byte("\n-"))}
	}
	if len(text) == 0 {
		f.Hunks = nil
	}
	return f
}

// TestPartsHoldAll: whatever the limits, each file is shown or named as left
// out, the parts together read as one part without limit does, in its order,
// and no part is over the limit.
func TestPartsHoldAll(t *testing.T) {
	goesOn := regexp.MustCompile(`\n=== [^\n]*\n[^\n]*\n\(goes on\)\n`)
	rapid.Check(t, func(t *rapid.T) {
		var c Change
		for i := range rapid.IntRange(0, 8).Draw(t, "files") {
			c.Files = append(c.Files, anyFile(t, i))
		}
		tokens := rapid.IntRange(1, 8000).Draw(t, "tokens")
		split, left := parts(c, tokens, 1<<20)
		var together []byte
		shown := map[int]bool{}
		for _, p := range split {
			if len(p.text) > max(tokens*bytesPerToken, minPartBytes) {
				t.Fatalf("a part has %d bytes of %d", len(p.text), tokens*bytesPerToken)
			}
			together = append(together, p.text...)
			for _, f := range p.files {
				shown[f] = true
			}
		}
		for _, l := range left {
			if f := c.Files[l.file]; !f.Binary && !f.Cut || l.why == "" {
				t.Fatalf("%s is left out: %q", f.Path, l.why)
			}
			if shown[l.file] {
				t.Fatalf("%s is shown and left out", c.Files[l.file].Path)
			}
			shown[l.file] = true
		}
		if len(shown) != len(c.Files) {
			t.Fatalf("%d of %d files are named", len(shown), len(c.Files))
		}
		one, _ := parts(c, 1<<28, 1)
		var whole []byte
		for _, p := range one {
			whole = append(whole, p.text...)
		}
		if got := goesOn.ReplaceAll(together, nil); !bytes.Equal(got, whole) {
			t.Fatalf("in parts\n%s\nat once\n%s", got, whole)
		}
		again, _ := parts(c, tokens, 1<<20)
		for i := range again {
			if !bytes.Equal(again[i].text, split[i].text) {
				t.Fatal("the same change gives other parts")
			}
		}
		most := rapid.IntRange(1, 3).Draw(t, "most")
		few, missing := parts(c, tokens, most)
		if len(few) > most {
			t.Fatalf("%d parts, at most %d", len(few), most)
		}
		named := map[int]bool{}
		for _, l := range missing {
			if named[l.file] {
				t.Fatal("a file is named twice")
			}
			named[l.file] = true
		}
		for _, p := range split[len(few):] {
			for _, f := range p.files {
				if !named[f] {
					t.Fatalf("%s does not fit and is not named", c.Files[f].Path)
				}
			}
		}
	})
}

// TestPartsOfHugeChange: 100,000 lines are all there.
func TestPartsOfHugeChange(t *testing.T) {
	var c Change
	for i := range 100 {
		var text []string
		for n := range 1000 {
			text = append(text, fmt.Sprintf("\tresult = append(result, compute(%d, %d))", i, n))
		}
		c.Files = append(c.Files, added(fmt.Sprintf("pkg/file%03d.go", i), text...))
	}
	split, left := parts(c, 0, 0)
	got := 0
	for _, p := range split {
		got += bytes.Count(p.text, []byte("compute("))
	}
	if got != 100_000 || len(left) != 0 || len(split) > DefaultMaxParts {
		t.Errorf("%d lines in %d parts, %d files left out", got, len(split), len(left))
	}
}

func TestPartsNameLongLines(t *testing.T) {
	c := Change{Files: []File{added("short.js", "x"), added("long.js", "a", strings.Repeat("y", maxLineBytes+1)), added("dense.js", strings.Repeat("\x01", maxLineBytes-1))}}
	split, left := parts(c, 0, 0)
	if len(split) != 1 || len(left) != 2 || left[0].file != 1 || left[1].file != 2 {
		t.Fatalf("%d parts, left %+v", len(split), left)
	}
	if len(split[0].text) > 4*maxLineBytes || !bytes.Contains(split[0].text, []byte("… the line has 4002 bytes]")) {
		t.Errorf("%d bytes shown", len(split[0].text))
	}
}

func TestPartsShow(t *testing.T) {
	c := newRepository(t).change(
		map[string]string{"a": lines(1, 12), "gone": "x\ny\n", "old": lines(1, 5), "mode": "m\n", "was": "w\n"},
		map[string]string{"a": lines(1, 4) + "li\u202ene\r\n" + lines(6, 11), "new\nname": lines(1, 5), "mode": "! m\n", "was": "", "bin": "\x00"},
	)
	split, left := parts(c, 0, 0)
	want := `
=== a
changed
@@ lines 2 to 11
2        line 2
3        line 3
4        line 4
       - line 5
5      + li⟦U+202E⟧ne
6        line 6
7        line 7
8        line 8
9        line 9
10       line 10
11       line 11
       - line 12

=== gone
deleted; line numbers are those it had
@@ lines 1 to 2
1      - x
2      - y

=== mode
changed; mode 100644 to 100755; no line of it changed

=== "new\nname"
renamed from old; no line of it changed

=== was
changed; empty now, line numbers are those it had
@@ lines 1 to 1
1      - w
`
	if len(split) != 1 || string(split[0].text) != want {
		t.Errorf("got\n%s\nwant\n%s", split[0].text, want)
	}
	if len(left) != 1 || c.Files[left[0].file].Path != "bin" || left[0].why != "binary" {
		t.Errorf("left out %+v", left)
	}
}

func TestPlace(t *testing.T) {
	c := newRepository(t).change(
		map[string]string{"a": lines(1, 40), "gone": "x\ny\n", "mode": "m\n"},
		map[string]string{"a": lines(1, 9) + "x\n" + lines(10, 40), "mode": "! m\n"},
	)
	c.Files = append(c.Files, added("odd\n\xff", "x"))
	for _, tt := range []struct {
		name string
		line int
		end  int
		ok   bool
	}{
		{`"odd\n\xff"`, 1, 1, true}, {"odd\n\xff", 1, 1, true}, {`b/"odd\n\xff"`, 1, 1, true},
		{"a", 6, 0, false}, {"a", 7, 13, true}, {"a", 10, 13, true}, {"a", 13, 13, true}, {"a", 14, 0, false}, {"a", 0, 0, false}, {"a", -1, 0, false},
		{"gone", 1, 2, true}, {"gone", 2, 2, true}, {"gone", 3, 0, false}, {"mode", 1, 1, true}, {"mode", 2, 0, false}, {"mode", 0, 0, false},
		{"b/a", 7, 13, true}, {"./a", 7, 13, true}, {"A", 7, 0, false}, {"c/a", 7, 0, false}, {"", 1, 0, false},
	} {
		f := c.find(tt.name)
		if f == nil {
			if tt.ok || tt.line == 6 {
				t.Errorf("%q is not found", tt.name)
			}
			continue
		}
		if end, ok := f.place(tt.line); ok != tt.ok || ok && end != tt.end {
			t.Errorf("%s:%d: %d, %v, want %d, %v", tt.name, tt.line, end, ok, tt.end, tt.ok)
		}
	}
}
