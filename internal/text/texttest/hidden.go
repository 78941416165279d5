package texttest

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// ranges are what nobody sees and what acts on a terminal, written from what
// Unicode says of each block and not from Forge's own table.
var ranges = [][2]rune{
	{0x00, 0x1f}, {0x7f, 0x9f}, // control characters
	{0xad, 0xad},                   // soft hyphen
	{0x34f, 0x34f}, {0x61c, 0x61c}, // a joiner; an Arabic mark of direction
	{0x115f, 0x1160}, {0x3164, 0x3164}, {0xffa0, 0xffa0}, // Hangul fillers
	{0x17b4, 0x17b5},                                     // Khmer vowels that are not written
	{0x180b, 0x180f},                                     // Mongolian variants
	{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, // zero width, separators, direction
	{0x2800, 0x2800},                                                             // Braille without a dot
	{0xe000, 0xe000}, {0xf8ff, 0xf8ff}, {0xf0000, 0xf0000}, {0x10fffd, 0x10fffd}, // private use
	{0xfdd0, 0xfdd0}, {0xfffe, 0xffff}, {0x10ffff, 0x10ffff}, // no characters
	{0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, // shorthand, music
	{0xe0000, 0xe007f}, {0xe0100, 0xe0102}, {0xe01ef, 0xe01f0}, {0xe0fff, 0xe0fff}, // tags, variants
}

// Hidden are the characters that nobody sees or that act on a terminal; of large
// blocks the first and the last.
func Hidden() []rune {
	var all []rune
	for _, r := range ranges {
		for c := r[0]; c <= r[1]; c++ {
			all = append(all, c)
		}
	}
	return all
}

// Terminal are texts that a terminal obeys.
func Terminal() []string {
	return []string{
		"\x1b[31m" + Word + "\x1b[0m", "\x1b]0;title\x07" + Word, "\x1b]8;;https://host.example\x1b\\" + Word + "\x1b]8;;\x1b\\", "\u009b2J" + Word, "\u009dtitle\u009c" + Word,
		"\x1b]52;c;c2VjcmV0\n" + Word, "\x1bP1$r\x1b\\" + Word, "\x1bc" + Word, "\x1b(B" + Word, Word + "\x1b", Word + "\x1b[3", Word + "\x1b]", Word + "\rover", "\b\b" + Word,
	}
}

// Seen holds a way on which text from elsewhere comes to a person or an agent:
// show must keep what can be seen, and let through none of the hidden
// characters. Line ends and tabs may stay.
func Seen(t testing.TB, way string, show func(words string) string) {
	t.Helper()
	all := Terminal()
	for _, r := range Hidden() {
		all = append(all, Word+string(r)+Word)
	}
	for _, words := range all {
		shown := show(words)
		if !strings.Contains(shown, Word) || !utf8.ValidString(shown) {
			t.Errorf("%s: %+q is shown as %+q", way, words, shown)
		}
		for _, r := range Hidden() {
			if r != '\n' && r != '\t' && strings.ContainsRune(shown, r) {
				t.Errorf("%s: %+q is shown as %+q, with %U in it", way, words, shown, r)
			}
		}
	}
}
