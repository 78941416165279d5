package config

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Key is one thing that a file may say, as the settings type declares it.
// Names that the user chooses are written <name> in Path.
type Key struct {
	Path    []string
	Type    string // "integer", "list of strings", …; "table" for a section
	Default string // TOML literal; "" = none
	Sample  string // TOML literal for the example
	Doc     string
	Rule    string
	Env     string
	Only    string
	Unused  bool
}

// Name is the dotted form of the path.
func (k Key) Name() string { return strings.Join(k.Path, ".") }

// named stands for a name that the user chooses.
const named = "<name>"

// Keys lists every section and key of forge.toml in the order of the settings
// type, each section before its keys. Their paths are shared: nobody writes to them.
func Keys() []Key { return slices.Clone(allKeys()) }

// allKeys are read from the type once: every look at the settings asks for them
// several times.
var allKeys = sync.OnceValue(func() []Key { return keysOf(reflect.TypeFor[File](), nil, false) })

func keysOf(t reflect.Type, path []string, unused bool) []Key {
	var out []Key
	for i := range t.NumField() {
		f := t.Field(i)
		k := Key{
			Path: slices.Clip(append(append([]string{}, path...), f.Tag.Get("toml"))), Type: typeName(f.Type),
			Default: f.Tag.Get("default"), Sample: f.Tag.Get("sample"), Doc: f.Tag.Get("doc"), Rule: f.Tag.Get("rule"),
			Env: f.Tag.Get("env"), Only: f.Tag.Get("only"), Unused: unused || f.Tag.Get("used") != "",
		}
		out = append(out, k)
		switch inner := tableType(f.Type); {
		case inner == nil:
		case f.Type.Kind() == reflect.Struct:
			out = append(out, keysOf(inner, k.Path, k.Unused)...)
		case f.Type.Kind() == reflect.Map:
			out = append(out, keysOf(inner, append(append([]string{}, k.Path...), named), k.Unused)...)
		default:
			out = append(out, keysOf(inner, append(append([]string{}, k.Path...), "[]"), k.Unused)...)
		}
	}
	return out
}

// tableType is the struct behind a table, a table of named tables or a list of
// tables; nil for everything else.
func tableType(t reflect.Type) reflect.Type {
	switch t.Kind() {
	case reflect.Struct:
		return t
	case reflect.Map, reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return t.Elem()
		}
	}
	return nil
}

// trueFalseHosts is the type of sandbox.network.
const trueFalseHosts = "true, false or list of strings"

// oneOrMore is the type of what names one or several.
const oneOrMore = "string or list of strings"

func typeName(t reflect.Type) string {
	switch t {
	case networkType:
		return trueFalseHosts
	case agentsType:
		return oneOrMore
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Struct {
			return "list of tables"
		}
		return "list of strings"
	case reflect.Map:
		switch t.Elem().Kind() {
		case reflect.Struct:
			return "named tables"
		case reflect.String:
			return "table of strings"
		}
		return "table"
	case reflect.Struct:
		return "table"
	}
	return "anything"
}

// fieldByKey finds the field of a table's struct.
func fieldByKey(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Tag.Get("toml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keysIn(t reflect.Type) []string {
	out := make([]string, t.NumField())
	for i := range out {
		out[i] = t.Field(i).Tag.Get("toml")
	}
	return out
}

// dotted writes a path as a user would: quotes where TOML needs them, indexes
// in brackets.
func dotted(path []string) string {
	var b strings.Builder
	for _, seg := range path {
		if strings.HasPrefix(seg, "\x00") {
			b.WriteString("[" + seg[1:] + "]")
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(quoteKey(seg))
	}
	return b.String()
}

func quoteKey(key string) string {
	for i := range len(key) {
		if key[i] >= 0x80 || !bareKey(key[i]) {
			return quoteString(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}

// quoteString writes a TOML basic string.
func quoteString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\u` + leftPad(strconv.FormatInt(int64(r), 16), 4))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func leftPad(s string, n int) string {
	return strings.Repeat("0", max(0, n-len(s))) + s
}
