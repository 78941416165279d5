package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"forge/gates"
)

// schemaNode is the part of JSON Schema that the settings type needs.
type schemaNode struct {
	Schema      string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Type        string                 `json:"type,omitempty"`
	Properties  map[string]*schemaNode `json:"properties,omitempty"`
	// Additional is false, or the schema of tables with names of the user's.
	Additional any           `json:"additionalProperties,omitempty"`
	Items      *schemaNode   `json:"items,omitempty"`
	Any        []*schemaNode `json:"anyOf,omitempty"`
	Enum       []string      `json:"enum,omitempty"`
	Examples   []string      `json:"examples,omitempty"`
	Minimum    *float64      `json:"minimum,omitempty"`
	Maximum    *float64      `json:"maximum,omitempty"`
	Default    any           `json:"default,omitempty"`
}

// JSONSchema is forge.toml as a JSON schema, for editors.
func JSONSchema() ([]byte, error) {
	root := schemaOf(reflect.TypeFor[File]())
	root.Schema, root.Title = "https://json-schema.org/draft/2020-12/schema", "forge.toml"
	return json.MarshalIndent(root, "", "  ")
}

func schemaOf(t reflect.Type) *schemaNode {
	if t == networkType {
		return &schemaNode{Any: []*schemaNode{{Type: "boolean"}, {Type: "array", Items: &schemaNode{Type: "string"}}}}
	}
	if t == agentsType {
		return &schemaNode{Any: []*schemaNode{{Type: "string"}, {Type: "array", Items: &schemaNode{Type: "string"}}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.String:
		return &schemaNode{Type: "string"}
	case reflect.Bool:
		return &schemaNode{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &schemaNode{Type: "integer"}
	case reflect.Float64:
		return &schemaNode{Type: "number"}
	case reflect.Slice:
		return &schemaNode{Type: "array", Items: schemaOf(t.Elem())}
	case reflect.Map:
		return &schemaNode{Type: "object", Additional: schemaOf(t.Elem())}
	case reflect.Struct:
		n := &schemaNode{Type: "object", Properties: map[string]*schemaNode{}, Additional: false}
		for i := range t.NumField() {
			f := t.Field(i)
			one := schemaOf(f.Type)
			one.Description = f.Tag.Get("doc")
			one.rule(f.Tag.Get("rule"), f.Tag.Get("default"))
			if f.Tag.Get("more") == "unused" {
				one.Additional = true
			}
			n.Properties[f.Tag.Get("toml")] = one
		}
		return n
	}
	return &schemaNode{} // any: of the Rust Forge, unchecked
}

// rule adds what the key's rule says; words that only the loader can judge are
// left to it.
func (n *schemaNode) rule(rule, def string) {
	for _, word := range strings.Fields(rule) {
		name, value, _ := strings.Cut(word, "=")
		number, err := strconv.ParseFloat(value, 64)
		switch {
		case name == "min" && err == nil:
			n.Minimum = &number
		case name == "max" && err == nil:
			n.Maximum = &number
		case name == "preset":
			// Not all: a project may have presets of its own.
			for _, p := range gates.Presets() {
				n.Examples = append(n.Examples, p.Name)
			}
		case strings.Contains(word, "|"):
			n.Enum = strings.Split(word, "|")
		}
	}
	if def == "" {
		return
	}
	var v any
	if json.Unmarshal([]byte(def), &v) == nil {
		n.Default = v
	}
}
