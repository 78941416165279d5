package config

import (
	"fmt"
	"strconv"
	"strings"
)

// The TOML decoder gives values without places. This scanner reads the same
// text and remembers where each key and each array element stands. It also
// bounds nesting before the decoder runs, whose time is quadratic in it.

// place is a position in a text file, from 1; the zero value is "nowhere".
type place struct{ line, col int }

// maxDepth bounds the nesting of keys, tables and arrays.
const maxDepth = 32

// index maps the path of a key to its place.
type index struct{ at map[string]place }

// keyPath joins segments to the form used as key of an index. Elements of
// arrays are segments made by element.
func keyPath(segments []string) string { return strings.Join(segments, "\x1f") }

func element(i int) string { return "\x00" + strconv.Itoa(i) }

// find returns the place of the path, or of its longest known prefix.
func (x index) find(segments []string) place {
	for n := len(segments); n > 0; n-- {
		if p, ok := x.at[keyPath(segments[:n])]; ok {
			return p
		}
	}
	return place{}
}

// has says that the text holds the key, whether or not its value is any good.
func (x index) has(segments ...string) bool {
	_, ok := x.at[keyPath(segments)]
	return ok
}

// scanError is where the scanner stopped, and why. The decoder usually has the
// better words for it.
type scanError struct {
	at     place
	offset int
	what   string
	deep   bool // nesting, which the decoder must not see
}

type scanner struct {
	text    string
	pos     int
	line    int
	lineAt  int // offset of the line's first byte
	index   index
	arrays  map[string]int // tables in each array of tables
	current []string       // path of the open table
	failed  *scanError
	// said are the assignments in their order, headers those of tables.
	said    []assigned
	headers []tableHeader
}

// assigned is a key with its value, by offsets into the text.
type assigned struct {
	path       []string
	start      int // of the key
	value, end int // of the value
	inline     bool
	section    int // of headers, -1 = before the first
}

// tableHeader is where a table begins.
type tableHeader struct {
	path  []string
	end   int // of the header, before what else is on its line
	array bool
}

// scanTOML indexes text. It never panics and ends on any input; on text that
// is not TOML it returns what it saw and where it stopped.
func scanTOML(text string) (index, *scanError) {
	s := readTOML(text)
	return s.index, s.failed
}

// readTOML is scanTOML with all that was found.
func readTOML(text string) *scanner {
	s := &scanner{text: text, line: 1, index: index{at: map[string]place{}}, arrays: map[string]int{}}
	for s.failed == nil {
		s.blank()
		if s.failed != nil || s.pos >= len(s.text) {
			break
		}
		if s.peek() == '[' {
			s.header()
		} else {
			s.assignment(s.current, 0, false)
		}
		s.endOfLine()
	}
	return s
}

func (s *scanner) peek() byte {
	if s.pos < len(s.text) {
		return s.text[s.pos]
	}
	return 0
}

func (s *scanner) here() place { return place{s.line, s.pos - s.lineAt + 1} }

func (s *scanner) fail(what string) {
	if s.failed == nil {
		s.failed = &scanError{at: s.here(), offset: s.pos, what: what}
	}
}

func (s *scanner) failDeep() {
	s.fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
	s.failed.deep = true
}

func (s *scanner) newline() {
	s.pos++
	s.line++
	s.lineAt = s.pos
}

func (s *scanner) space() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

// blank skips white space, line ends and comments.
func (s *scanner) blank() {
	for s.pos < len(s.text) {
		switch c := s.text[s.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case c == '\n':
			s.newline()
		case c == '#':
			s.comment()
		default:
			return
		}
	}
}

func (s *scanner) comment() {
	for s.pos < len(s.text) && s.text[s.pos] != '\n' {
		s.pos++
	}
}

func (s *scanner) endOfLine() {
	if s.failed != nil {
		return
	}
	s.space()
	if s.peek() == '#' {
		s.comment()
	}
	if s.peek() == '\r' {
		s.pos++
	}
	if s.pos < len(s.text) {
		if s.text[s.pos] != '\n' {
			s.fail("expected the end of the line")
			return
		}
		s.newline()
	}
}

