package proof

import (
	"encoding/json"
	"path"
	"strings"

	"github.com/BurntSushi/toml"
)

// pathsOf are the paths of packages of the tree that a manifest depends on, those for
// tests alone apart.
func (sv *survey) pathsOf(p string) (tests, product []string) {
	base, content := path.Base(p), sv.content(p)
	switch {
	case base == "Cargo.toml":
		return cargoPaths(content)
	case base == "package.json":
		return packagePaths(content)
	case base == "pyproject.toml":
		return pyprojectPaths(content)
	case strings.HasPrefix(base, "requirements") && strings.HasSuffix(base, ".txt"):
		return requirementPaths(base, content)
	case base == "Gemfile":
		return gemPaths(content)
	case base == "composer.json":
		return sv.composerPaths(path.Dir(p), content)
	}
	return nil, nil
}

// developed are words for groups of dependencies that nothing is shipped with.
var developed = set("dev develop development test tests testing lint docs")

// pyprojectPaths reads the groups of PEP 735, extras, and what uv and poetry say of
// where a package stands.
func pyprojectPaths(content []byte) (tests, product []string) {
	top := map[string]any{}
	if _, err := toml.Decode(string(content), &top); err != nil {
		return nil, nil
	}
	at := map[string]string{} // by the name of a package
	for name, source := range table(top, false, "tool", "uv", "sources") {
		if s, ok := source.(map[string]any); ok {
			if rel, ok := s["path"].(string); ok {
				at[pythonName(name)] = path.Clean(rel)
			}
		}
	}
	note := func(list any, to *[]string) {
		all, _ := list.([]any)
		for _, one := range all {
			line, _ := one.(string)
			name, _, _ := pythonRequirement(line)
			if rel := at[pythonName(name)]; rel != "" {
				*to = append(*to, rel)
			} else if _, rel, ok := strings.Cut(line, "@ file:"); ok {
				*to = append(*to, path.Clean(strings.TrimPrefix(strings.TrimSpace(rel), "//")))
			}
		}
	}
	for _, list := range table(top, false, "dependency-groups") {
		note(list, &tests)
	}
	note(table(top, false, "tool", "uv")["dev-dependencies"], &tests)
	note(table(top, false, "project")["dependencies"], &product)
	for extra, list := range table(top, false, "project", "optional-dependencies") {
		if developed[strings.ToLower(extra)] {
			note(list, &tests)
		} else {
			note(list, &product)
		}
	}
	poetry := func(entries map[string]any, to *[]string) {
		for _, one := range entries {
			if t, ok := one.(map[string]any); ok {
				if rel, ok := t["path"].(string); ok {
					*to = append(*to, path.Clean(rel))
				}
			}
		}
	}
	poetry(table(top, false, "tool", "poetry", "dependencies"), &product)
	poetry(table(top, false, "tool", "poetry", "dev-dependencies"), &tests)
	for group := range table(top, false, "tool", "poetry", "group") {
		to := &product
		if developed[strings.ToLower(group)] {
			to = &tests
		}
		poetry(table(top, false, "tool", "poetry", "group", group, "dependencies"), to)
	}
	return tests, product
}

func pythonName(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// requirementPaths reads "-e ./dir" and "./dir".
func requirementPaths(base string, content []byte) (tests, product []string) {
	forTests := false
	for _, word := range strings.FieldsFunc(strings.TrimSuffix(base, ".txt"), func(r rune) bool { return strings.ContainsRune("-_.", r) }) {
		forTests = forTests || developed[strings.ToLower(word)]
	}
	for _, line := range meaningful(content) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "--editable"), "-e"))
		line = strings.TrimPrefix(line, "file:")
		if !strings.HasPrefix(line, ".") {
			continue
		}
		rel, _, _ := strings.Cut(line, "[")
		if rel = path.Clean(strings.TrimSpace(rel)); forTests {
			tests = append(tests, rel)
		} else {
			product = append(product, rel)
		}
	}
	return tests, product
}

var (
	gemPath  = expr(`^gem\b.*\bpath(?::|\s*=>)\s*["']([^"']+)["']`)
	gemGroup = expr(`\bgroups?(?::|\s*=>|\s*\(|\s+)\s*(.*)`)
	symbol   = expr(`:(\w+)`)
)

// gemPaths reads gems with a path, in a group or with one.
func gemPaths(content []byte) (tests, product []string) {
	var groups []bool // what is open: whether it is for tests alone
	for _, line := range meaningful(content) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasSuffix(line, " do") || strings.Contains(line, " do |"):
			groups = append(groups, strings.HasPrefix(line, "group") && onlyDeveloped(line))
		case line == "end" && len(groups) > 0:
			groups = groups[:len(groups)-1]
		}
		found := gemPath().FindStringSubmatch(line)
		if found == nil {
			continue
		}
		inside := false
		for _, g := range groups {
			inside = inside || g
		}
		if own := gemGroup().FindStringSubmatch(line); inside || own != nil && onlyDeveloped(own[1]) {
			tests = append(tests, path.Clean(found[1]))
		} else {
			product = append(product, path.Clean(found[1]))
		}
	}
	return tests, product
}

// onlyDeveloped says that a line names groups, and none that is shipped.
func onlyDeveloped(line string) bool {
	all := symbol().FindAllStringSubmatch(line, -1)
	for _, found := range all {
		if !developed[found[1]] {
			return false
		}
	}
	return len(all) > 0
}

// composerPaths reads repositories that are folders, by the names of what stands in
// them.
func (sv *survey) composerPaths(dir string, content []byte) (tests, product []string) {
	var top struct {
		Repositories json.RawMessage `json:"repositories"`
	}
	if json.Unmarshal(content, &top) != nil {
		return nil, nil
	}
	type repository struct{ Type, URL string }
	var all []repository
	named := map[string]repository{}
	if json.Unmarshal(top.Repositories, &all) != nil && json.Unmarshal(top.Repositories, &named) == nil {
		for _, r := range named {
			all = append(all, r)
		}
	}
	dev, shipped := jsonNames(content, "require-dev"), jsonNames(content, "require")
	for _, r := range all {
		rel := path.Clean(r.URL)
		var about struct{ Name string }
		if at := clean(path.Join(dir, rel, "composer.json")); r.Type != "path" || sv.files[at] == nil || json.Unmarshal(sv.content(at), &about) != nil {
			continue
		}
		switch {
		case shipped[about.Name]:
			product = append(product, rel)
		case dev[about.Name]:
			tests = append(tests, rel)
		}
	}
	return tests, product
}
