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
		if foreign(p) {
			continue
		}
		tests, product := sv.pathsOf(p)
		if base := path.Base(p); base != "Cargo.toml" && base != "package.json" {
			tests = sv.helpers(path.Dir(p), tests)
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

// helpers are those of the packages that are no product which is only developed here:
// one that has tests of its own is, and so are all where nothing else is source.
func (sv *survey) helpers(dir string, rels []string) []string {
	in := map[string]string{}
	for _, rel := range rels {
		if at := clean(path.Join(dir, rel)); at != "" && at != "." {
			in[at] = rel
		}
	}
	tested, rest := map[string]bool{}, false
	for _, p := range sv.paths {
		if sv.files[p].sort != sourceSort || foreign(p) {
			continue
		}
		at := path.Dir(p)
		for ; at != "." && in[at] == ""; at = path.Dir(at) {
		}
		test := IsTestFile(p) || isTestName(path.Base(p))
		if in[at] == "" {
			rest = rest || !test
		} else if test {
			tested[in[at]] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(rels), func(rel string) bool { return !rest || tested[rel] })
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
