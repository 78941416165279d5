package text

import (
	"bytes"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestHarmless(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\ttext\nnext ✓ é 👩‍👩", "plain\ttext\nnext ✓ é 👩‍👩"},
		{"\x1b[2J\x1b]0;title\x07", `\x1b[2J\x1b]0;title\x07`},
		{"one\r\ntwo\rover", "one\ntwo\\x0dover"},
		{"c1 \u009b2J and \u202eright", `c1 \u009b2J and \u202eright`},
		{"bad \xff\xc3 bytes\x00", `bad \xff\xc3 bytes\x00`},
		{"tag \U000e0041", `tag \U000e0041`},
		{"\u2028line \x7f", `\u2028line \x7f`},
	} {
		if got := Harmless(c.in); got != c.want {
			t.Errorf("harmless(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// However the text is cut into writes, the same comes out, and nothing in it
// moves a cursor.
func FuzzHarmlessWriter(f *testing.F) {
	f.Add("plain\r\ntext ✓ \x1b[31m", 3)
	f.Add("line\r\nline", 5)
	f.Add("\xf0\x9f\x91\xa9\u200d\xff\r", 1)
	f.Fuzz(func(t *testing.T, text string, at int) {
		if at = max(at, 0); at > len(text) {
			at = len(text)
		}
		var out bytes.Buffer
		w := &HarmlessWriter{To: &out}
		for _, part := range []string{text[:at], text[at:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatalf("Write(%q) = %d, %v", part, n, err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got, want := out.String(), Harmless(text); got != want {
			t.Errorf("written %q at %d: %q, want %q", text, at, got, want)
		}
		for _, r := range out.String() {
			if unicode.IsControl(r) && r != '\n' && r != '\t' {
				t.Errorf("%q is left in %q", r, out.String())
			}
		}
		if !utf8.ValidString(out.String()) {
			t.Errorf("%q is not UTF-8", out.String())
		}
	})
}
