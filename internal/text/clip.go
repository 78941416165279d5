package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// more stands where a text was cut.
const more = "…"

// Cut is the beginning of text, at most most bytes of it, and splits no
// character. What is not UTF-8 becomes U+FFFD.
func Cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	most = max(most, 0)
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// Clip is text in at most most bytes: itself, or its beginning and a mark that
// there was more.
func Clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	if most < len(more) {
		return Cut(text, most)
	}
	return Cut(text, most-len(more)) + more
}

// End is the end of text, at most most bytes of it, and splits no character.
// What is not UTF-8 becomes U+FFFD.
func End(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	from := min(max(len(text)-most, 0), len(text))
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return text[from:]
}

// ClipLine is PlainLine in at most most bytes.
func ClipLine(text string, most int) string { return Clip(PlainLine(text), most) }

// clipRunes is text in at most most characters, as Clip.
func clipRunes(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	if most < 1 {
		return ""
	}
	return string(r[:most-1]) + more
}

// JSONSize is how many bytes text takes up within a JSON string.
func JSONSize(text string) int {
	n := 0
	for _, r := range text {
		n += jsonSize(r)
	}
	return n
}

// jsonSize is how many bytes r takes up in JSON: a control character is written
// as six.
func jsonSize(r rune) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t':
		return 2
	case r < ' ', r == 0x7f, r == '\u2028', r == '\u2029':
		return 6
	}
	return utf8.RuneLen(r)
}

// fitting is how much of the beginning of valid text takes up at most most bytes
// in JSON.
func fitting(text string, most int) int {
	for i, r := range text {
		if most -= jsonSize(r); most < 0 {
			return i
		}
	}
	return len(text)
}

// ClipJSON keeps what of the beginning of text takes up most bytes within JSON,
// and puts a mark behind it where there was more.
func ClipJSON(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if cut := fitting(text, most); cut < len(text) {
		return text[:cut] + more
	}
	return text
}

// ClipMiddle keeps of text what takes up most bytes within JSON: its beginning
// and its end, since the cause of a failure stands in one of them. A line
// between them says how much was left out.
func ClipMiddle(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if fitting(text, most) == len(text) {
		return text
	}
	head, tail := fitting(text, most/3), len(text)
	for left := most - most/3; tail > head; {
		r, size := utf8.DecodeLastRuneInString(text[:tail])
		if left -= jsonSize(r); left < 0 {
			break
		}
		tail -= size
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", text[:head], tail-head, text[tail:])
}
