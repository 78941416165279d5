package git

import (
	"strings"
	"testing"
)

func TestParseNumstat(t *testing.T) {
	for _, tt := range []struct {
		out   string
		files int
		lines int // -1 = nobody can tell
		bad   bool
	}{
		{"", 0, 0, false},
		{"1\t2\ta.go\x00", 1, 3, false},
		{"1\t2\ta.go\x0010\t0\tb\tc\n.go\x00", 2, 13, false},
		{"1\t2\ta.go\x00-\t-\tlogo.png\x00", 2, -1, false},
		{"1\t2", 0, 0, true},
		{"x\t2\ta.go\x00", 0, 0, true},
		{"-1\t2\ta.go\x00", 0, 0, true},
		{"-\t2\ta.go\x00", 0, 0, true},
	} {
		got, err := parseNumstat([]byte(tt.out))
		if (err != nil) != tt.bad {
			t.Errorf("%q: %v", tt.out, err)
		}
		if err != nil {
			continue
		}
		lines := -1
		if got.Lines != nil {
			lines = *got.Lines
		}
		if got.Files != tt.files || lines != tt.lines {
			t.Errorf("%q: %d files, %d lines, want %d and %d", tt.out, got.Files, lines, tt.files, tt.lines)
		}
	}
}

// FuzzParseNumstat: whatever git says, a size is never negative, and never lines
// without files.
func FuzzParseNumstat(f *testing.F) {
	f.Add([]byte("1\t2\ta.go\x00-\t-\tb\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		got, err := parseNumstat(out)
		if err == nil && (got.Files < 0 || got.Lines != nil && (*got.Lines < 0 || *got.Lines > 0 && got.Files == 0)) {
			t.Errorf("%q: %+v", out, got)
		}
	})
}

// git itself is asked, with names that it would quote.
func TestSizeOfAChange(t *testing.T) {
	b := newBed(t, files{"a b\n.txt": "1\n2\n"})
	dir := b.folder("01")
	b.write(dir, files{"a b\n.txt": "1\n3\n4\n", "ü.txt": strings.Repeat("x\n", 5)})
	two := b.snap(dir, b.base).Commit
	got, err := b.Size(b.ctx, b.base, two)
	if err != nil || got.Files != 2 || got.Lines == nil || *got.Lines != 8 {
		t.Errorf("%+v, %v; want 2 files and 8 lines", got, err)
	}
	b.write(dir, files{"logo": "\x00\x01"})
	got, err = b.Size(b.ctx, two, b.snap(dir, two).Commit)
	if err != nil || got.Files != 1 || got.Lines != nil {
		t.Errorf("of a file that is no text: %+v, %v", got, err)
	}
	if _, err := b.Size(b.ctx, "-x", two); err == nil {
		t.Error("what is no commit has a size")
	}
}
