package llm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCheckNamesThePlace(t *testing.T) {
	s, err := ParseSchema(json.RawMessage(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{
		"a":{"type":["string","null"],"minLength":2,"maxLength":3},
		"b":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"integer","minimum":0,"maximum":9}},
		"c":{"type":"object","properties":{"d":{"enum":[1,"x",null,true]}}},
		"e":{"type":"number","maximum":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, want string }{
		{`{"a":"äöü"}`, ""},
		{`{"a":null,"b":[0,9],"c":{"d":1.0,"z":[[]]},"e":0.5}`, ""},
		{`{"a":"x"}`, "a has 1 characters, want at least 2"},
		{`{"a":"xxxx"}`, "a has 4 characters, want at most 3"},
		{`{"a":1}`, "a is integer, want string or null"},
		{`{}`, ""},
		{`{"a":null,"c":{}}`, ""},
		{`{"A":"xx","a":"xx"}`, `the answer has "A", which the schema does not know`},
		{`{"a":null,"b":[]}`, "b has 0 items, want at least 1"},
		{`{"a":null,"b":[1,2,3]}`, "b has 3 items, want at most 2"},
		{`{"a":null,"b":[-1,10]}`, "b[0] is -1, want at least 0; b[1] is 10, want at most 9"},
		{`{"a":null,"b":[1.5]}`, "b[0] is number, want integer"},
		{`{"a":null,"b":[1e1]}`, "b[0] is number, want integer"},
		{`{"a":null,"b":[99999999999999999999]}`, "b[0] is number, want integer"},
		{`{"a":null,"c":{"d":false}}`, `c.d is none of [1,"x",null,true]`},
		{`{"a":null,"c":{"d":[1]}}`, `c.d is none of [1,"x",null,true]`},
		{`{"a":null,"e":1e400}`, "the answer is not JSON: the number 1e400 is too large"},
		{`{"a":"xx","a":null}`, `the answer is not JSON: the name "a" stands twice in one object`},
		{`{"a":"xx","\u0061":null}`, `the answer is not JSON: the name "a" stands twice in one object`},
		{`{"a":null} {}`, "the answer is not JSON: invalid character '{' after top-level value"},
		{`{"a":null`, "the answer is not JSON: unexpected end of JSON input"},
		{``, "the answer is empty"},
		{`[]`, "the answer is array, want object"},
		{`null`, "the answer is null, want object"},
		{"{\"a\":\"\xff\xfe\"}", "the answer is not UTF-8 text"},
		{`{"a":null,"c":` + strings.Repeat(`{"d":`, 100) + `1` + strings.Repeat("}", 101), "the answer is not JSON: it is nested deeper than 64 levels"},
	} {
		if got := strings.Join(s.Check([]byte(tc.text)), "; "); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.text, got, tc.want)
		}
	}
	many := `{"a":null,"b":[` + strings.Repeat("true,", 1000) + `true]}`
	if got := s.Check([]byte(many)); len(got) != MaxProblems {
		t.Errorf("%d problems are named", len(got))
	}
}

// What Forge could not check must not be asked for.
func TestSchemasThatCannotBeUsed(t *testing.T) {
	for _, text := range []string{
		``, `{`, `[]`, `{}`, `{"type":"string"}`, `{"type":["object","null"]}`, `{"type":"object","pattern":"x"}`, `{"type":"object","oneOf":[]}`,
		`{"type":"object","properties":{"a":{"type":"text"}}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","required":["a"]}`,
		`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","properties":{"a":{"type":"array","items":{"format":"x"}}}}`,
	} {
		if _, err := ParseSchema(json.RawMessage(text)); err == nil {
			t.Errorf("%s is accepted", text)
		}
	}
	c, _ := client(t, Config{BaseURL: "http://service.invalid"})
	if _, err := c.Ask(t.Context(), Question{Schema: json.RawMessage(`{}`)}); err == nil || KindOf(err) != "" {
		t.Errorf("a question with such a schema: %v", err)
	}
}

