package search

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"forge/internal/text"
)

// partsOf are the words within names such as parseHTTPHeader, which the index
// would otherwise take for one; of each name once, since the text itself says how
// often it has it.
func partsOf(body string) string {
	b := make([]byte, 0, len(body)/4)
	seen := map[string]bool{}
	for at := 0; at < len(body); {
		c := body[at]
		if c < utf8.RuneSelf && !asciiWord(c) {
			at++
			continue
		}
		end, ascii := at, true
		for end < len(body) && (body[end] >= utf8.RuneSelf || asciiWord(body[end])) {
			ascii = ascii && body[end] < utf8.RuneSelf
			end++
		}
		if name := body[at:end]; !ascii {
			b = otherHumps(b, name)
		} else if humped(name) && !seen[name] {
			seen[name] = true
			b = asciiHumps(b, name)
		}
		at = end
	}
	return string(b)
}

func asciiWord(c byte) bool { return asciiLower(c) || asciiUpper(c) || '0' <= c && c <= '9' }

func asciiUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

func asciiLower(c byte) bool { return 'a' <= c && c <= 'z' }

// humped says that a name may have more than one word, which most have not.
func humped(name string) bool {
	for i := 1; i < len(name); i++ {
		if asciiUpper(name[i]) {
			return true
		}
	}
	return false
}

// asciiHumps is what humps does with most names, a hundred times as often as it
// is asked: a project is read at the speed of this function.
func asciiHumps(b []byte, name string) []byte {
	from := 0
	for i := 1; i < len(name); i++ {
		if asciiUpper(name[i]) && (asciiLower(name[i-1]) || i+1 < len(name) && asciiUpper(name[i-1]) && asciiLower(name[i+1])) {
			b = append(append(b, name[from:i]...), ' ')
			from = i
		}
	}
	if from > 0 {
		b = append(append(b, name[from:]...), ' ')
	}
	return b
}

// otherHumps takes names of all letters that stand between the bounds of words.
func otherHumps(b []byte, run string) []byte {
	for _, name := range strings.FieldsFunc(run, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if parts := humps(name); len(parts) > 1 {
			b = append(append(b, strings.Join(parts, " ")...), ' ')
		}
	}
	return b
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
	pieceChunks  = 8
	excerptLines = 3
	excerptRunes = 240
)

// chunk is a part of a text: what a vector is made of, or several such in a row.
type chunk struct {
	line, lines int // the first one, from 1, and how many
	body        string
}

// pieces cuts a text into what is found as a whole: a few chunks that follow each
// other. To cut the text of one gives these chunks again.
func pieces(body string) []chunk {
	var out []chunk
	n := 0
	for _, c := range chunks(body) {
		if last := len(out) - 1; n%pieceChunks != 0 && out[last].line+out[last].lines == c.line {
			out[last].body += c.body
			out[last].lines += c.lines
			n++
		} else {
			out = append(out, c)
			n = 1
		}
	}
	return out
}

// chunks cuts a text into chunks of whole lines, and leaves blank ones out. A line
// alone may be longer.
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

// stemOf is how the forms of an English word begin, "" where that says nothing:
// words of other letters, names, and what would be too short to mean it.
func stemOf(word string) string {
	const least = 4
	word = strings.ToLower(word)
	if len(word) <= least || strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return ""
	}
	for _, end := range []string{"ations", "ation", "ings", "ing", "ions", "ion", "ies", "ers", "er", "ors", "or", "es", "ed", "s", "e", "y"} {
		if stem, is := strings.CutSuffix(word, end); is && len(stem) >= least {
			// "planning" is of "plan".
			if n := len(stem); n > least && stem[n-1] == stem[n-2] && strings.HasSuffix(end, "ing") {
				stem = stem[:n-1]
			}
			return stem
		}
	}
	return word
}
