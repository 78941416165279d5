package proof

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// testPackages finds the packages of the tree that manifests depend on for
// tests alone: what stands in them judges, whatever it is called.
func (sv *survey) testPackages() {
	for _, p := range sv.paths {
		if sv.files[p].sort != manifestSort || foreign(p) {
			continue
		}
		var tests, product []string
		switch path.Base(p) {
		case "Cargo.toml":
			tests, product = cargoPaths(sv.content(p))
		case "package.json":
			tests, product = packagePaths(sv.content(p))
		default:
			continue
		}
		for _, rel := range tests {
			dir := clean(path.Join(path.Dir(p), rel))
			if dir == "" || dir == "." || slices.Contains(product, rel) || !sv.folders[dir] {
				continue
			}
			sv.name(dir, RuleSettings, "%s depends on it for tests alone", p)
			for _, file := range sv.paths {
				if strings.HasPrefix(file, dir+"/") {
					delete(sv.entries, file)
					sv.name(file, RuleSettings, "%s depends on %s for tests alone", p, dir)
				}
			}
		}
	}
}

// cargoPaths are the paths of dependencies, those for tests alone apart.
func cargoPaths(content []byte) (tests, product []string) {
	top := map[string]any{}
	if _, err := toml.Decode(string(content), &top); err != nil {
		return nil, nil
	}
	all := []map[string]any{top}
	for _, target := range table(top, false, "target") {
		if t, ok := target.(map[string]any); ok {
			all = append(all, t)
		}
	}
	for _, t := range all {
		for section, to := range map[string]*[]string{"dev-dependencies": &tests, "dependencies": &product, "build-dependencies": &product} {
			for _, name := range slices.Sorted(maps.Keys(table(t, false, section))) {
				if rel, ok := table(t, false, section, name)["path"].(string); ok {
					*to = append(*to, path.Clean(rel))
				}
			}
		}
	}
	return tests, product
}

func packagePaths(content []byte) (tests, product []string) {
	var top map[string]json.RawMessage
	if json.Unmarshal(content, &top) != nil {
		return nil, nil
	}
	for section, to := range map[string]*[]string{"devDependencies": &tests, "dependencies": &product, "optionalDependencies": &product, "peerDependencies": &product} {
		var entries map[string]any
		if json.Unmarshal(top[section], &entries) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			version, _ := entries[name].(string)
			for _, lead := range []string{"file:", "link:", "portal:"} {
				if rel, ok := strings.CutPrefix(version, lead); ok {
					*to = append(*to, path.Clean(rel))
				}
			}
		}
	}
	return tests, product
}
