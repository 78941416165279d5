package config

import (
	"fmt"
	"math"
	"reflect"
	"sort"
	"time"

	"forge/internal/text"
)

// layer is one source of settings, from the least specific to the most:
// defaults, user, project, environment, flags.
type layer struct {
	kind  layerKind
	file  string // as shown to the user
	index index
	said  File
	hooks []hook
	// wrongHooks is what is wrong with its hooks; see settleHooks.
	wrongHooks []Problem
}

type layerKind int

const (
	layerDefaults layerKind = iota
	layerUser
	layerProject
	layerEnvironment
	layerFlags
)

// binder fills a File from a decoded tree. Unlike the decoder's own, it goes on
// after a mistake, so that all of them are reported together.
type binder struct {
	*collector
	layer  *layer
	hooks  *collector // what is wrong with hooks
	unused []string
	more   bool   // within a section that may hold unknown keys, which are not used
	top    string // what the file is called; "" = forge.toml
}

func (b *binder) problem(path []string, what, fix string) {
	b.add(b.layer.file, b.layer.index.find(path), what, fix)
}

// table binds a decoded table to a struct.
func (b *binder) table(tree map[string]any, v reflect.Value, path []string) {
	for _, key := range sortedKeys(tree) {
		at := append(append([]string{}, path...), key)
		f, ok := fieldByKey(v.Type(), key)
		if !ok && b.more {
			b.unused = append(b.unused, dotted(at))
			continue
		}
		if !ok {
			where := "in " + orWords(b.top, "forge.toml")
			if len(path) > 0 {
				where = "in [" + dotted(path) + "]"
			}
			b.problem(at, fmt.Sprintf("unknown key %s %s", quoteKey(text.Clip(key, mostQuoted)), where), suggest(key, keysIn(v.Type())))
			continue
		}
		if used := f.Tag.Get("used"); used == "no" {
			b.unused = append(b.unused, dotted(at))
		}
		if !b.mayset(f.Tag.Get("only"), tree[key], at) {
			continue
		}
		outer := b.more
		b.more = outer || f.Tag.Get("more") == "unused"
		b.value(tree[key], v.FieldByIndex(f.Index), at, f.Tag.Get("rule"))
		b.more = outer
	}
}

// mayset refuses what only the user's configuration sets.
func (b *binder) mayset(only string, value any, path []string) bool {
	if b.layer.kind != layerProject || only == "" {
		return true
	}
	if only == "tighten" && (value == "required" || value == false) {
		return true
	}
	network := path[len(path)-1] == "network"
	if _, hosts := value.([]any); only == "tighten" && network && hosts {
		return true // checkNetwork holds them against the user's
	}
	fix := "set it in the user's configuration, config.toml in the folder forge below $XDG_CONFIG_HOME or ~/.config"
	if only == "tighten" {
		strict := `"required"`
		if network {
			strict = "false, or name hosts"
		}
		fix = "a project may only say " + strict + "; " + fix
	}
	b.problem(path, dotted(path)+" cannot be set by a project", fix)
	return false
}

func (b *binder) value(in any, v reflect.Value, path []string, rule string) {
	switch {
	case v.Kind() == reflect.Interface:
		v.Set(reflect.ValueOf(in))
	case v.Kind() == reflect.Struct:
		if tree, ok := in.(map[string]any); ok {
			b.table(tree, v, path)
		} else {
			b.wrongType(in, v, path)
		}
	case v.Kind() == reflect.Map && v.Type().Elem().Kind() == reflect.Struct:
		b.namedTables(in, v, path, rule)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		b.tableList(in, v, path)
	default:
		before := len(b.problems)
		b.leaf(in, v, path)
		if len(b.problems) == before && v.Kind() != reflect.Interface {
			b.check(rule, v, path)
		}
	}
}

