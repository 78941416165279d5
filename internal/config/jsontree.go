package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sort"
	"strings"
)

// jsonNode is a JSON value with the offset it begins at.
type jsonNode struct {
	offset  int
	value   any // string, json.Number, bool or nil; unused in objects and lists
	kind    byte
	members []jsonMember // kind '{', in the order of the file
	items   []*jsonNode  // kind '['
}

type jsonMember struct {
	name   string
	offset int
	value  *jsonNode
}

// jsonError is a place in a JSON text and what is wrong there.
type jsonError struct {
	offset int
	what   string
}

func (e *jsonError) Error() string { return e.what }

type jsonReader struct {
	text []byte
	dec  *json.Decoder
}

// readJSON reads exactly one JSON value with the places of everything in it.
func readJSON(text string) (*jsonNode, error) {
	r := &jsonReader{text: []byte(text), dec: json.NewDecoder(strings.NewReader(text))}
	r.dec.UseNumber()
	node, err := r.value(0)
	if err != nil {
		return nil, err
	}
	end := int(r.dec.InputOffset())
	if rest := bytes.TrimLeft(r.text[end:], " \t\r\n"); len(rest) > 0 {
		return nil, &jsonError{len(r.text) - len(rest), "more text after the end of the JSON value"}
	}
	return node, nil
}

// next returns the next token and the offset it begins at.
func (r *jsonReader) next() (json.Token, int, error) {
	from := int(r.dec.InputOffset())
	tok, err := r.dec.Token()
	if err != nil {
		return nil, 0, r.failure(err)
	}
	for from < len(r.text) && strings.IndexByte(" \t\r\n,:", r.text[from]) >= 0 {
		from++
	}
	return tok, from, nil
}

func (r *jsonReader) failure(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return &jsonError{max(0, int(syntax.Offset)-1), syntax.Error()}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return &jsonError{len(r.text), "unexpected end of the file"}
	}
	return &jsonError{int(r.dec.InputOffset()), err.Error()}
}

func (r *jsonReader) value(depth int) (*jsonNode, error) {
	if depth > maxDepth {
		return nil, &jsonError{int(r.dec.InputOffset()), fmt.Sprintf("nested deeper than %d levels", maxDepth)}
	}
	tok, at, err := r.next()
	if err != nil {
		return nil, err
	}
	node := &jsonNode{offset: at, value: tok}
	delim, isDelim := tok.(json.Delim)
	if !isDelim {
		return node, nil
	}
	node.kind, node.value = byte(delim), nil
	for r.dec.More() {
		var m jsonMember
		if node.kind == '{' {
			name, nameAt, err := r.next()
			if err != nil {
				return nil, err
			}
			m.name, _ = name.(string)
			m.offset = nameAt
		}
		inner, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if node.kind == '{' {
			m.value = inner
			node.members = append(node.members, m)
		} else {
			node.items = append(node.items, inner)
		}
	}
	_, _, err = r.next() // the closing bracket
	return node, err
}

// member returns the first member of a name; nil when there is none.
func (n *jsonNode) member(name string) *jsonNode {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// describe names the type of a node with its article.
func (n *jsonNode) describe() string {
	switch n.kind {
	case '{':
		return "an object"
	case '[':
		return "a list"
	}
	switch n.value.(type) {
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return "null"
}

// at finds the offset of an address such as phases[3].depends_on[0], or of the
// longest part of it that is there.
func (n *jsonNode) at(address string) int {
	for address != "" {
		var next *jsonNode
		switch {
		case address[0] == '[':
			digits, rest, ok := strings.Cut(address[1:], "]")
			i := 0
			if _, err := fmt.Sscanf(digits, "%d", &i); !ok || err != nil || i < 0 || i >= len(n.items) {
				return n.offset
			}
			next, address = n.items[i], rest
		default:
			address = strings.TrimPrefix(address, ".")
			end := strings.IndexAny(address, ".[")
			if end < 0 {
				end = len(address)
			}
			if next = n.member(address[:end]); next == nil {
				return n.offset
			}
			address = address[end:]
		}
		n = next
	}
	return n.offset
}

// lineTable finds places in a text by the offsets of its lines.
type lineTable []int

func newLineTable(text string) lineTable {
	t := lineTable{0}
	for i := range len(text) {
		if text[i] == '\n' {
			t = append(t, i+1)
		}
	}
	return t
}

// place turns an offset into a line and a column.
func (t lineTable) place(offset int) place {
	line := sort.SearchInts(t, max(offset, 0)+1) // the lines that begin at or before it
	return place{line, max(offset, 0) - t[line-1] + 1}
}
