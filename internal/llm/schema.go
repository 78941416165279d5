package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Schema is the part of JSON Schema that Forge asks for and checks by itself:
// type (one word or several), properties, required, additionalProperties (true
// or false), items, enum, minimum, maximum, minLength, maxLength, minItems,
// maxItems, and the words title and description, which bind nothing.
type Schema struct {
	root *node
	wire json.RawMessage // as services are sent it
	// strict says that the schema keeps the rules of services that hold a
	// model to it: every object is closed and all its properties are required.
	strict bool
}

// node is one level of a schema.
type node struct {
	Title       string                     `json:"title,omitempty"`
	Description string                     `json:"description,omitempty"`
	Type        types                      `json:"type,omitempty"`
	Properties  map[string]json.RawMessage `json:"properties,omitempty"`
	Required    []string                   `json:"required,omitempty"`
	More        *bool                      `json:"additionalProperties,omitempty"`
	Items       json.RawMessage            `json:"items,omitempty"`
	Enum        []any                      `json:"enum,omitempty"`
	Minimum     *float64                   `json:"minimum,omitempty"`
	Maximum     *float64                   `json:"maximum,omitempty"`
	MinLength   *int                       `json:"minLength,omitempty"`
	MaxLength   *int                       `json:"maxLength,omitempty"`
	MinItems    *int                       `json:"minItems,omitempty"`
	MaxItems    *int                       `json:"maxItems,omitempty"`

	properties map[string]*node
	items      *node
}

// types is one word or a list of them.
type types []string

// UnmarshalJSON reads either form.
func (t *types) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*t = types{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(t))
}

// MarshalJSON writes a single word as such.
func (t types) MarshalJSON() ([]byte, error) {
	if len(t) == 1 {
		return json.Marshal(t[0])
	}
	return json.Marshal([]string(t))
}

// ParseSchema reads the schema of an answer, which must be an object. What it
// says and Forge could not check is an error: an answer must not pass unseen.
func ParseSchema(raw json.RawMessage) (*Schema, error) {
	root, err := parseNode(raw, "the schema")
	if err != nil {
		return nil, err
	}
	if len(root.Type) != 1 || root.Type[0] != "object" {
		return nil, errors.New("read the schema: its type is not object")
	}
	wire, err := json.Marshal(root.outside())
	if err != nil {
		return nil, fmt.Errorf("write the schema: %w", err)
	}
	return &Schema{root: root, wire: wire, strict: root.closed()}, nil
}

func parseNode(raw json.RawMessage, at string) (*node, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	d.UseNumber()
	n := &node{}
	if err := d.Decode(n); err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	if len(n.Type) == 0 && len(n.Enum) == 0 {
		return nil, fmt.Errorf("read %s: it has neither type nor enum", at)
	}
	for _, t := range n.Type {
		if !slices.Contains([]string{"object", "array", "string", "integer", "number", "boolean", "null"}, t) {
			return nil, fmt.Errorf("read %s: unknown type %q", at, t)
		}
	}
	n.properties = map[string]*node{}
	for name, inner := range n.Properties {
		p, err := parseNode(inner, at+"."+name)
		if err != nil {
			return nil, err
		}
		n.properties[name] = p
	}
	for _, name := range n.Required {
		if n.properties[name] == nil {
			return nil, fmt.Errorf("read %s: it requires %q, which it does not describe", at, name)
		}
	}
	if len(n.Items) > 0 {
		items, err := parseNode(n.Items, at+"[]")
		if err != nil {
			return nil, err
		}
		n.items = items
	}
	return n, nil
}

// closed says that every object in it is closed and all properties required.
func (n *node) closed() bool {
	if slices.Contains(n.Type, "object") && (n.More == nil || *n.More || len(n.Required) != len(n.properties)) {
		return false
	}
	for _, p := range n.properties {
		if !p.closed() {
			return false
		}
	}
	return n.items == nil || n.items.closed()
}

// outside is the node without the lengths of texts, which services that hold a
// model to a schema refuse to take; Forge checks them.
func (n *node) outside() any {
	out := *n
	out.MinLength, out.MaxLength = nil, nil
	out.Properties, out.Items = nil, nil
	type plain node
	text := struct {
		plain
		Properties map[string]any `json:"properties,omitempty"`
		Items      any            `json:"items,omitempty"`
	}{plain: plain(out)}
	for name, p := range n.properties {
		if text.Properties == nil {
			text.Properties = map[string]any{}
		}
		text.Properties[name] = p.outside()
	}
	if n.items != nil {
		text.Items = n.items.outside()
	}
	return text
}

