package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible is the table: all characters that nobody sees, or that change how
// others are seen, or that a terminal obeys. Nothing else in Forge says which
// those are.
var invisible = []*unicode.RangeTable{
	unicode.Cc,             // control characters: C0, DEL, C1; white space too
	unicode.Cf,             // soft hyphen, zero width, joiners, marks of direction, tags
	unicode.Zl, unicode.Zp, // line and paragraph separators
	unicode.Co,                                 // private use: every font shows another sign, or none
	unicode.Noncharacter_Code_Point,            // no characters at all
	unicode.Variation_Selector,                 // the look of the character before
	unicode.Other_Default_Ignorable_Code_Point, // Hangul fillers, and what is kept for more of all this
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}}, // Braille without a dot
}

// Invisible says that r is in the table: nobody sees it, it changes how others
// are seen, or a terminal obeys it. Line ends and tabs are in it too.
func Invisible(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return unicode.In(r, invisible...)
}

// Control says that r is a control character, which terminals and records of
// lines obey: C0, DEL or C1. All of them are Invisible.
func Control(r rune) bool { return unicode.IsControl(r) }

const (
	zeroWidthJoiner = '\u200d' // makes one emoji of two
	emojiLook       = '\ufe0f' // asks for the colourful form of a sign
)

// inEmoji finds the two invisible characters that are part of an emoji, and are
// seen in it. Its value is where in an emoji a text stands.
type inEmoji int

const (
	noEmoji      inEmoji = iota
	afterSign            // a look or a joiner may follow
	afterLook            // a joiner may follow
	afterKeyName         // a look may follow: a digit on a key
)

// has takes the next character of a text and says that it is part of the emoji
// before it.
func (e *inEmoji) has(r rune) bool {
	was := *e
	*e = noEmoji
	switch {
	case r == emojiLook && was == afterSign:
		*e = afterLook
		return true
	case r == emojiLook:
		return was == afterKeyName
	case r == zeroWidthJoiner:
		return was == afterSign || was == afterLook
	case r >= '0' && r <= '9', r == '#', r == '*':
		*e = afterKeyName
	case r < 0xa0: // no emoji
	case unicode.In(r, unicode.So, unicode.Sm, unicode.Sk) && r != 0x2800, strings.ContainsRune("‼⁉ℹ〰〽", r):
		*e = afterSign
	}
	return false
}

// Hides says that something in text cannot be seen, line ends and tabs too, or
// was lost (U+FFFD, what is not UTF-8); the parts of an emoji can be seen.
func Hides(text string) bool {
	var e inEmoji
	for _, r := range text {
		if part := e.has(r); r == unicode.ReplacementChar || !part && Invisible(r) {
			return true
		}
	}
	return false
}

// Blank says that there is nothing to be seen in text.
func Blank(text string) bool {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) || Invisible(r) || r == unicode.ReplacementChar
	}) == ""
}

// Plain takes out of text what nobody sees, and what is said to a terminal as a
// whole. Line ends and tabs stay; other ends of a line become spaces, so that no
// line begins that was none.
func Plain(text string) string {
	plain, _ := strip(text)
	return plain
}

// PlainLine is text in one line, without what nobody sees; white space of any
// length is one space.
func PlainLine(text string) string { return strings.Join(strings.Fields(Plain(text)), " ") }

// strip is Plain, and counts what is hidden: not line ends, and not the parts
// of an emoji.
func strip(text string) (plain string, hidden int) {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	var b strings.Builder
	b.Grow(len(text))
	var e inEmoji
	for i := 0; i < len(text); {
		if n := sequence(text[i:]); n > 0 {
			hidden++
			e = noEmoji
			i += n
			continue
		}

		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		part := e.has(r)
		switch {
		case !Invisible(r), r == '\n', r == '\t':
			b.WriteRune(r)
		case r != ' ' && unicode.IsSpace(r):
			b.WriteByte(' ')
		case !part:
			hidden++
		}
	}
	return b.String(), hidden
}

// sequence is the length of what text, at its beginning, says to a terminal: a
// control sequence up to its last byte, a title, link or other string up to its
// end but never past the end of the line, else an escape and what belongs to
// it; 0 where text begins otherwise.
func sequence(text string) int {
	r, at := utf8.DecodeRuneInString(text)
	switch r {
	case 0x1b:
		if at == len(text) {
			return at
		}
		r = rune(text[at]) + 0x40 // ESC [ is U+009B, and so on
		if text[at] < 0x40 || text[at] > 0x5f {
			at = skip(text, at, 0x20, 0x2f)
			return final(text, at, 0x30)
		}
		at++
	case 0x90, 0x98, 0x9b, 0x9d, 0x9e, 0x9f:
	default:
		return 0
	}

	switch r {
	case 0x9b: // a control sequence
		return final(text, skip(text, at, 0x20, 0x3f), 0x40)
	case 0x90, 0x98, 0x9d, 0x9e, 0x9f: // strings
		end := strings.IndexAny(text[at:], "\a\n\x1b\u009c")
		switch {
		case end < 0:
			return len(text)
		case strings.HasPrefix(text[at+end:], "\x1b\\"), strings.HasPrefix(text[at+end:], "\u009c"):
			return at + end + 2
		case text[at+end] == '\a':
			return at + end + 1
		}
		return at + end
	}
	return at
}

// skip is where the bytes from low to high end that begin at at.
func skip(text string, at int, low, high byte) int {
	for at < len(text) && text[at] >= low && text[at] <= high {
		at++
	}
	return at
}

// final is the end of a sequence whose last byte, of low and above, may stand at
// at.
func final(text string, at int, low byte) int {
	if at < len(text) && text[at] >= low && text[at] <= 0x7e {
		at++
	}
	return at
}

// Reveal removes what a person would not see in text, and says how many hidden
// comments and invisible characters that were.
func Reveal(text string) (seen string, hidden int) {
	const opens, closes = "<!--", "-->"
	text, hidden = strip(text)
	if !strings.Contains(text, opens) {
		return text, hidden
	}

	// What stands around a comment may be the beginning of another one.
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		out = append(out, text[i])
		if text[i] != '-' || !strings.HasSuffix(string(out[max(0, len(out)-len(opens)):]), opens) {
			continue
		}
		hidden++
		out = out[:len(out)-len(opens)]
		end := strings.Index(text[i+1:], closes)
		if end < 0 {
			break
		}
		i += end + len(closes)
	}
	return string(out), hidden
}

// WithoutMark is text without the byte order mark that some editors write at the
// beginning of a file.
func WithoutMark(text string) string { return strings.TrimPrefix(text, "\ufeff") }

// IsWord says that r is a letter or a digit of any script.
func IsWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
