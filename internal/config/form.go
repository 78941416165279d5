package config

import (
	"math"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"forge/internal/refusal"
)

// The forms of a page write a setting as people do: a number, a word, a list with
// a line for each element. "" says nothing.

// KeyOf is the key of a dotted name.
func KeyOf(name string) (Key, bool) {
	for _, k := range Keys() {
		if k.Name() == name {
			return k, true
		}
	}
	return Key{}, false
}

// Literal is what a form says for a key, as TOML; "" for nothing. What the key's
// rules say of it is found out when the whole is loaded.
func (k Key) Literal(said string) (string, error) {
	said = strings.TrimSpace(strings.ReplaceAll(said, "\r\n", "\n"))
	if said == "" {
		return "", nil
	}
	switch k.Type {
	case "integer":
		n, err := strconv.Atoi(said)
		if err != nil {
			return "", refusal.New("write digits, such as 8", "%q is not a whole number", said)
		}
		return strconv.Itoa(n), nil
	case "number":
		x, err := strconv.ParseFloat(said, 64)
		if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return "", refusal.New("write digits, such as 2.50", "%q is not a number", said)
		}
		return floatLiteral(x), nil
	case "true or false":
		if said != "true" && said != "false" {
			return "", refusal.New("choose one", "%q is neither true nor false", said)
		}
		return said, nil
	case oneOrMore, "list of strings":
		var items []string
		for line := range strings.SplitSeq(said, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				items = append(items, quoteString(line))
			}
		}
		if len(items) == 1 && k.Type == oneOrMore {
			return items[0], nil
		}
		return "[" + strings.Join(items, ", ") + "]", nil
	case "string":
		return quoteString(said), nil
	}
	return "", refusal.New("change it in the file", "%s is a %s", k.Name(), k.Type)
}

// Said is a TOML literal of the key as a form says it; false where the form cannot.
func (k Key) Said(literal string) (said string, ok bool) {
	var v struct{ X any }
	if _, err := toml.Decode("X = "+literal, &v); err != nil {
		return "", false
	}
	switch x := v.X.(type) {
	case int64:
		said = strconv.FormatInt(x, 10)
	case float64:
		said = strconv.FormatFloat(x, 'f', -1, 64)
	case bool:
		said = strconv.FormatBool(x)
	case string:
		said = x
	case []any:
		lines := make([]string, 0, len(x))
		for _, one := range x {
			line, isText := one.(string)
			if !isText || strings.TrimSpace(line) != line || line == "" || strings.ContainsAny(line, "\r\n") {
				return "", false
			}
			lines = append(lines, line)
		}
		return strings.Join(lines, "\n"), k.Type == "list of strings" || k.Type == oneOrMore && len(lines) > 1
	default:
		return "", false
	}
	if strings.ContainsAny(said, "\r\n") || strings.TrimSpace(said) != said {
		return "", false
	}
	back, err := k.Literal(said)
	return said, err == nil && k.Type != "list of strings" && (back != "" || said == "")
}
