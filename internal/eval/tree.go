package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
	"unicode/utf8"

	texts "forge/internal/text"
)

// maxDepth bounds how deep the values of a file may be nested; ours take four.
const maxDepth = 32

// node is a JSON value with the place where it begins, so that an error can
// name the line.
type node struct {
	at     int // offset in bytes
	value  any // string, json.Number, bool, nil; json.Delim of an object or a list
	names  []string
	fields []node // of an object, beside names
	items  []node // of a list
}

func (n node) is(d rune) bool { return n.value == json.Delim(d) }

// field is the value of a field; ok is false when it is missing.
func (n node) field(name string) (node, bool) {
	for i, have := range n.names {
		if have == name {
			return n.fields[i], true
		}
	}
	return node{}, false
}

// syntaxError is where a text stops being JSON.
type syntaxError struct {
	at   int
	what string
}

func (e *syntaxError) Error() string { return e.what }

// parseTree reads one JSON value and nothing behind it. Errors are *syntaxError.
func parseTree(text []byte) (node, error) {
	if !utf8.Valid(text) {
		at := 0
		for at < len(text) {
			r, n := utf8.DecodeRune(text[at:])
			if r == utf8.RuneError && n == 1 {
				break
			}
			at += n
		}
		return node{}, &syntaxError{at, "is not UTF-8"}
	}
	p := treeParser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	n, err := p.next(0)
	if err != nil {
		return node{}, err
	}
	if at := p.place(); at < len(text) {
		return node{}, &syntaxError{at, "goes on behind its end"}
	}
	return n, nil
}

type treeParser struct {
	text []byte
	dec  *json.Decoder
}

// place is where the next token begins.
func (p *treeParser) place() int {
	at := int(p.dec.InputOffset())
	for at < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[at]) >= 0 {
		at++
	}
	return at
}

func (p *treeParser) token() (json.Token, int, error) {
	at := p.place()
	t, err := p.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return t, at, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, &syntaxError{len(p.text), "ends too early"}
	case errors.As(err, &syntax):
		return nil, at, &syntaxError{max(at, min(int(syntax.Offset)-1, len(p.text))), "is not JSON: " + syntax.Error()}
	}
	return nil, at, &syntaxError{at, "is not JSON: " + err.Error()}
}

func (p *treeParser) next(depth int) (node, error) {
	t, at, err := p.token()
	if err != nil {
		return node{}, err
	}
	n := node{at: at, value: t}
	if depth > maxDepth {
		return n, &syntaxError{at, "is nested too deep"}
	}
	if !n.is('{') && !n.is('[') {
		return n, nil
	}
	for p.dec.More() {
		if n.is('{') {
			name, at, err := p.token()
			if err != nil {
				return n, err
			}
			text, ok := name.(string)
			if !ok {
				return n, &syntaxError{at, "is not JSON: a name is missing"}
			}
			if _, twice := n.field(text); twice {
				return n, &syntaxError{at, fmt.Sprintf("has %q twice", texts.Clip(text, 60))}
			}
			n.names = append(n.names, text)
		}
		v, err := p.next(depth + 1)
		if err != nil {
			return n, err
		}
		if n.is('{') {
			n.fields = append(n.fields, v)
		} else {
			n.items = append(n.items, v)
		}
	}
	_, _, err = p.token()
	return n, err
}

// lines finds the line of an offset.
type lines []int

func linesOf(text []byte) lines {
	starts := lines{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// line is from 1.
func (l lines) line(at int) int { return sort.SearchInts(l, at+1) }
