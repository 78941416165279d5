package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// jsonSchema checks values against a JSON schema, draft 4, as far as SARIF's
// own uses it. A word that it does not know is an error: nothing of a schema
// is passed over.
type jsonSchema struct{ root map[string]any }

// sarifSchemaOf reads the schema as OASIS publishes it. It is no part of the
// repository: make test-real fetches it and names it here. Without it nothing
// is said of a text.
func sarifSchemaOf(t *testing.T) jsonSchema {
	t.Helper()
	file := os.Getenv(sarifSchemaWord)
	if file == "" {
		return jsonSchema{}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonSchema
	if err := json.Unmarshal(text, &s.root); err != nil {
		t.Fatal(err)
	}
	return s
}

// problems are what is wrong with a text, each with its place.
func (s jsonSchema) problems(text []byte) []string {
	if s.root == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return []string{err.Error()}
	}
	return s.check(s.root, value, "$")
}

func (s jsonSchema) check(schema map[string]any, v any, at string) (bad []string) {
	say := func(format string, args ...any) { bad = append(bad, at+": "+fmt.Sprintf(format, args...)) }
	if ref, ok := schema["$ref"].(string); ok {
		name, _ := strings.CutPrefix(ref, "#/definitions/")
		target, ok := s.root["definitions"].(map[string]any)[name].(map[string]any)
		if !ok {
			return []string{at + ": no definition " + ref}
		}
		return s.check(target, v, at)
	}
	for word, want := range schema {
		switch word {
		case "$schema", "id", "title", "description", "default", "definitions":
		case "type":
			if !hasType(v, want) {
				say("is %T, want %v", v, want)
			}
		case "enum":
			if !slices.ContainsFunc(want.([]any), func(w any) bool { return reflect.DeepEqual(w, v) }) {
				say("%v is none of %v", v, want)
			}
		case "pattern":
			if text, ok := v.(string); ok && !regexp.MustCompile(want.(string)).MatchString(text) {
				say("%q does not match %v", text, want)
			}
		case "format":
			if text, ok := v.(string); ok && strings.HasPrefix(want.(string), "uri") {
				if u, err := url.Parse(text); err != nil || want == "uri" && !u.IsAbs() {
					say("%q is no %v", text, want)
				}
			} else if ok && want != "date-time" {
				say("unknown format %v", want)
			}
		case "minimum", "maximum":
			if n, ok := v.(float64); ok && (word == "minimum" && n < want.(float64) || word == "maximum" && n > want.(float64)) {
				say("%v is beyond the %s %v", n, word, want)
			}
		case "minItems":
			if list, ok := v.([]any); ok && float64(len(list)) < want.(float64) {
				say("has %d items, want %v", len(list), want)
			}
		case "uniqueItems":
			list, _ := v.([]any)
			for i := range list {
				if want == true && slices.ContainsFunc(list[:i], func(o any) bool { return reflect.DeepEqual(o, list[i]) }) {
					say("item %d is there twice", i)
				}
			}
		case "items":
			list, _ := v.([]any)
			for i, item := range list {
				bad = append(bad, s.check(want.(map[string]any), item, fmt.Sprintf("%s[%d]", at, i))...)
			}
		case "required":
			fields, ok := v.(map[string]any)
			for _, name := range want.([]any) {
				if _, there := fields[name.(string)]; ok && !there {
					say("%v is missing", name)
				}
			}
		case "properties", "additionalProperties":
			if word == "properties" || schema["properties"] == nil {
				bad = append(bad, s.fields(schema, v, at)...)
			}
		case "anyOf", "oneOf":
			fits := 0
			for _, one := range want.([]any) {
				if len(s.check(one.(map[string]any), v, at)) == 0 {
					fits++
				}
			}
			if fits == 0 || word == "oneOf" && fits != 1 {
				say("fits %d of %s", fits, word)
			}
		default:
			say("the schema uses %q, which this check does not know", word)
		}
	}
	return bad
}

func (s jsonSchema) fields(schema map[string]any, v any, at string) (bad []string) {
	known, _ := schema["properties"].(map[string]any)
	fields, _ := v.(map[string]any)
	for name, value := range fields {
		if sub, ok := known[name].(map[string]any); ok {
			bad = append(bad, s.check(sub, value, at+"."+name)...)
			continue
		}
		switch more := schema["additionalProperties"].(type) {
		case bool:
			if !more {
				bad = append(bad, at+": unknown field "+name)
			}
		case map[string]any:
			bad = append(bad, s.check(more, value, at+"."+name)...)
		}
	}
	return bad
}

func hasType(v, want any) bool {
	if several, ok := want.([]any); ok {
		return slices.ContainsFunc(several, func(w any) bool { return hasType(v, w) })
	}
	switch x := v.(type) {
	case nil:
		return want == "null"
	case bool:
		return want == "boolean"
	case string:
		return want == "string"
	case float64:
		return want == "number" || want == "integer" && x == math.Trunc(x)
	case []any:
		return want == "array"
	}
	return want == "object"
}

// sarifSchemaWord is the variable that names the schema's file.
const sarifSchemaWord = "FORGE_SARIF_SCHEMA"

// The check itself finds what is wrong.
func TestSarifSchemaFindsFaults(t *testing.T) {
	if os.Getenv(sarifSchemaWord) == "" {
		t.Skip("make test-real fetches the schema")
	}
	s := sarifSchemaOf(t)
	good := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x","rules":[{"id":"r"}]}},"results":[{"message":{"text":"m"},"level":"error","ruleIndex":0,"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"},"region":{"startLine":1}}}]}]}]}`
	if bad := s.problems([]byte(good)); bad != nil {
		t.Fatalf("a good file: %q", bad)
	}
	for _, swap := range [][3]string{
		{`"2.1.0"`, `"2.0.0"`, "none of"}, {`"name":"x"`, `"nam":"x"`, "missing"}, {`"startLine":1`, `"startLine":0`, "minimum"}, {`"level":"error"`, `"level":"bad"`, "none of"},
		{`{"text":"m"}`, `{}`, "fits 0 of anyOf"}, {`{"id":"r"}`, `{"id":"r"},{"id":"r"}`, "twice"}, {`"ruleIndex":0`, `"ruleIndex":0.5`, "is float64"}, {`"uri":"a"`, `"uri":"%zz"`, "is no uri"},
		{`"runs":[`, `"more":1,"runs":[`, "unknown field"}, {`[{"physicalLocation"`, `[3,{"physicalLocation"`, "is float64"},
	} {
		bad := strings.Join(s.problems([]byte(strings.Replace(good, swap[0], swap[1], 1))), "; ")
		if !strings.Contains(bad, swap[2]) {
			t.Errorf("%s: %q, want %q", swap[1], bad, swap[2])
		}
	}
}
