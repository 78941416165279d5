package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// members are those of a JSON object, in their order: conditions of exports
// mean what they do by it.
type members struct {
	keys   []string
	values map[string]json.RawMessage
}

// readMembers refuses what readers may take for different things: a key twice,
// text behind the object.
func readMembers(data []byte) (*members, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no JSON object")
	}
	out := &members{values: map[string]json.RawMessage{}}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		key, isText := t.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil || !isText {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		if _, twice := out.values[key]; twice {
			return nil, fmt.Errorf("%q stands there twice", key)
		}
		out.keys = append(out.keys, key)
		out.values[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if d.More() {
		return nil, errors.New("text stands behind the JSON object")
	}
	return out, nil
}

func (m *members) clone() *members {
	return &members{slices.Clone(m.keys), maps.Clone(m.values)}
}

// put sets a member, or with nil takes it out.
func (m *members) put(key string, value json.RawMessage) {
	at := slices.Index(m.keys, key)
	switch {
	case value == nil && at >= 0:
		m.keys = slices.Delete(m.keys, at, at+1)
		delete(m.values, key)
	case value != nil && at < 0:
		m.keys = append(m.keys, key)
		m.values[key] = value
	case value != nil:
		m.values[key] = value
	}
}

func (m *members) equal(other *members) bool {
	if len(m.keys) != len(other.keys) {
		return false
	}
	return !slices.ContainsFunc(m.keys, func(k string) bool { return !sameJSON(m.values[k], other.values[k]) })
}

func (m *members) bytes() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, k := range m.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(k)
		if err != nil {
			name = []byte(`""`)
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.values[k])
	}
	b.WriteByte('}')
	var out bytes.Buffer
	if json.Indent(&out, b.Bytes(), "", "  ") != nil {
		return b.Bytes()
	}
	out.WriteByte('\n')
	return out.Bytes()
}

// sameJSON compares values, the order of members among them: it matters in
// some settings, and to say "differs" costs little.
func sameJSON(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	var x, y bytes.Buffer
	if json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes()) {
		return true
	}
	// Sections of packages are sorted by their tools.
	left, errA := flatTexts(a)
	right, errB := flatTexts(b)
	return errA == nil && errB == nil && reflect.DeepEqual(left, right)
}

// flatTexts reads an object whose values are texts alone: versions, scripts.
func flatTexts(data json.RawMessage) (map[string]string, error) {
	all, err := readMembers(data)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, k := range all.keys {
		var v string
		if err := json.Unmarshal(all.values[k], &v); err != nil {
			return nil, fmt.Errorf("read JSON: %w", err)
		}
		if all.values[k][0] != '"' || len(k) > 0 && (k[0] == '.' || k == "import" || k == "require" || k == "default") {
			return nil, errors.New("conditions have an order")
		}
		out[k] = v
	}
	return out, nil
}
