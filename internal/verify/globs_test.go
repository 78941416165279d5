package verify

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPatternsAgainstOracle tries every pattern of up to three names on every
// path of up to four against a matcher that goes name by name.
func TestPatternsAgainstOracle(t *testing.T) {
	for _, pattern := range paths(3, "a", "b", "*", "a*", "**") {
		ps, err := compile("copy", []string{pattern})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paths(4, "a", "b", "ab") {
			want := slowMatch(strings.Split(pattern, "/"), strings.Split(p, "/"))
			if got := ps[0].matches(p); got != want {
				t.Errorf("%q matches %q: %v, want %v", pattern, p, got, want)
			}
			if want && !below(p, ps[0].start) {
				t.Errorf("%q matches %q, but is looked for in %q", pattern, p, ps[0].start)
			}
			if want && ps[0].depth > 0 && strings.Count(p, "/")+1 != ps[0].depth {
				t.Errorf("%q matches %q, but is looked for at depth %d", pattern, p, ps[0].depth)
			}
		}
	}
}

// paths are all sequences of up to most names.
func paths(most int, names ...string) []string {
	if most == 0 {
		return nil
	}
	all := append([]string(nil), names...)
	for _, rest := range paths(most-1, names...) {
		for _, n := range names {
			all = append(all, n+"/"+rest)
		}
	}
	return all
}

func slowMatch(pattern, names []string) bool {
	switch {
	case len(pattern) == 0:
		return len(names) == 0
	case pattern[0] == "**" && len(pattern) == 1:
		return len(names) > 0
	case pattern[0] == "**":
		for i := range len(names) + 1 {
			if slowMatch(pattern[1:], names[i:]) {
				return true
			}
		}
		return false
	case len(names) == 0:
		return false
	}
	head, star := strings.CutSuffix(pattern[0], "*")
	fits := names[0] == pattern[0] || star && strings.HasPrefix(names[0], head)
	return fits && slowMatch(pattern[1:], names[1:])
}

// FuzzCompile: no setting makes the reading of globs panic, or look outside.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{".env", "**/a/**", "{a,b/c}/*", "[!a]\\*", "../x", "a/./b", "//", "[a-", "{{{"} {
		f.Add(s, "a/b/c")
	}
	f.Fuzz(func(t *testing.T, text, p string) {
		ps, err := compile("copy", []string{text})
		if err != nil {
			return
		}
		ps[0].matches(p)
		if s := ps[0].start; s == ".." || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "/") {
			t.Errorf("%q is looked for in %q", text, s)
		}
	})
}

// FuzzOutput: whatever a command prints, and however it is cut into writes,
// what is kept is valid text, and text that was valid is kept as it is.
func FuzzOutput(f *testing.F) {
	f.Add([]byte("plain äöü € 𝄞\n"), uint8(3))
	f.Add([]byte("\xff\xc3\x28 \xe2\x82"), uint8(1))
	f.Add([]byte("\xf0\x9d\x84"), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, step uint8) {
		var kept strings.Builder
		v := &validUTF8{to: &kept}
		for rest := text; len(rest) > 0; {
			n := min(int(step)+1, len(rest))
			if _, err := v.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := v.flush(); err != nil {
			t.Fatal(err)
		}
		got := kept.String()
		if !utf8.ValidString(got) || utf8.Valid(text) && got != string(text) {
			t.Errorf("%q by %d became %q", text, step, got)
		}
	})
}
