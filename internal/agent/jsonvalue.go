package agent

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// text takes decoded bytes of the string being read.
func (j *jsonLines) text(p []byte) {
	j.flushHigh()
	j.decoded(p)
}

func (j *jsonLines) decoded(p []byte) {
	switch {
	case j.isKey && j.deaf == 0:
		if len(j.path)+len(p) <= maxPathBytes {
			j.path = append(j.path, p...)
		} else {
			j.path = append(j.path[:j.keyFrom], unnamed)
		}
	case j.isKey || j.want == 0:
	case len(j.out)+len(p) <= partBytes:
		j.out = append(j.out, p...)
	default:
		j.to.value(j.want, '"', j.out, false)
		j.out = j.out[:0]
		if len(p) >= partBytes {
			j.to.value(j.want, '"', p, false)
		} else {
			j.out = append(j.out, p...)
		}
	}
}

// unnamed stands in a path for a key that no field can have.
const unnamed = 0xff

func (j *jsonLines) endString() {
	j.flushHigh()
	if j.isKey {
		if j.deaf == 0 && bytes.ContainsAny(j.path[j.keyFrom:], ".[") {
			// It must not pass for the way to something else.
			j.path = append(j.path[:j.keyFrom], unnamed)
		}
		j.state = wantColon
		return
	}
	if j.want != 0 {
		j.to.value(j.want, '"', j.out, true)
		j.out = j.out[:0]
	}
	j.state = afterValue
}

func (j *jsonLines) escape(c byte) {
	j.state = inString
	i := strings.IndexByte(`"\/bfnrt`, c)
	switch {
	case c == 'u':
		j.hex, j.hexLen, j.state = 0, 0, inHex
	case i < 0:
		j.state = lineBroken
	default:
		j.flushHigh()
		j.small[0] = "\"\\/\b\f\n\r\t"[i]
		j.decoded(j.small[:1])
	}
}

func (j *jsonLines) hexDigit(c byte) {
	switch {
	case c >= '0' && c <= '9':
		j.hex = j.hex<<4 | rune(c-'0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		j.hex = j.hex<<4 | rune(c|0x20-'a'+10)
	default:
		j.state = lineBroken
		return
	}
	if j.hexLen++; j.hexLen < 4 {
		return
	}
	j.state = inString
	r := j.hex
	if j.high != 0 {
		if pair := utf16.DecodeRune(j.high, r); pair != utf8.RuneError {
			j.high = 0
			j.rune(pair)
			return
		}
		j.flushHigh()
	}
	if r >= 0xd800 && r < 0xdc00 {
		j.high = r
		return
	}
	j.rune(r)
}

// flushHigh replaces half a surrogate pair whose other half did not come.
func (j *jsonLines) flushHigh() {
	if j.high != 0 {
		j.high = 0
		j.rune(utf8.RuneError)
	}
}

func (j *jsonLines) rune(r rune) {
	j.decoded(j.small[:utf8.EncodeRune(j.small[:], r)])
}

func (j *jsonLines) endToken() {
	kind := tokenKind(j.token)
	if kind == 0 {
		j.state = lineBroken
		return
	}
	if j.want != 0 {
		j.to.value(j.want, kind, j.token, true)
	}
	j.state = afterValue
}

// tokenKind is the kind of a number or literal, 0 when it is neither.
func tokenKind(t []byte) byte {
	switch string(t) {
	case "true", "false", "null":
		return t[0]
	}
	digits := func() bool {
		n := 0
		for n < len(t) && t[n] >= '0' && t[n] <= '9' {
			n++
		}
		t = t[n:]
		return n > 0
	}
	if t[0] == '-' {
		t = t[1:]
	}
	if len(t) > 1 && t[0] == '0' && t[1] >= '0' && t[1] <= '9' {
		return 0
	}
	if !digits() {
		return 0
	}
	if len(t) > 0 && t[0] == '.' {
		if t = t[1:]; !digits() {
			return 0
		}
	}
	if len(t) > 0 && t[0]|0x20 == 'e' {
		if t = t[1:]; len(t) > 0 && (t[0] == '+' || t[0] == '-') {
			t = t[1:]
		}
		if !digits() {
			return 0
		}
	}
	if len(t) > 0 {
		return 0
	}
	return '0'
}
