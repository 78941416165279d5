package runner

import (
	"bytes"
	"path"
	"strings"
)

// language is what a tolerant reader needs to know of a language: enough to
// tell code from comments and strings, and to find brackets that belong
// together.
type language struct {
	name    string
	line    []string    // what begins a comment to the end of the line
	block   [][2]string // what begins and ends a comment
	strings []string    // what begins and ends a string, longer ones first
	multi   string      // those of strings, one byte each, that may go over lines
	regexp  bool        // /…/ may be a literal
	chars   bool        // '…' holds one character, and ' may stand alone
}

var slashes = [][2]string{{"/*", "*/"}}

func languages() map[string]language {
	js := language{name: "js", line: []string{"//"}, block: slashes, strings: []string{"`", `"`, "'"}, multi: "`", regexp: true}
	c := language{name: "c", line: []string{"//"}, block: slashes, strings: []string{`"`, "'"}}
	java := language{name: "java", line: []string{"//"}, block: slashes, strings: []string{`"""`, `"`, "'"}}
	python := language{name: "python", line: []string{"#"}, strings: []string{`"""`, "'''", `"`, "'"}}
	ruby := language{name: "ruby", line: []string{"#"}, block: [][2]string{{"\n=begin", "\n=end"}}, strings: []string{`"`, "'", "`"}, multi: `"'`}
	shell := language{name: "shell", line: []string{"#"}, strings: []string{`"`, "'"}, multi: `"'`}
	perl := language{name: "perl", line: []string{"#"}, strings: []string{`"`, "'"}, multi: `"'`}
	all := map[string]language{
		".go":   {name: "go", line: []string{"//"}, block: slashes, strings: []string{"`", `"`, "'"}, multi: "`"},
		".rs":   {name: "rust", line: []string{"//"}, block: slashes, strings: []string{`"`}, multi: `"`, chars: true},
		".php":  {name: "php", line: []string{"//", "#"}, block: slashes, strings: []string{`"`, "'"}, multi: `"'`},
		".py":   python,
		".rb":   ruby,
		".bats": shell, ".sh": shell, ".bash": shell,
		".pl": perl, ".pm": perl, ".t": perl,
	}
	for _, ext := range []string{".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"} {
		all[ext] = js
	}
	for _, ext := range []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hpp", ".hh"} {
		all[ext] = c
	}
	for _, ext := range []string{".java", ".kt", ".groovy"} {
		all[ext] = java
	}
	return all
}

func languageOf(file string) (language, bool) {
	l, ok := languages()[strings.ToLower(path.Ext(file))]
	return l, ok
}

// sort says what one byte of a source is part of.
type sort byte

const (
	code sort = iota
	comment
	text // the inside of a string
)

// read says of each byte of src what it is part of.
func (l language) read(src []byte) []sort {
	sorts := make([]sort, len(src))
	for i := 0; i < len(src); {
		switch end, is := l.next(src, sorts, i); {
		case is == code:
			i++
		default:
			for ; i < end; i++ {
				sorts[i] = is
			}
		}
	}
	return sorts
}

// next says what begins at i and where it ends; code is one byte.
func (l language) next(src []byte, sorts []sort, i int) (int, sort) {
	rest := string(src[i:min(i+16, len(src))])
	for _, b := range l.block {
		if strings.HasPrefix(rest, b[0]) {
			return endOf(src, i+len(b[0]), b[1]), comment
		}
	}
	for _, begin := range l.line {
		if strings.HasPrefix(rest, begin) && (begin != "#" || l.name == "python" || i == 0 || strings.IndexByte(" \t\n;", src[i-1]) >= 0) {
			return i + lineLength(src[i:]), comment
		}
	}
	for _, q := range l.strings {
		if strings.HasPrefix(rest, q) {
			return l.endOfString(src, i+len(q), q), text
		}
	}
	if l.chars && src[i] == '\'' {
		return endOfChar(src, i)
	}
	if l.regexp && src[i] == '/' && mayBeRegexp(src, sorts, i) {
		if end := endOfRegexp(src, i); end > 0 {
			return end, text
		}
	}
	return i + 1, code
}

func endOf(src []byte, from int, mark string) int {
	if at := bytes.Index(src[min(from, len(src)):], []byte(mark)); at >= 0 {
		return from + at + len(mark)
	}
	return len(src)
}

func lineLength(src []byte) int {
	for i, c := range src {
		if c == '\n' {
			return i
		}
	}
	return len(src)
}

