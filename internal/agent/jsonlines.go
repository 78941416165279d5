package agent

import (
	"bytes"
	"unicode/utf8"
)

// field numbers a path that a reader of JSON lines asked for; 0 is no field.
type field int

// lineHandler takes what jsonLines finds. What it is told of a line counts
// only when line(true) follows: keys may come in any order, and the line may
// turn out to be broken.
type lineHandler interface {
	// object says that an object begins at a path asked for.
	object(f field)
	// value hands over a scalar, decoded, in parts that are valid until the
	// call returns. kind is '"' (string), '0' (number), 't', 'f' or 'n'.
	value(f field, kind byte, part []byte, last bool)
	// line ends the line. ok is false when it was not one JSON object.
	line(ok bool)
}

// jsonLines reads JSON lines as they come, in memory that does not depend on
// the length of a line: only what was asked for is decoded, and that in parts.
// Paths are written as in "message.content[].text". It is an io.Writer that
// never fails; close ends the last line.
type jsonLines struct {
	fields   map[string]field
	prefixes map[string]bool // containers on the way to a field
	to       lineHandler

	state lexState
	began bool    // the line holds anything beside white space
	open  []level // containers around the current place
	path  []byte  // of the current place; kept only while heard
	deaf  int     // containers entered that lead to no field

	isKey   bool
	keyFrom int // where the key being read begins in path
	want    field
	out     []byte // decoded, not handed over yet
	token   []byte // number or literal
	hex     rune
	hexLen  int
	high    rune // first half of a surrogate pair
	small   [utf8.UTFMax]byte
}

// level is one open container and the length of the path that names it.
type level struct {
	array bool
	path  int
}

type lexState byte

const (
	wantValue lexState = iota
	wantValueOrEnd
	wantKey
	wantKeyOrEnd
	wantColon
	afterValue
	inString
	inEscape
	inHex
	inToken
	lineDone
	lineBroken
)

const (
	maxDepth      = 200
	maxPathBytes  = 400
	maxTokenBytes = 64
	partBytes     = 4096
)

func newJSONLines(fields map[string]field, to lineHandler) *jsonLines {
	j := &jsonLines{fields: fields, prefixes: map[string]bool{"": true}, to: to, out: make([]byte, 0, partBytes)}
	for path := range fields {
		for i, c := range path {
			if c == '.' || c == '[' {
				j.prefixes[path[:i]] = true
			}
		}
		j.prefixes[path] = true
	}
	return j
}

// Write reads on. It always takes all of p.
func (j *jsonLines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		p = j.step(p)
	}
	return n, nil
}

// close ends a last line that has no line end.
func (j *jsonLines) close() { j.endLine() }

// step takes at least one byte of p and returns the rest.
func (j *jsonLines) step(p []byte) []byte {
	switch j.state {
	case lineBroken:
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			return nil
		}
		p = p[i:]
	case inString:
		n := plain(p)
		if n > 0 {
			j.text(p[:n])
			return p[n:]
		}
	case inToken:
		n := 0
		for n < len(p) && isTokenByte(p[n]) {
			n++
		}
		if len(j.token)+n > maxTokenBytes {
			j.state = lineBroken
			return p[n:]
		}
		j.token = append(j.token, p[:n]...)
		if n > 0 {
			return p[n:]
		}
		j.endToken()
		return p
	}
	if p[0] == '\n' {
		j.endLine()
		return p[1:]
	}
	j.byte(p[0])
	return p[1:]
}

// plain counts the bytes of p up to the first that ends or bends a string.
func plain(p []byte) int {
	for i, c := range p {
		if c < 0x20 || c == '"' || c == '\\' {
			return i
		}
	}
	return len(p)
}

func isTokenByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

func (j *jsonLines) byte(c byte) {
	switch j.state {
	case inString:
		switch c {
		case '"':
			j.endString()
		case '\\':
			j.state = inEscape
		default:
			j.state = lineBroken // a raw control character
		}
		return
	case inEscape:
		j.escape(c)
		return
	case inHex:
		j.hexDigit(c)
		return
	}
	if c == ' ' || c == '\t' || c == '\r' {
		return
	}
	if !j.began {
		// Only an object is an event.
		j.began = true
		if c != '{' {
			j.state = lineBroken
			return
		}
	}
	switch j.state {
	case wantValue, wantValueOrEnd:
		if c == ']' && j.state == wantValueOrEnd {
			j.leave()
			return
		}
		j.beginValue(c)
	case wantKey, wantKeyOrEnd:
		switch {
		case c == '"':
			j.beginKey()
		case c == '}' && j.state == wantKeyOrEnd:
			j.leave()
		default:
			j.state = lineBroken
		}
	case wantColon:
		j.state = wantValue
		if c != ':' {
			j.state = lineBroken
		}
	case afterValue:
		top := j.open[len(j.open)-1]
		switch {
		case c == ',' && top.array:
			j.state = wantValue
		case c == ',':
			j.state = wantKey
		case c == ']' && top.array, c == '}' && !top.array:
			j.leave()
		default:
			j.state = lineBroken
		}
	default: // lineDone: something follows the object
		j.state = lineBroken
	}
}

func (j *jsonLines) beginValue(c byte) {
	j.want = 0
	if j.deaf == 0 {
		if n := len(j.open); n > 0 && j.open[n-1].array {
			j.path = append(j.path[:j.open[n-1].path], "[]"...)
		}
		j.want = j.fields[string(j.path)]
	}
	switch {
	case c == '"':
		j.isKey, j.high, j.state = false, 0, inString
	case c == '{' || c == '[':
		j.enter(c == '[')
	case isTokenByte(c):
		j.token = append(j.token[:0], c)
		j.state = inToken
	default:
		j.state = lineBroken
	}
}

func (j *jsonLines) enter(array bool) {
	if len(j.open) == maxDepth {
		j.state = lineBroken
		return
	}
	if j.deaf > 0 || !j.prefixes[string(j.path)] {
		j.deaf++
	} else if !array && j.want != 0 {
		j.to.object(j.want)
	}
	j.open = append(j.open, level{array: array, path: len(j.path)})
	j.state = wantKeyOrEnd
	if array {
		j.state = wantValueOrEnd
	}
}

func (j *jsonLines) leave() {
	n := len(j.open) - 1
	if j.deaf > 0 {
		j.deaf--
	} else {
		j.path = j.path[:j.open[n].path]
	}
	j.open = j.open[:n]
	j.state = afterValue
	if n == 0 {
		j.state = lineDone
	}
}

func (j *jsonLines) beginKey() {
	j.isKey, j.high, j.state = true, 0, inString
	if j.deaf > 0 {
		return
	}
	j.path = j.path[:j.open[len(j.open)-1].path]
	if len(j.path) > 0 {
		j.path = append(j.path, '.')
	}
	j.keyFrom = len(j.path)
}

func (j *jsonLines) endLine() {
	if j.began {
		j.to.line(j.state == lineDone)
	}
	j.state, j.began = wantValue, false
	j.open, j.path, j.out, j.token = j.open[:0], j.path[:0], j.out[:0], j.token[:0]
	j.deaf, j.want, j.high = 0, 0, 0
}