// header reads [a.b] or [[a.b]] and opens that table.
func (s *scanner) header() {
	s.pos++
	array := s.peek() == '['
	if array {
		s.pos++
	}
	s.space()
	at := s.here()
	keys := s.key()
	s.space()
	closing := "]"
	if array {
		closing = "]]"
	}
	if s.failed == nil && !strings.HasPrefix(s.text[s.pos:], closing) {
		s.fail("expected " + closing)
	}
	if s.failed != nil {
		return
	}
	s.pos += len(closing)
	var path []string
	for i, k := range keys {
		path = append(path, k)
		joined := keyPath(path)
		if i == len(keys)-1 && array {
			path = append(path, element(s.arrays[joined]))
			s.arrays[joined]++
			s.mark(joined, at)
			break
		}
		s.mark(joined, at)
		if n := s.arrays[joined]; n > 0 {
			path = append(path, element(n-1))
		}
	}
	s.current = path
	s.headers = append(s.headers, tableHeader{path: path, end: s.pos, array: array})
	s.mark(keyPath(path), at)
}

// mark keeps the first place of a path, which is where a reader looks first.
func (s *scanner) mark(joined string, at place) {
	if _, seen := s.index.at[joined]; !seen {
		s.index.at[joined] = at
	}
}

// assignment reads key = value inside the table of path base.
func (s *scanner) assignment(base []string, depth int, inline bool) {
	at, start := s.here(), s.pos
	keys := s.key()
	s.space()
	if s.failed == nil && s.peek() != '=' {
		s.fail("expected = after the key")
	}
	if s.failed != nil {
		return
	}
	s.pos++
	s.space()
	path := append([]string{}, base...)
	for _, k := range keys {
		path = append(path, k)
		s.mark(keyPath(path), at)
	}
	n := len(s.said)
	s.said = append(s.said, assigned{path: path, start: start, value: s.pos, inline: inline, section: len(s.headers) - 1})
	s.value(path, depth+len(keys)-1)
	s.said[n].end = s.said[n].value + len(strings.TrimRight(s.text[s.said[n].value:s.pos], " \t"))
}

// key reads a dotted key.
func (s *scanner) key() []string {
	var out []string
	for {
		s.space()
		switch c := s.peek(); c {
		case '"', '\'':
			out = append(out, s.quoted())
		default:
			start := s.pos
			for s.pos < len(s.text) && bareKey(s.text[s.pos]) {
				s.pos++
			}
			if s.pos == start {
				s.fail("expected a key")
				return out
			}
			out = append(out, s.text[start:s.pos])
		}
		if s.failed != nil {
			return out
		}
		if len(out) > maxDepth {
			s.failDeep()
			return out
		}
		s.space()
		if s.peek() != '.' {
			return out
		}
		s.pos++
	}
}

func bareKey(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// value reads any value; places of array elements and of the keys of inline
// tables are kept.
func (s *scanner) value(path []string, depth int) {
	if depth > maxDepth {
		s.failDeep()
		return
	}
	switch c := s.peek(); c {
	case '"', '\'':
		s.quoted()
	case '[':
		s.array(path, depth)
	case '{':
		s.inline(path, depth)
	default:
		start := s.pos
		for s.pos < len(s.text) && !strings.ContainsRune(",]}#\r\n", rune(s.text[s.pos])) {
			s.pos++
		}
		if s.pos == start {
			s.fail("expected a value")
		}
	}
}

func (s *scanner) array(path []string, depth int) {
	s.pos++
	for i := 0; s.failed == nil; i++ {
		s.blank()
		if s.peek() == ']' {
			s.pos++
			return
		}
		child := append(append([]string{}, path...), element(i))
		s.mark(keyPath(child), s.here())
		s.value(child, depth+1)
		s.blank()
		if s.peek() == ',' {
			s.pos++
		} else if s.peek() != ']' {
			s.fail("expected , or ] in the list")
		}
	}
}

func (s *scanner) inline(path []string, depth int) {
	s.pos++
	for s.failed == nil {
		s.blank()
		if s.peek() == '}' {
			s.pos++
			return
		}
		s.assignment(path, depth+1, true)
		s.blank()
		if s.peek() == ',' {
			s.pos++
		} else if s.peek() != '}' {
			s.fail("expected , or } in the inline table")
		}
	}
}
