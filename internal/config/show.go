package config

import (
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
)

// Line is one key of the resolved configuration.
type Line struct {
	Key    string // "defaults.budget"
	Value  string // TOML literal
	Origin string // as Origin
}

// Show lists every key that has a value, in the order of the settings type.
func (c *Config) Show() []Line {
	s := &shower{cfg: c}
	s.table(reflect.ValueOf(c.File), nil)
	return s.lines
}

// Render writes the resolved configuration as TOML that loads to the same
// values; every line names its origin.
func (c *Config) Render() string {
	var b strings.Builder
	for _, l := range c.Show() {
		b.WriteString(l.Key + " = " + l.Value)
		if l.Origin != "" {
			b.WriteString(" # " + text.HarmlessLine(l.Origin))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

type shower struct {
	cfg   *Config
	lines []Line
}

func (s *shower) table(v reflect.Value, path []string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		s.field(v.Field(i), append(append([]string{}, path...), f.Tag.Get("toml")))
	}
}

func (s *shower) field(v reflect.Value, path []string) {
	switch {
	case v.Kind() == reflect.Struct:
		s.table(v, path)
	case v.IsNil():
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct:
		for _, name := range s.names(v, path) {
			before := len(s.lines)
			at := append(append([]string{}, path...), name)
			s.table(v.MapIndex(reflect.ValueOf(name)), at)
			if len(s.lines) == before {
				s.line(at, "{}")
			}
		}
	default:
		s.line(path, literal(v))
	}
}

// names keeps overrides in the order in which they apply.
func (s *shower) names(v reflect.Value, path []string) []string {
	names := sortedStrings(v.MapKeys())
	if dotted(path) != "phases.overrides" {
		return names
	}
	rank := map[string]int{}
	for i, o := range s.cfg.overrides {
		rank[o.glob] = i
	}
	sort.SliceStable(names, func(i, j int) bool { return rank[names[i]] < rank[names[j]] })
	return names
}

func (s *shower) line(path []string, value string) {
	key := dotted(path)
	s.lines = append(s.lines, Line{Key: key, Value: value, Origin: s.cfg.origins[key]})
}

// literal writes a value as TOML.
func literal(v reflect.Value) string {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if n, ok := v.Interface().(Network); ok && n.literal() != "" {
		return n.literal()
	}
	if names, ok := v.Interface().(Agents); ok && len(names) == 1 {
		return quoteString(names[0])
	}
	switch v.Kind() {
	case reflect.String:
		return quoteString(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return floatLiteral(v.Float())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = literal(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Map:
		var pairs []string
		for _, k := range sortedStrings(v.MapKeys()) {
			pairs = append(pairs, quoteKey(k)+" = "+literal(v.MapIndex(reflect.ValueOf(k))))
		}
		return braces(pairs)
	case reflect.Struct:
		if t, ok := v.Interface().(time.Time); ok {
			return dateLiteral(t)
		}
		var pairs []string
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsNil() {
				pairs = append(pairs, v.Type().Field(i).Tag.Get("toml")+" = "+literal(f))
			}
		}
		return braces(pairs)
	}
	return quoteString(fmt.Sprint(v))
}

func braces(pairs []string) string {
	if len(pairs) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(pairs, ", ") + " }"
}

func floatLiteral(x float64) string {
	text := strconv.FormatFloat(x, 'g', -1, 64)
	switch {
	case text == "+Inf":
		return "inf"
	case text == "-Inf":
		return "-inf"
	case text == "NaN":
		return "nan"
	case !strings.ContainsAny(text, ".e"):
		return text + ".0"
	}
	return text
}

// dateLiteral keeps the four kinds of date, which the decoder marks by their
// location.
func dateLiteral(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}