func (b *binder) namedTables(in any, v reflect.Value, path []string, rule string) {
	tree, ok := in.(map[string]any)
	if !ok {
		b.wrongType(in, v, path)
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, name := range sortedKeys(tree) {
		at := append(append([]string{}, path...), name)
		inner, ok := tree[name].(map[string]any)
		if !ok {
			b.problem(at, fmt.Sprintf("%s is %s, want a table", dotted(at), describe(tree[name])), "write ["+dotted(at)+"]")
			continue
		}
		b.checkText(rule, name, at)
		one := reflect.New(v.Type().Elem()).Elem()
		b.table(inner, one, at)
		out.SetMapIndex(reflect.ValueOf(name), one)
	}
	v.Set(out)
}

func (b *binder) tableList(in any, v reflect.Value, path []string) {
	items, ok := in.([]any)
	if !ok {
		b.wrongType(in, v, path)
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(items))
	for i, item := range items {
		at := append(append([]string{}, path...), element(i))
		inner, ok := item.(map[string]any)
		if !ok {
			b.problem(at, fmt.Sprintf("%s is %s, want a table", dotted(at), describe(item)), "write [["+dotted(path)+"]]")
			continue
		}
		one := reflect.New(v.Type().Elem()).Elem()
		b.table(inner, one, at)
		out = reflect.Append(out, one)
	}
	v.Set(out)
}

// leaf binds one value. What does not fit is a problem, never a zero.
func (b *binder) leaf(in any, v reflect.Value, path []string) {
	t := v.Type()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if on, ok := in.(bool); ok && t == networkType {
		v.Set(reflect.ValueOf(networkOf(on)))
		return
	}
	if name, ok := in.(string); ok && t == agentsType {
		v.Set(reflect.ValueOf(Agents{name}))
		return
	}
	got := reflect.New(t).Elem()
	switch x := in.(type) {
	case string:
		if t.Kind() != reflect.String {
			b.wrongType(in, v, path)
			return
		}
		got.SetString(x)
	case bool:
		if t.Kind() != reflect.Bool {
			b.wrongType(in, v, path)
			return
		}
		got.SetBool(x)
	case int64:
		switch t.Kind() {
		case reflect.Int, reflect.Int64:
			got.SetInt(x)
		case reflect.Float64:
			got.SetFloat(float64(x))
		default:
			b.wrongType(in, v, path)
			return
		}
	case float64:
		if t.Kind() != reflect.Float64 {
			b.wrongType(in, v, path)
			return
		}
		if math.IsNaN(x) || math.IsInf(x, 0) {
			b.problem(path, fmt.Sprintf("%s is %v", dotted(path), x), "write a finite number")
			return
		}
		got.SetFloat(x)
	default:
		b.composite(in, v, path)
		return
	}
	if v.Kind() == reflect.Pointer {
		p := reflect.New(t)
		p.Elem().Set(got)
		got = p
	}
	v.Set(got)
}

// composite binds lists of strings and tables of strings or of anything.
func (b *binder) composite(in any, v reflect.Value, path []string) {
	if tree, ok := in.(map[string]any); ok && v.Kind() == reflect.Map {
		if v.Type().Elem().Kind() == reflect.Interface {
			v.Set(reflect.ValueOf(tree))
			return
		}
		out := map[string]string{}
		for _, key := range sortedKeys(tree) {
			text, ok := tree[key].(string)
			if !ok {
				at := append(append([]string{}, path...), key)
				b.problem(at, fmt.Sprintf("%s is %s, want a string", dotted(at), describe(tree[key])), "write it in quotes")
				continue
			}
			out[key] = text
		}
		v.Set(reflect.ValueOf(out))
		return
	}
	items, ok := in.([]any)
	if !ok || v.Kind() != reflect.Slice {
		b.wrongType(in, v, path)
		return
	}
	out := make([]string, 0, len(items))
	for i, item := range items {
		text, ok := item.(string)
		if !ok {
			at := append(append([]string{}, path...), element(i))
			b.problem(at, fmt.Sprintf("%s is %s, want a string", dotted(at), describe(item)), "write it in quotes")
			continue
		}
		out = append(out, text)
	}
	v.Set(reflect.ValueOf(out))
}

func (b *binder) wrongType(in any, v reflect.Value, path []string) {
	want := typeName(v.Type())
	fix := map[string]string{
		"string": `write it in quotes`, "integer": "write digits without quotes", "number": "write a number without quotes",
		"true or false": "write true or false without quotes", "list of strings": `write ["…", "…"]`,
		"list of tables": "write [[" + dotted(path) + "]]", trueFalseHosts: `write true, false, or ["host", "…"]`, oneOrMore: "write it in quotes",
	}[want]
	if fix == "" {
		fix = "write [" + dotted(path) + "]"
	}
	article := map[string]string{"integer": "an ", "true or false": "", "named tables": "", trueFalseHosts: ""}
	a, ok := article[want]
	if !ok {
		a = "a "
	}
	b.problem(path, fmt.Sprintf("%s is %s, want %s%s", dotted(path), describe(in), a, want), fix)
}

// describe names the type of a decoded value with its article.
func describe(in any) string {
	switch in.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a number"
	case bool:
		return "true or false"
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	case time.Time:
		return "a date"
	}
	return "another type"
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
