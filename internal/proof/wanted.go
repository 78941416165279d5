package proof

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Wanted are the packages that a manifest asks for, by the names of their
// registry.
type Wanted struct {
	Tests   []string // for tests and tools alone, or that run tests
	Product []string
}

// WantedBy reads a manifest; ok is false for a file that is none or came with a
// dependency, and where packages are not installed below the project.
func WantedBy(file string, content []byte) (w Wanted, ok bool) {
	base := path.Base(file)
	switch {
	case foreign(file):
		return w, false
	case base == "package.json":
		w = wantedJSON(content, []string{"devDependencies"}, []string{"dependencies", "optionalDependencies", "peerDependencies"})
	case base == "composer.json":
		w = wantedJSON(content, []string{"require-dev"}, []string{"require"})
	case base == "pyproject.toml":
		w = wantedPyproject(content)
	case base == "Gemfile":
		w = wantedLines(content, false, gem)
	case strings.HasPrefix(base, "requirements") && (strings.HasSuffix(base, ".txt") || strings.HasSuffix(base, ".in")):
		w = wantedLines(content, base != "requirements.txt" && base != "requirements.in", requirement)
	default:
		return w, false
	}
	return w.sorted(), true
}

// sorted puts packages that run tests where they belong, whatever list names them.
func (w Wanted) sorted() Wanted {
	var out Wanted
	out.Tests = slices.Clone(w.Tests)
	for _, name := range w.Product {
		if runnerPlugin(name) {
			out.Tests = append(out.Tests, name)
		} else {
			out.Product = append(out.Product, name)
		}
	}
	slices.Sort(out.Tests)
	slices.Sort(out.Product)
	out.Tests, out.Product = slices.Compact(out.Tests), slices.Compact(out.Product)
	return out
}

func wantedJSON(content []byte, tests, product []string) (w Wanted) {
	var top map[string]json.RawMessage
	if json.Unmarshal(content, &top) != nil {
		return w
	}
	names := func(sections []string) (out []string) {
		for _, section := range sections {
			var entries map[string]any
			if json.Unmarshal(top[section], &entries) == nil {
				out = append(out, slices.Collect(maps.Keys(entries))...)
			}
		}
		return out
	}
	return Wanted{Tests: names(tests), Product: names(product)}
}

func wantedPyproject(content []byte) (w Wanted) {
	top := map[string]any{}
	if _, err := toml.Decode(string(content), &top); err != nil {
		return w
	}
	list := func(v any) (out []string) {
		all, _ := v.([]any)
		for _, one := range all {
			if s, ok := one.(string); ok {
				name, _, _ := pythonRequirement(s)
				out = append(out, name)
			}
		}
		return out
	}
	if project := table(top, false, "project"); project != nil {
		w.Product = list(project["dependencies"])
	}
	w.Product = append(w.Product, slices.Collect(maps.Keys(table(top, false, "tool", "poetry", "dependencies")))...)
	for _, groups := range []map[string]any{table(top, false, "project", "optional-dependencies"), table(top, false, "dependency-groups")} {
		for _, group := range groups {
			w.Tests = append(w.Tests, list(group)...)
		}
	}
	for name := range table(top, false, "tool", "poetry", "group") {
		w.Tests = append(w.Tests, slices.Collect(maps.Keys(table(top, false, "tool", "poetry", "group", name, "dependencies")))...)
	}
	w.Tests = append(w.Tests, slices.Collect(maps.Keys(table(top, false, "tool", "poetry", "dev-dependencies")))...)
	return w
}

func wantedLines(content []byte, tests bool, read lineReader) (w Wanted) {
	for _, line := range meaningful(content) {
		name, _, _, ok := read(strings.TrimSpace(line))
		switch {
		case !ok:
		case tests:
			w.Tests = append(w.Tests, name)
		default:
			w.Product = append(w.Product, name)
		}
	}
	return w
}
