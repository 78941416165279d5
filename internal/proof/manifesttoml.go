package proof

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// mixTOML puts new dependencies of a pyproject.toml or Cargo.toml into the
// trusted one.
func (m *Map) mixTOML(base string, trusted, snapshot []byte) (Mixed, error) {
	was, now := map[string]any{}, map[string]any{}
	if _, err := toml.Decode(string(trusted), &was); err != nil {
		return Mixed{}, fmt.Errorf("read the trusted one: %w", err)
	}
	if _, err := toml.Decode(string(snapshot), &now); err != nil {
		return Mixed{}, fmt.Errorf("read it: %w", err)
	}
	e := &entries{m: m, lang: "python"}
	out := copyTable(was)
	if base == "Cargo.toml" {
		e.lang = "rust"
		e.cargo(out, was, now)
	} else {
		e.pyproject(out, was, now)
	}
	if reflect.DeepEqual(out, now) {
		return e.mixed(snapshot, true), nil
	}
	e.changed = true
	if reflect.DeepEqual(out, was) {
		return e.mixed(trusted, false), nil
	}
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(out); err != nil {
		return Mixed{}, fmt.Errorf("write it: %w", err)
	}
	return e.mixed(b.Bytes(), false), nil
}

func copyTable(t map[string]any) map[string]any {
	out := maps.Clone(t)
	for k, v := range out {
		if inner, ok := v.(map[string]any); ok {
			out[k] = copyTable(inner)
		}
	}
	return out
}

// table finds one by its keys; made says to make it where it is not.
func table(t map[string]any, made bool, keys ...string) map[string]any {
	for _, k := range keys {
		inner, ok := t[k].(map[string]any)
		if !ok {
			if _, other := t[k]; other || !made {
				return nil
			}
			inner = map[string]any{}
			t[k] = inner
		}
		t = inner
	}
	return t
}

// inert takes words for people over.
func inert(out, now map[string]any, words string) {
	if out == nil || now == nil {
		return
	}
	for k := range set(words) {
		if v, ok := now[k]; ok {
			out[k] = v
		} else {
			delete(out, k)
		}
	}
}

func (e *entries) cargo(out, was, now map[string]any) {
	inert(table(out, false, "package"), table(now, false, "package"), "description keywords categories authors license homepage repository documentation version")
	old, next := table(was, false, "dependencies"), table(now, false, "dependencies")
	elsewhere := func(name string) bool {
		for _, section := range []string{"dev-dependencies", "build-dependencies"} {
			if _, ok := table(was, false, section)[name]; ok {
				return true
			}
		}
		return false
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if _, known := old[name]; known || elsewhere(name) {
			continue
		}
		version, registry := cargoVersion(next[name])
		if e.admit(name, version, registry) {
			table(out, true, "dependencies")[name] = next[name]
		}
	}
}

// cargoVersion reads an entry; one with a path, a repository or a name of its
// own is not the registry's.
func cargoVersion(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, npmRange().MatchString(v)
	case map[string]any:
		version, ok := v["version"].(string)
		for k := range v {
			switch k {
			case "version", "features", "optional", "default-features":
			default:
				return version, false
			}
		}
		return version, ok && npmRange().MatchString(version)
	}
	return "", false
}

func (e *entries) pyproject(out, was, now map[string]any) {
	words := "description keywords authors maintainers license version classifiers urls"
	inert(table(out, false, "project"), table(now, false, "project"), words)
	inert(table(out, false, "tool", "poetry"), table(now, false, "tool", "poetry"), "description keywords authors maintainers license version classifiers homepage repository documentation")
	if old, next := table(was, false, "project"), table(now, false, "project"); old != nil && next != nil {
		mixed := e.pythonList(old["dependencies"], next["dependencies"])
		if mixed != nil {
			table(out, true, "project")["dependencies"] = mixed
		}
	}
	old, next := table(was, false, "tool", "poetry", "dependencies"), table(now, false, "tool", "poetry", "dependencies")
	if old == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		if _, known := old[name]; known {
			continue
		}
		version, ok := next[name].(string)
		if e.admit(name, version, ok && npmRange().MatchString(version)) {
			table(out, true, "tool", "poetry", "dependencies")[name] = next[name]
		}
	}
}

// pythonList adds the admitted new requirements to the trusted list. It keeps
// the order of the new list where that holds all of the trusted one.
func (e *entries) pythonList(was, now any) any {
	old, _ := was.([]any)
	next, ok := now.([]any)
	if !ok {
		return was
	}
	known := map[string]bool{}
	for _, one := range old {
		name, _, _ := pythonRequirement(fmt.Sprint(one))
		known[name] = true
	}
	kept := map[string]bool{}
	var out []any
	for _, one := range next {
		s, isText := one.(string)
		name, version, registry := pythonRequirement(s)
		switch {
		case slices.Contains(old, one):
			out = append(out, one)
			kept[s] = true
		case known[name]: // its version is changed
		case e.admit(name, version, isText && registry):
			out = append(out, one)
		}
	}
	for _, one := range old {
		if !kept[fmt.Sprint(one)] {
			out = append(out, one)
		}
	}
	return out
}

var requirementForm = expr(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[\w\s,.-]*\])?\s*\(?((?:[<>=!~]=?=?\s*[\w.*+!-]+\s*,?\s*)*)\)?\s*(;.*)?$`)

// pythonRequirement reads a line like "lib[extra]>=1,<2; marker".
func pythonRequirement(s string) (name, version string, registry bool) {
	found := requirementForm().FindStringSubmatch(strings.TrimSpace(s))
	if found == nil {
		name, _, _ = strings.Cut(strings.TrimSpace(s), "@")
		return strings.ToLower(strings.TrimSpace(name)), "", false
	}
	return strings.ToLower(strings.ReplaceAll(found[1], "_", "-")), strings.TrimSpace(found[3]), true
}
