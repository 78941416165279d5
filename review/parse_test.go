package review

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	godiff "github.com/sourcegraph/go-diff/diff"
	"pgregory.net/rapid"
)

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// TestParseChangeOfGit reads what git makes of every sort of change, under
// names that are hard to write down.
func TestParseChangeOfGit(t *testing.T) {
	odd := "n\new\t\"q\" \\ \xff é"
	c := newRepository(t).change(map[string]string{
		"changed": lines(1, 30), "gone": "a\nb\n", "sp ace": "x\n", "moved": lines(1, 10), odd + "old": lines(1, 20),
		"bin": "a\x00b", "binold": "a\x00b", "mode": "m\n", "link": "-> changed", "emptied": "a\nb\nc\n", "crlf": "a\r\nb\r\n",
	}, map[string]string{
		"changed": strings.Replace(strings.Replace(lines(1, 30), "line 2\n", "", 1), "line 28\n", "line 28\nadded\n", 1),
		"sp ace":  "y", "to/moved": lines(1, 10), odd: lines(1, 19) + "other\n",
		"bin": "a\x00c", "mode": "! m\n", "link": "a file now\n", "emptied": "", "crlf": "a\r\nc\r\n", "new": "n\n", "empty": "",
		"a b/c d": "x\n", "--- a": "x\n", "diff --git a b": "x\n",
	})
	var got strings.Builder
	for _, f := range c.Files {
		fmt.Fprintf(&got, "%c %q %q %s-%s bin=%v", f.Status, f.Path, f.OldPath, f.OldMode[3:], f.NewMode[3:], f.Binary)
		for _, h := range f.Hunks {
			fmt.Fprintf(&got, " -%d,%d+%d,%d", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		}
		got.WriteString("\n")
	}
	want := `A "--- a" "" 000-644 bin=false -0,0+1,1
A "a b/c d" "" 000-644 bin=false -0,0+1,1
M "bin" "" 644-644 bin=true
D "binold" "" 644-000 bin=true
M "changed" "" 644-644 bin=false -1,5+1,4 -26,5+25,6
M "crlf" "" 644-644 bin=false -1,2+1,2
A "diff --git a b" "" 000-644 bin=false -0,0+1,1
M "emptied" "" 644-644 bin=false -1,3+0,0
A "empty" "" 000-644 bin=false
D "gone" "" 644-000 bin=false -1,2+0,0
T "link" "" 000-644 bin=false -1,1+0,0 -0,0+1,1
M "mode" "" 644-755 bin=false
R "to/moved" "moved" 644-644 bin=false
R "n\new\t\"q\" \\ \xff é" "n\new\t\"q\" \\ \xff éold" 644-644 bin=false -17,4+17,4
A "new" "" 000-644 bin=false -0,0+1,1
M "sp ace" "" 644-644 bin=false -1,1+1,1
`
	if sorted(got.String()) != sorted(want) {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
}

func sorted(text string) string {
	all := strings.Split(text, "\n")
	for i := range all {
		for j := i; j > 0 && all[j] < all[j-1]; j-- {
			all[j], all[j-1] = all[j-1], all[j]
		}
	}
	return strings.Join(all, "\n")
}

// TestParseChangeOfLookalikes: lines that look like the head of a file or hunk
// are lines.
func TestParseChangeOfLookalikes(t *testing.T) {
	r := newRepository(t)
	from := r.commit(map[string]string{"a.sql": lines(1, 9) + "-- a/innocent\n" + "\n@@ -1 +1 @@\n" + lines(1, 9)})
	to := r.commit(map[string]string{"a.sql": lines(1, 9) + "++ b/innocent\n" + "\n@@ -1 +1 @@\n" + lines(1, 9) + "diff --git a/x b/x\n"})
	c := mustParse(t, r.diff(from, to))
	if len(c.Files) != 1 || len(c.Files[0].Hunks) != 2 || !bytes.HasSuffix(c.Files[0].Hunks[1].Body, []byte("+diff --git a/x b/x\n")) {
		t.Fatalf("%+v", c)
	}
	if body := c.Files[0].Hunks[0].Body; !bytes.Contains(body, []byte("\n--- a/innocent\n+++ b/innocent\n \n @@ -1 +1 @@\n")) {
		t.Errorf("%s", body)
	}
}

func patchOf(text []byte) []byte { return text[bytes.Index(text, []byte("\x00\x00"))+2:] }

// TestParseChangeAgainstContents holds what was read against the files
// themselves: every line with a number is that line of the file, and what
// changed is there. go-diff, where no line looks like a head, agrees.
func TestParseChangeAgainstContents(t *testing.T) {
	r := newRepository(t)
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.SampledFrom([]string{"a", "b", "c", "", " ", "\\ no", "@ @", "++", "é", "\x01"})
		old := rapid.SliceOfN(line, 0, 40).Draw(t, "old")
		now := append([]string(nil), old...)
		for range rapid.IntRange(1, 5).Draw(t, "edits") {
			at := rapid.IntRange(0, len(now)).Draw(t, "at")
			if rapid.Bool().Draw(t, "insert") || at == len(now) {
				now = append(now[:at], append([]string{line.Draw(t, "line")}, now[at:]...)...)
			} else {
				now = append(now[:at], now[at+1:]...)
			}
		}
		end := rapid.SampledFrom([]string{"", "\n"})
		oldText, nowText := strings.Join(old, "\n")+end.Draw(t, "old end"), strings.Join(now, "\n")+end.Draw(t, "end")
		text := r.diff(r.commit(map[string]string{"f": oldText, "k": "k"}), r.commit(map[string]string{"f": nowText, "k": "k"}))
		c, err := ParseChange(text, false)
		if err != nil {
			t.Fatal(err)
		}
		if oldText == nowText {
			if len(c.Files) != 0 {
				t.Fatalf("no change gives %+v", c)
			}
			return
		}
		f := &c.Files[0]
		numbered := strings.Split(nowText, "\n")
		if f.oldSide() {
			numbered = strings.Split(oldText, "\n")
		}
		for i := range f.Hunks {
			walk(&f.Hunks[i], f.oldSide(), func(number int, line []byte) bool {
				if number > 0 && (number > len(numbered) || string(line[1:]) != numbered[number-1]) {
					t.Fatalf("line %d is shown as %q, the file has %q", number, line, numbered)
				}
				if _, ok := f.place(number); ok != (number > 0) {
					t.Fatalf("line %d: placed %v", number, ok)
				}
				return true
			})
		}
		oracle, err := godiff.ParseMultiFileDiff(patchOf(text))
		if err != nil || len(oracle) != 1 || len(oracle[0].Hunks) != len(f.Hunks) {
			t.Fatalf("go-diff: %v, %v of %+v", oracle, err, f)
		}
		for i, h := range oracle[0].Hunks {
			mine := f.Hunks[i]
			if int(h.OrigStartLine) != mine.OldStart || int(h.OrigLines) != mine.OldLines || int(h.NewStartLine) != mine.NewStart || int(h.NewLines) != mine.NewLines {
				t.Fatalf("go-diff reads %+v, not %+v", h, mine)
			}
		}
	})
}

