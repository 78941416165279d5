package config

import (
	"encoding/json"
	"testing"
)

// Every key of the settings type is in the schema, and nothing else may be
// written where names are fixed.
func TestJSONSchema(t *testing.T) {
	text, err := JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	if root["additionalProperties"] != false {
		t.Error("unknown sections pass the schema")
	}
	for _, k := range Keys() {
		node := root
		for _, name := range k.Path {
			switch name {
			case named:
				node, _ = node["additionalProperties"].(map[string]any)
			case "[]":
				node, _ = node["items"].(map[string]any)
			default:
				props, _ := node["properties"].(map[string]any)
				node, _ = props[name].(map[string]any)
			}
			if node == nil {
				t.Fatalf("the schema lacks %s", k.Name())
			}
		}
		if node["description"] != k.Doc {
			t.Errorf("%s is described as %q, want %q", k.Name(), node["description"], k.Doc)
		}
	}
	mode := root["properties"].(map[string]any)["sandbox"].(map[string]any)["properties"].(map[string]any)["mode"].(map[string]any)
	if got := len(mode["enum"].([]any)); got != 3 || mode["default"] != "auto" {
		t.Errorf("sandbox.mode has %d words and default %v, want 3 and auto", got, mode["default"])
	}
}