// MaxProblems is how many problems of one answer are named.
const MaxProblems = 20

// Check names what of a JSON text does not fit, by place; none = it fits. A
// name that stands twice in an object is a problem, too: readers would differ
// on which one counts.
func (s *Schema) Check(text []byte) []string {
	v, err := decode(text)
	if err != nil {
		return []string{err.Error()}
	}
	c := &checker{}
	c.check(s.root, v, "")
	return c.problems
}

type checker struct{ problems []string }

func (c *checker) bad(at, format string, args ...any) {
	if at == "" {
		at = "the answer"
	}
	if len(c.problems) < MaxProblems {
		c.problems = append(c.problems, foreign(at+" "+fmt.Sprintf(format, args...)))
	}
}

func (c *checker) check(n *node, v any, at string) {
	if len(n.Type) > 0 && !slices.ContainsFunc(n.Type, func(t string) bool { return isOf(v, t) }) {
		c.bad(at, "is %s, want %s", describe(v), join(n.Type))
		return
	}
	if len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, func(e any) bool { return same(e, v) }) {
		words, _ := json.Marshal(n.Enum)
		c.bad(at, "is none of %s", words)
		return
	}
	switch x := v.(type) {
	case string:
		c.count(at, "characters", len([]rune(x)), n.MinLength, n.MaxLength)
	case json.Number:
		f, _ := x.Float64() // decode has refused what is not finite
		if n.Minimum != nil && f < *n.Minimum {
			c.bad(at, "is %s, want at least %v", x, *n.Minimum)
		}
		if n.Maximum != nil && f > *n.Maximum {
			c.bad(at, "is %s, want at most %v", x, *n.Maximum)
		}
	case []any:
		c.count(at, "items", len(x), n.MinItems, n.MaxItems)
		for i, item := range x {
			if n.items != nil && len(c.problems) < MaxProblems {
				c.check(n.items, item, fmt.Sprintf("%s[%d]", at, i))
			}
		}
	case map[string]any:
		c.object(n, x, at)
	}
}

func (c *checker) count(at, what string, n int, least, most *int) {
	if least != nil && n < *least {
		c.bad(at, "has %d %s, want at least %d", n, what, *least)
	}
	if most != nil && n > *most {
		c.bad(at, "has %d %s, want at most %d", n, what, *most)
	}
}

// nullable says that null is an answer.
func (n *node) nullable() bool {
	if n != nil {
		for _, t := range n.Type {
			if t == "null" {
				return true
			}
		}
	}
	return false
}

func (c *checker) object(n *node, x map[string]any, at string) {
	for _, name := range n.Required {
		// What may be null and is missing says the same: to ask for it once more would
		// cost a question and give nothing.
		if _, ok := x[name]; !ok && !n.properties[name].nullable() {
			c.bad(at, "lacks %q", name)
		}
	}
	names := make([]string, 0, len(x))
	for name := range x {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		p, known := n.properties[name]
		switch {
		case known && at == "":
			c.check(p, x[name], name)
		case known:
			c.check(p, x[name], at+"."+name)
		case n.More != nil && !*n.More:
			c.bad(at, "has %q, which the schema does not know", name)
		}
	}
}

// isOf says that a decoded value has a type of JSON Schema.
func isOf(v any, t string) bool {
	switch x := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case []any:
		return t == "array"
	case map[string]any:
		return t == "object"
	case json.Number:
		_, err := x.Int64()
		return t == "number" || t == "integer" && err == nil
	}
	return false
}

func describe(v any) string {
	for _, t := range []string{"null", "boolean", "string", "array", "object", "integer", "number"} {
		if isOf(v, t) {
			return t
		}
	}
	return "something else"
}

// same compares a value of a schema with one of an answer.
func same(a, b any) bool {
	x, okX := a.(json.Number)
	y, okY := b.(json.Number)
	if okX && okY {
		f, errF := x.Float64()
		g, errG := y.Float64()
		return errF == nil && errG == nil && f == g && !math.IsNaN(f)
	}
	switch a.(type) {
	case nil, bool, string:
		return a == b
	}
	return false
}

func join(words []string) string {
	out := words[0]
	for _, w := range words[1:] {
		out += " or " + w
	}
	return out
}