// endOfString returns where the string that began before from ends. One that
// may not go over lines ends with its line: the source is broken there, and
// the rest of it shall not be lost.
func (l language) endOfString(src []byte, from int, quote string) int {
	raw := l.name == "go" && quote == "`" || l.name == "shell" && quote == "'"
	for i := from; i < len(src); i++ {
		switch {
		case src[i] == '\\' && !raw:
			i++
		case strings.HasPrefix(string(src[i:min(i+3, len(src))]), quote):
			return i + len(quote)
		case src[i] == '\n' && len(quote) == 1 && !strings.Contains(l.multi, quote):
			return i
		}
	}
	return len(src)
}

// endOfChar tells a character from a lifetime.
func endOfChar(src []byte, i int) (int, sort) {
	if i+2 < len(src) && src[i+1] == '\\' {
		return min(endOf(src, i+3, "'"), i+12), text
	}
	for n := 2; n <= 5 && i+n < len(src); n++ {
		if src[i+n] == '\'' && (n == 2 || src[i+1] >= 0x80) {
			return i + n + 1, text
		}
	}
	return i + 1, code
}

// mayBeRegexp says whether a slash at i stands where a value begins.
func mayBeRegexp(src []byte, sorts []sort, i int) bool {
	for i--; i >= 0; i-- {
		if sorts[i] == comment || src[i] == ' ' || src[i] == '\t' {
			continue
		}
		return sorts[i] == code && strings.IndexByte("(,=:[!&|?{};\n+-*%<>~^", src[i]) >= 0
	}
	return true
}

func endOfRegexp(src []byte, i int) int {
	class := false
	for i++; i < len(src) && src[i] != '\n'; i++ {
		switch src[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return i + 1
			}
		}
	}
	return 0
}

// masked is src with comments and the inside of strings as spaces, at the same
// offsets: what is found there by a pattern is code.
func (l language) masked(src []byte) string {
	out := []byte(string(src))
	for i, s := range l.read(src) {
		if s != code && out[i] != '\n' {
			out[i] = ' '
		}
	}
	return string(out)
}

// closing returns where the bracket at open is closed, -1 if it is not.
func closing(masked string, open int) int {
	depth := 0
	for i := open; i < len(masked); i++ {
		switch masked[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// plain is src without comments, and with its space made one: what is left of
// it is the same when only its form was changed.
func (l language) plain(src []byte) string {
	var b []byte
	sorts := l.read(src)
	space := false
	for i, c := range src {
		switch {
		case sorts[i] == comment || sorts[i] == code && (c == ' ' || c == '\t' || c == '\n' || c == '\r'):
			space = true
			continue
		case sorts[i] == text && c == '\'':
			c = '"'
		}
		if space && len(b) > 0 && wordByte(c) && wordByte(b[len(b)-1]) {
			b = append(b, ' ')
		}
		space = false
		b = append(b, c)
	}
	out := string(b)
	for _, close := range []string{")", "]", "}"} {
		out = strings.ReplaceAll(out, ","+close, close)
	}
	return out
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// depths writes the depth of each line's indentation before it, so that a line
// of Python that moved to another block is not the same. Lines inside brackets
// go on with the one before.
func (l language) depths(src string) string {
	masked := l.masked([]byte(src))
	var b strings.Builder
	var stack []int
	at, open := 0, 0
	for line := range strings.Lines(src) {
		code := masked[at : at+len(line)]
		at += len(line)
		bare := strings.TrimLeft(line, " \t")
		if strings.TrimSpace(code) != "" && open == 0 {
			width := len(line) - len(bare)
			for len(stack) > 0 && stack[len(stack)-1] > width {
				stack = stack[:len(stack)-1]
			}
			if len(stack) == 0 || stack[len(stack)-1] < width {
				stack = append(stack, width)
			}
			b.WriteString(strings.Repeat("›", len(stack)-1))
		}
		b.WriteString(bare)
		for _, c := range []byte(code) {
			switch c {
			case '(', '[', '{':
				open++
			case ')', ']', '}':
				open = max(0, open-1)
			}
		}
	}
	return b.String()
}

// texts is what stands in the strings of src.
func (l language) texts(src string) string {
	out := []byte(src)
	for i, s := range l.read([]byte(src)) {
		if s != text {
			out[i] = ' '
		}
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// lineOf returns the line of an offset, from 1.
func lineOf(src []byte, at int) int {
	return 1 + strings.Count(string(src[:min(at, len(src))]), "\n")
}
