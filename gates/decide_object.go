package gates

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"forge/internal/text"
)

// object is a JSON object whose field names are exact; encoding/json would
// take "Threshold" for "threshold" and the last of two.
type object struct {
	path   string // "" at the top
	fields map[string]json.RawMessage
}

// remarks are allowed in every object and may say anything.
func remarks() []string { return []string{"name", "note", "id"} }

// parseObject reads one object with no other fields than allowed, beside
// remarks.
func parseObject(in []byte, path string, allowed ...string) (object, error) {
	o, names, err := parseFields(in, path)
	if err != nil {
		return o, err
	}
	for _, name := range names {
		if !slices.Contains(allowed, name) && !slices.Contains(remarks(), name) {
			return o, decideError(CodeUnknownField, "unknown field %q: %s", text.Clip(o.at(name), mostQuoted), didYouMean(name, allowed))
		}
	}
	return o, nil
}

// parseFields reads one object with any fields, and their names in order.
func parseFields(in []byte, path string) (object, []string, error) {
	o := object{path: path, fields: map[string]json.RawMessage{}}
	refuse := func(code, format string, args ...any) (object, []string, error) {
		return o, nil, decideError(code, format, args...)
	}
	if !utf8.Valid(in) || !json.Valid(in) {
		return refuse(CodeBadJSON, "the line is not one JSON value in UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(in))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		if path == "" {
			return refuse(CodeBadJSON, "the line is not a JSON object")
		}
		return refuse(CodeBadValue, "%s is not an object", path)
	}
	var names []string
	for dec.More() {
		token, err := dec.Token()
		name, ok := token.(string)
		var raw json.RawMessage
		if err != nil || !ok || dec.Decode(&raw) != nil {
			return refuse(CodeBadJSON, "the line is not a JSON object")
		}
		if o.has(name) {
			return refuse(CodeBadJSON, "%s is there twice", text.Clip(o.at(name), mostQuoted))
		}
		o.fields[name] = raw
		names = append(names, name)
	}
	return o, names, nil
}

func (o object) has(name string) bool { _, ok := o.fields[name]; return ok }

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// silent is true for a field that is missing or null.
func (o object) silent(name string) bool {
	raw, ok := o.fields[name]
	return !ok || string(raw) == "null"
}

// need is the raw value of a field that has to be there.
func (o object) need(name string) (json.RawMessage, error) {
	raw, ok := o.fields[name]
	if !ok {
		return nil, decideError(CodeMissingField, "%s is missing", o.at(name))
	}
	return raw, nil
}

func (o object) bad(name, want string) error {
	return decideError(CodeBadValue, "%s is %s: want %s", o.at(name), text.Clip(string(o.fields[name]), mostQuoted), want)
}

func (o object) boolean(name string) (bool, error) {
	raw, err := o.need(name)
	if err != nil {
		return false, err
	}
	switch string(raw) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, o.bad(name, "true or false")
}

func (o object) text(name string) (string, error) {
	raw, err := o.need(name)
	if err != nil {
		return "", err
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", o.bad(name, "a string")
	}
	return *s, nil
}

func (o object) number(name string) (float64, error) {
	raw, err := o.need(name)
	if err != nil {
		return 0, err
	}
	var f *float64
	if json.Unmarshal(raw, &f) != nil || f == nil {
		return 0, o.bad(name, "a number")
	}
	return *f, nil
}

// whole takes 3, 3.0 and 3e0 alike: JSON knows one kind of number.
func (o object) whole(name string) (int, error) {
	f, err := o.number(name)
	if err != nil {
		return 0, err
	}
	if f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, o.bad(name, fmt.Sprintf("a whole number up to %d", math.MaxInt32))
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
