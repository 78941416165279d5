package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"forge/internal/text"
)

// object is a JSON object whose field names are exact and stand there once;
// encoding/json would take "Verdict" for "verdict" and the last of two.
type object struct {
	path   string // "" at the top
	fields map[string]json.RawMessage
	names  []string // in their order
}

// The kinds of trouble with a JSON value; they are codes of forge decide too.
const (
	CodeBadJSON      = "bad_json" // not one JSON object in UTF-8, or a field twice
	CodeUnknownField = "unknown_field"
	CodeMissingField = "missing_field"
	CodeBadValue     = "bad_value" // null, another type, or out of range
)

// ValueError says what is wrong with a JSON value. As JSON it is the answer of
// forge decide to that line.
type ValueError struct {
	Code    string `json:"error"` // one of the codes above
	Message string `json:"message"`
}

// Error joins the two.
func (e *ValueError) Error() string { return e.Code + ": " + e.Message }

func valueError(code, format string, args ...any) error {
	return &ValueError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func parseObject(in []byte, path string) (object, error) {
	if path == "" && (!utf8.Valid(in) || !json.Valid(in)) { // what is inside of it was looked at with it
		return object{}, valueError(CodeBadJSON, "the text is not one JSON value in UTF-8")
	}
	in = bytes.TrimSpace(in)
	o := object{path: path, fields: map[string]json.RawMessage{}}
	if in[0] != '{' {
		if path == "" {
			return o, valueError(CodeBadJSON, "the text is not a JSON object")
		}
		return o, valueError(CodeBadValue, "%s is not a JSON object", path)
	}
	for rest := skipSpace(in[1:]); rest[0] != '}'; {
		n := valueLen(rest)
		name, _ := unquote(rest[:n]) // names are strings
		rest = skipSpace(rest[n:])
		rest = skipSpace(rest[1:]) // :
		n = valueLen(rest)
		if o.has(name) {
			return o, valueError(CodeBadJSON, "%s is there twice", text.Clip(o.at(name), 60))
		}
		o.fields[name] = json.RawMessage(rest[:n])
		o.names = append(o.names, name)
		if rest = skipSpace(rest[n:]); rest[0] == ',' {
			rest = skipSpace(rest[1:])
		}
	}
	return o, nil
}

func skipSpace(text []byte) []byte { return bytes.TrimLeft(text, " \t\r\n") }

// valueLen is the length of the value that valid JSON begins with.
func valueLen(text []byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of a number or word, and of what it stands in
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

func (o object) has(name string) bool { _, ok := o.fields[name]; return ok }

// said says that a field is there and not null.
func (o object) said(name string) bool { return o.has(name) && string(o.fields[name]) != "null" }

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

func (o object) need(name string) (json.RawMessage, error) {
	raw, ok := o.fields[name]
	if !ok {
		return nil, valueError(CodeMissingField, "%s is missing", o.at(name))
	}
	return raw, nil
}

func (o object) bad(name, want string) error {
	return valueError(CodeBadValue, "%s is %s: want %s", o.at(name), text.Clip(string(o.fields[name]), 60), want)
}

func (o object) boolean(name string) (bool, error) {
	raw, err := o.need(name)
	if err != nil {
		return false, err
	}
	if s := string(raw); s == "true" || s == "false" {
		return s == "true", nil
	}
	return false, o.bad(name, "true or false")
}

func (o object) text(name string) (string, error) {
	raw, err := o.need(name)
	if err != nil {
		return "", err
	}
	s, ok := unquote(raw)
	if !ok {
		return "", o.bad(name, "a string")
	}
	return s, nil
}

// unquote reads a JSON value that is a string.
func unquote(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// maybeText is "" for a string that is missing or null.
func (o object) maybeText(name string) (string, error) {
	if !o.said(name) {
		return "", nil
	}
	return o.text(name)
}

func (o object) number(name string) (float64, error) {
	raw, err := o.need(name)
	if err != nil {
		return 0, err
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, o.bad(name, "a number")
	}
	return f, nil
}

// share is a number from 0 to 1.
func (o object) share(name string) (float64, error) {
	f, err := o.number(name)
	if err == nil && (f < 0 || f > 1) {
		return 0, o.bad(name, "a number from 0 to 1")
	}
	return f, err
}

// whole takes 3, 3.0 and 3e0 alike, from least on: JSON knows one kind of
// number.
func (o object) whole(name string, least int) (int, error) {
	f, err := o.number(name)
	if err != nil {
		return 0, err
	}
	if f != math.Trunc(f) || f < float64(least) || f > math.MaxInt32 {
		return 0, o.bad(name, fmt.Sprintf("a whole number from %d to %d", least, math.MaxInt32))
	}
	return int(f), nil
}

func (o object) list(name string) ([]json.RawMessage, error) {
	raw, err := o.need(name)
	if err != nil {
		return nil, err
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil || list == nil {
		return nil, o.bad(name, "a list")
	}
	return list, nil
}
