package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	texts "forge/internal/text"
)

// maxDepth bounds the nesting of an answer.
const maxDepth = 64

// body is the JSON in a model's words. Models that are not held to a format
// put it into a code fence, or their thoughts before it; more is not guessed.
func body(content string) []byte {
	text := strings.TrimSpace(texts.WithoutMark(content))
	if rest, ok := strings.CutPrefix(text, "<think>"); ok {
		if _, after, ends := strings.Cut(rest, "</think>"); ends {
			text = strings.TrimSpace(after)
		}
	}
	if strings.HasPrefix(text, "```") && strings.HasSuffix(text, "```") && len(text) >= 6 {
		if _, inner, ok := strings.Cut(text[:len(text)-3], "\n"); ok {
			text = strings.TrimSpace(inner)
		}
	}
	return []byte(text)
}

// decode reads exactly one JSON value. Numbers stay as they were written.
func decode(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the answer is not UTF-8 text")
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("the answer is empty")
	}
	if err := json.Unmarshal(text, new(json.RawMessage)); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %s", foreign(err.Error()))
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := value(d, 0)
	if err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %s", foreign(err.Error()))
	}
	return v, nil
}

// value reads one value token by token, to see names that stand twice.
func value(d *json.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return object(d, depth)
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := value(d, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.Token()
		return list, err
	}
	if n, ok := t.(json.Number); ok {
		if f, err := n.Float64(); err != nil || math.IsInf(f, 0) {
			return nil, fmt.Errorf("the number %s is too large", n)
		}
	}
	return t, nil
}

func object(d *json.Decoder, depth int) (any, error) {
	out := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("a name is %v", t)
		}
		if _, again := out[name]; again {
			return nil, fmt.Errorf("the name %q stands twice in one object", name)
		}
		if out[name], err = value(d, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return out, err
}