// Services that hold a model to a schema want it closed, and know no lengths
// of texts.
func TestTheSchemaOnTheWire(t *testing.T) {
	for text, strict := range map[string]bool{
		`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"string","minLength":1,"maxLength":5}}}`:                                             true,
		`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"string"}}}`:                                                                                          false,
		`{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}`:                                                                                                      false,
		`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"array","items":{"type":"object"}}}}`:                                                false,
		`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"type":"array","items":{"type":"object","additionalProperties":false}}},"description":"d"}`: true,
	} {
		s, err := ParseSchema(json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.strict != strict {
			t.Errorf("%s: strict %v", text, s.strict)
		}
		var want, got any
		_ = json.Unmarshal([]byte(strings.ReplaceAll(text, `,"minLength":1,"maxLength":5`, "")), &want)
		if err := json.Unmarshal(s.wire, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is sent as %s", text, s.wire)
		}
	}
}

// A value made by the rules of a schema fits; with one thing broken it does
// not, and the place of it is named.
func TestMadeToFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &maker{t: t}
		schema, value := m.object(0)
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		s, err := ParseSchema(text)
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		answer, _ := json.Marshal(value)
		if problems := s.Check(answer); len(problems) > 0 {
			t.Fatalf("%s does not fit %s: %v", answer, text, problems)
		}
		i := rapid.IntRange(0, len(m.breaks)-1).Draw(t, "break")
		m.breaks[i].do()
		broken, _ := json.Marshal(value)
		problems := s.Check(broken)
		if len(problems) != 1 || !strings.HasPrefix(problems[0], m.breaks[i].at+" ") {
			t.Fatalf("%s against %s: %q, want one about %s", broken, text, problems, m.breaks[i].at)
		}
	})
}

// maker makes a schema, a value that fits it, and ways to break the value.
type maker struct {
	t      *rapid.T
	breaks []struct {
		at string
		do func()
	}
	path []string
	n    int
}

func (m *maker) canBreak(do func()) {
	at := strings.Join(m.path, "")
	if at == "" {
		at = "the answer"
	}
	m.breaks = append(m.breaks, struct {
		at string
		do func()
	}{strings.TrimPrefix(at, "."), do})
}

func (m *maker) object(depth int) (schema, value map[string]any) {
	properties, value := map[string]any{}, map[string]any{}
	var required []string
	for range rapid.IntRange(0, 3).Draw(m.t, "properties") {
		m.n++
		name := fmt.Sprintf("p%d", m.n)
		must := rapid.Bool().Draw(m.t, "required")
		if must {
			required = append(required, name)
		}
		m.path = append(m.path, "."+name)
		properties[name], value[name] = m.any(depth, func(v any) { value[name] = v })
		m.path = m.path[:len(m.path)-1]
		of, _ := properties[name].(map[string]any)
		if _, mayBeNull := of["type"].([]string); must && !mayBeNull {
			m.canBreak(func() { delete(value, name) })
		}
	}
	m.canBreak(func() { value["stranger"] = 1 })
	schema = map[string]any{"type": "object", "additionalProperties": false, "properties": properties, "required": append([]string{}, required...)}
	return schema, value
}

// any makes a value of any type; set puts another in its place.
func (m *maker) any(depth int, set func(any)) (schema map[string]any, value any) {
	kinds := []string{"string", "integer", "number", "boolean", "enum", "null", "array", "object"}
	if depth > 2 {
		kinds = kinds[:6]
	}
	switch kind := rapid.SampledFrom(kinds).Draw(m.t, "kind"); kind {
	case "string":
		n := rapid.IntRange(1, 5).Draw(m.t, "length")
		m.canBreak(func() { set(strings.Repeat("ü", n+1)) })
		m.canBreak(func() { set("") })
		return map[string]any{"type": "string", "minLength": 1, "maxLength": n}, strings.Repeat("ü", n)
	case "integer", "number":
		low, n := rapid.IntRange(-9, 0).Draw(m.t, "low"), rapid.IntRange(0, 9).Draw(m.t, "n")
		m.canBreak(func() { set(low - 1) })
		m.canBreak(func() { set(10) })
		m.canBreak(func() { set("1") })
		if kind == "integer" {
			m.canBreak(func() { set(0.5) })
		}
		return map[string]any{"type": kind, "minimum": low, "maximum": 9}, n
	case "boolean":
		m.canBreak(func() { set(0) })
		return map[string]any{"type": "boolean"}, true
	case "null":
		m.canBreak(func() { set(false) })
		return map[string]any{"type": []string{"null", "string"}}, nil
	case "enum":
		m.canBreak(func() { set("c") })
		return map[string]any{"enum": []any{"a", 2, nil}}, rapid.SampledFrom([]any{"a", 2, nil}).Draw(m.t, "one of")
	case "array":
		n := rapid.IntRange(1, 3).Draw(m.t, "items")
		items := make([]any, n)
		m.path = append(m.path, "[0]")
		inner, first := m.any(depth+1, func(v any) { items[0] = v })
		m.path = m.path[:len(m.path)-1]
		for i := range items {
			items[i] = first
		}
		if n == 1 { // else one object would stand in several places
			m.canBreak(func() { set([]any{}) })
			return map[string]any{"type": "array", "minItems": 1, "maxItems": 1, "items": inner}, items
		}
		m.breaks = m.breaks[:0]
		m.canBreak(func() { set(items[:n-1]) })
		return map[string]any{"type": "array", "minItems": n, "items": inner}, items
	}
	schema, object := m.object(depth + 1)
	m.canBreak(func() { set([]any{}) })
	return schema, object
}
