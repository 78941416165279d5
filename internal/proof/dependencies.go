package proof

import (
	"encoding/json"
	"maps"
	"path"
	"strings"

	"github.com/BurntSushi/toml"
)

// dependencies notes what the manifests name: nothing new in the tree may stand
// in its place.
func (sv *survey) dependencies() {
	for _, p := range sv.paths {
		if sv.files[p].sort != manifestSort || foreign(p) {
			continue
		}
		content := sv.content(p)
		switch path.Base(p) {
		case "package.json":
			for name := range jsonNames(content, scriptSections...) {
				note(sv.Outside, "script", name)
			}
		case "requirements.txt":
			for _, line := range meaningful(content) {
				sv.pythonDependency(line)
			}
		case "pyproject.toml":
			sv.pyprojectNames(content)
		case "Gemfile":
			for _, line := range meaningful(content) {
				if found := gemForm().FindStringSubmatch(strings.TrimSpace(line)); found != nil {
					note(sv.Outside, "ruby", found[1])
					note(sv.Outside, "ruby", strings.ReplaceAll(found[1], "-", "_"))
				}
			}
		}
	}
}

var scriptSections = []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies"}

// declaredScripts are the dependencies of the scripts.
func (sv *survey) declaredScripts() map[string]bool {
	out := map[string]bool{}
	for _, p := range sv.paths {
		if path.Base(p) == "package.json" && !foreign(p) {
			maps.Copy(out, jsonNames(sv.content(p), scriptSections...))
		}
	}
	return out
}

// jsonNames are the members of some sections.
func jsonNames(content []byte, sections ...string) map[string]bool {
	out := map[string]bool{}
	var top map[string]json.RawMessage
	if json.Unmarshal(content, &top) != nil {
		return out
	}
	for _, section := range sections {
		var names map[string]json.RawMessage
		if json.Unmarshal(top[section], &names) == nil {
			for name := range names {
				out[name] = true
			}
		}
	}
	return out
}

func (sv *survey) pythonDependency(line string) {
	name, _, _ := pythonRequirement(line)
	if name == "" {
		return
	}
	note(sv.Outside, "python", strings.ReplaceAll(name, "-", "_"))
	if module := importNames[name]; module != "" {
		note(sv.Outside, "python", module)
	}
}

func (sv *survey) pyprojectNames(content []byte) {
	tree := map[string]any{}
	if _, err := toml.Decode(string(content), &tree); err != nil {
		return
	}
	project := table(tree, false, "project")
	lists := []any{project["dependencies"]}
	for _, group := range []map[string]any{table(project, false, "optional-dependencies"), table(tree, false, "dependency-groups")} {
		for _, list := range group {
			lists = append(lists, list)
		}
	}
	for _, list := range lists {
		all, _ := list.([]any)
		for _, one := range all {
			if s, ok := one.(string); ok {
				sv.pythonDependency(s)
			}
		}
	}
	for name := range table(tree, false, "tool", "poetry", "dependencies") {
		sv.pythonDependency(name)
	}
}