const head = ":100644 100644 1111111111111111111111111111111111111111 2222222222222222222222222222222222222222 M\x00f\x00\x00"

const index = "index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\n"

func TestParseChangeRefuses(t *testing.T) {
	good := head + "diff --git a/f b/f\n" + index + "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"
	// git can be told to leave the mark of empty lines out.
	for _, text := range []string{good, strings.Replace(good, "-1 +1 @@\n", "-1,2 +1,2 @@\n\n", 1)} {
		if _, err := ParseChange([]byte(text), false); err != nil {
			t.Fatal(err)
		}
	}
	for _, bad := range []string{
		good[:len(good)-1], good[:len(good)-4], good + "more\n", good + "+b\n", good + "diff --git a/g b/g\n",
		head, head[:40], head[:len(head)-1] + "x", "x", strings.Replace(good, "M\x00", "X\x00", 1), strings.Replace(good, "M\x00f\x00", "M\x00\x00", 1),
		strings.Replace(good, "2222 100644", "3333 100644", 1), strings.Replace(good, "-1 +1", "-1 +1,2", 1), strings.Replace(good, "-1 +1", "-1,0 +1,0", 1),
		strings.Replace(good, "-1 +1", "--1 +1", 1), strings.Replace(good, "-1 +1", "-99999999999 +1", 1), strings.Replace(good, "--- a/f", "=== a/f", 1),
		strings.Replace(good, "-a\n", "*a\n", 1), strings.Replace(good, "-1 +1 @@", "-1 +1", 1), "\x00" + good,
		strings.Replace(good, "-1 +1 @@\n-a\n+b\n", "-1 +1,2 @@\n a\n b\n", 1),
	} {
		if c, err := ParseChange([]byte(bad), false); err == nil {
			t.Errorf("%q was read as %+v", bad, c)
		}
	}
}

