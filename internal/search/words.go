package search

import (
	"strings"
	"unicode"

	"forge/internal/text"
)

// partsOf are the words within names such as parseHTTPHeader, which the index
// would otherwise take for one.
func partsOf(body string) string {
	var b strings.Builder
	for _, name := range strings.FieldsFunc(body, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if parts := humps(name); len(parts) > 1 {
			b.WriteString(strings.Join(parts, " ") + " ")
		}
	}
	return b.String()
}

// humps cuts a name where a capital follows a small letter, and before the last
// of several capitals that a small letter follows.
func humps(name string) []string {
	r := []rune(name)
	var out []string
	from := 0
	for i := 1; i < len(r); i++ {
		if unicode.IsUpper(r[i]) && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsUpper(r[i-1]) && unicode.IsLower(r[i+1])) {
			out = append(out, string(r[from:i]))
			from = i
		}
	}
	return append(out, string(r[from:]))
}

const (
	chunkLines   = 40
	chunkBytes   = 4000
	excerptLines = 3
	excerptRunes = 240
)

// chunk is a piece of a text that is found as a whole.
type chunk struct {
	line, lines int // the first one, from 1, and how many
	body        string
}

// chunks cuts a text into pieces of whole lines. A line alone may be longer.
func chunks(body string) []chunk {
	var out []chunk
	var b strings.Builder
	first, n := 1, 0
	end := func() {
		if n > 0 && !text.Blank(b.String()) {
			out = append(out, chunk{first, n, b.String()})
		}
		b.Reset()
		first, n = first+n, 0
	}
	for line := range strings.Lines(body) {
		if n == chunkLines || n > 0 && b.Len()+len(line) > chunkBytes {
			end()
		}
		b.WriteString(line)
		n++
	}
	end()
	return out
}

// excerpt is the part of a piece in which most of what was asked for stands, and
// how many lines come before it.
func (q Query) excerpt(body string) (said string, before int) {
	lines := strings.Split(strings.TrimRight(body, "\n"), "\n")
	best, most := 0, 0
	for i, line := range lines {
		n := 0
		low := strings.ToLower(line + " " + partsOf(line))
		for _, t := range q.Terms {
			for _, word := range strings.Fields(strings.ToLower(t.Words)) {
				if strings.Contains(low, word) {
					n++
				}
			}
		}
		if n > most {
			best, most = i, n
		}
	}
	shown := lines[best:min(best+excerptLines, len(lines))]
	for i, line := range shown {
		shown[i] = text.OneLine(strings.TrimRight(line, " \t"), excerptRunes)
	}
	return strings.TrimRight(strings.Join(shown, "\n"), "\n "), best
}
