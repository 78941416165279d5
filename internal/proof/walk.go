package proof

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// walkSettings hands out the values of a settings file with the keys that they
// stand below, in JSON, TOML, INI or YAML as its name says. What cannot be read
// in full is read line by line: more is found then, not less.
func walkSettings(base string, content []byte, visit func(keys []string, value string)) {
	switch strings.ToLower(path.Ext(base)) {
	case ".json", ".jsonc", ".json5":
		var v any
		if json.Unmarshal(content, &v) == nil || json.Unmarshal(withoutComments(content), &v) == nil {
			walkValue(v, nil, visit)
			return
		}
	case ".toml":
		tree := map[string]any{}
		if _, err := toml.Decode(string(content), &tree); err == nil {
			walkValue(tree, nil, visit)
			return
		}
	}
	walkLines(content, visit)
}

func walkValue(v any, keys []string, visit func([]string, string)) {
	switch v := v.(type) {
	case string:
		if len(keys) > 0 {
			visit(keys, v)
		}
	case []any:
		for _, one := range v {
			walkValue(one, keys, visit)
		}
	case []map[string]any:
		for _, one := range v {
			walkValue(one, keys, visit)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			walkValue(v[k], append(slices.Clone(keys), k), visit)
		}
	}
}

// withoutComments makes JSON of what many tools allow as such.
func withoutComments(content []byte) []byte {
	s := lex("script", content)
	var out bytes.Buffer
	code := s.code()
	for i, t := range code.tokens {
		if w := code.word(i); w == "," && i+1 < len(code.tokens) && (code.word(i+1) == "}" || code.word(i+1) == "]") {
			continue
		}
		out.Write(code.bytes(t))
		out.WriteByte(' ')
	}
	return out.Bytes()
}

// walkLines reads "key = value", "key: value" and lists, by indentation.
func walkLines(content []byte, visit func([]string, string)) {
	type level struct {
		indent int
		key    string
	}
	var stack []level
	section := ""
	for line := range strings.Lines(string(content)) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || trimmed[0] == '#' || trimmed[0] == ';' {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		if trimmed[0] == '[' && strings.HasSuffix(trimmed, "]") && !strings.ContainsAny(trimmed, ",\"'") {
			section, stack = strings.Trim(trimmed, "[]"), nil
			continue
		}
		for strings.HasPrefix(trimmed, "- ") {
			trimmed = strings.TrimSpace(trimmed[2:])
			indent += 2
		}
		key, value := "", trimmed
		if at := strings.IndexAny(trimmed, "=:"); at > 0 && !strings.ContainsAny(trimmed[:at], " \t/'\"*(") || at > 0 && strings.HasSuffix(trimmed[:at], " ") && !strings.ContainsAny(strings.TrimRight(trimmed[:at], " "), " /'\"*(") {
			key, value = strings.TrimSpace(trimmed[:at]), strings.TrimSpace(trimmed[at+1:])
		}
		for len(stack) > 0 && (stack[len(stack)-1].indent > indent || stack[len(stack)-1].indent == indent && key != "") {
			stack = stack[:len(stack)-1]
		}
		if key != "" {
			stack = append(stack, level{indent, key})
		}
		keys := []string{section}
		for _, l := range stack {
			keys = append(keys, l.key)
		}
		value = strings.Trim(value, "|> ")
		for _, one := range strings.FieldsFunc(strings.Trim(value, "[]"), func(r rune) bool { return r == ',' }) {
			if one = strings.Trim(one, " '\""); one != "" {
				visit(keys, one)
			}
		}
	}
}

// walkXML hands out attributes and texts, with the elements above them.
func walkXML(content []byte, visit func([]string, string)) {
	d := xml.NewDecoder(bytes.NewReader(content))
	d.Strict = false
	var keys []string
	for {
		t, err := d.Token()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				walkLines(content, visit)
			}
			return
		}
		switch t := t.(type) {
		case xml.StartElement:
			keys = append(keys, t.Name.Local)
			for _, a := range t.Attr {
				visit(append(slices.Clone(keys), a.Name.Local), a.Value)
			}
		case xml.EndElement:
			if len(keys) > 0 {
				keys = keys[:len(keys)-1]
			}
		case xml.CharData:
			if len(keys) > 0 {
				visit(slices.Clone(keys), string(t))
			}
		}
	}
}