// TestParseChangeCut: wherever the text is cut, no file counts as whole that
// is not, and none is missing.
func TestParseChangeCut(t *testing.T) {
	r := newRepository(t)
	from := r.commit(map[string]string{"a": lines(1, 30), "l": "-> a", "z": "z\n"})
	text := r.diff(from, r.commit(map[string]string{"a": "x\n" + lines(1, 29) + "y\n", "l": "l\n", "b": "b\x00", "y": "y\n"}))
	whole := mustParse(t, text)
	list := len(text) - len(patchOf(text))
	for n := range text {
		c, err := ParseChange(text[:n], true)
		if n < list-1 {
			if err == nil && len(c.Files) == len(whole.Files) && !c.Files[0].Cut {
				t.Fatalf("after %d bytes: %+v", n, c)
			}
			continue
		}
		if err != nil || len(c.Files) != len(whole.Files) {
			t.Fatalf("after %d bytes: %d files, %v", n, len(c.Files), err)
		}
		for i, f := range c.Files {
			if !f.Cut && len(f.Hunks) != len(whole.Files[i].Hunks) {
				t.Fatalf("after %d bytes %s is not whole", n, f.Path)
			}
		}
		if !c.Files[len(c.Files)-1].Cut {
			t.Fatalf("after %d bytes nothing is said to be cut", n)
		}
	}
}

func FuzzParseChange(f *testing.F) {
	f.Add([]byte(head+"diff --git a/f b/f\n"+index+"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@ x\n a\n-b\n+c\n\\ No newline at end of file\n"), false)
	f.Add([]byte(head+"diff --git a/f b/f\n"+index+"Binary files a/f and b/f differ\n"), true)
	f.Add([]byte(strings.Replace(head, "M\x00f", "R100\x00f\x00g", 1)+"diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"), false)
	f.Add([]byte(""), false)
	f.Fuzz(func(t *testing.T, text []byte, cut bool) {
		c, err := ParseChange(text, cut)
		if err != nil {
			return
		}
		size := 0
		for i := range c.Files {
			file := &c.Files[i]
			for j := range file.Hunks {
				h := &file.Hunks[j]
				size += len(h.Body)
				was, now := 0, 0
				walk(h, false, func(_ int, line []byte) bool {
					switch {
					case len(line) == 0 || line[0] == ' ':
						was, now = was+1, now+1
					case line[0] == '-':
						was++
					case line[0] == '+':
						now++
					}
					return true
				})
				if was != h.OldLines || now != h.NewLines {
					t.Fatalf("a hunk of %d and %d lines holds %d and %d", h.OldLines, h.NewLines, was, now)
				}
			}
			if n := Name(file.Path); strings.ContainsAny(n, "\n\r\x00") || !utf8.ValidString(n) {
				t.Fatalf("name %q", n)
			}
		}
		if size > len(text) {
			t.Fatalf("%d bytes of hunks out of %d", size, len(text))
		}
		all, left := parts(c, 1, 3)
		seen := map[int]bool{}
		for _, p := range all {
			for _, i := range p.files {
				seen[i] = true
			}
		}
		for _, l := range left {
			seen[l.file] = true
		}
		if len(seen) != len(c.Files) || len(all) > 3 {
			t.Fatalf("%d of %d files are named, in %d parts", len(seen), len(c.Files), len(all))
		}
	})
}
