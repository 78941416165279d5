package proof

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// loose is a name that a file imports and that is no path from where it stands, with
// the package that it would be of: settings and flags tell runners in which folders
// of the tree to look for it (pythonpath, moduleDirectories, -I, workspaces).
type loose struct{ name, of string }

// link is where a loose name may lead: to is below root by that name.
type link struct {
	from     *file
	to, root string
}

// namedLoosely gives tests what they import by loose names. A folder that product
// imports from as well, or in which something stands that tests are named after or a
// manifest names, is product's: all of it is seen as ever.
func (sv *survey) namedLoosely() {
	links := sv.links()
	own := map[string]bool{}
	for _, l := range links {
		if _, done := own[l.root]; !done {
			own[l.root] = sv.forTests(l.root, links)
		}
		if own[l.root] {
			l.from.edge(l.to)
		}
	}
	sv.workspaceHelpers()
}

func (sv *survey) links() []link {
	stems := map[string][]string{}
	for _, p := range sv.paths {
		if lang := sv.files[p].lang; lang != "" && !foreign(p) {
			key := lang + " " + path.Base(moduleStem(lang, p))
			stems[key] = append(stems[key], p)
		}
	}
	declared := sv.declaredScripts()
	var out []link
	for _, p := range sv.paths {
		f := sv.files[p]
		for _, l := range f.loose {
			if standardNames[f.lang][l.of] || f.lang == "script" && declared[l.of] {
				continue
			}
			for _, to := range stems[f.lang+" "+path.Base(l.name)] {
				if root, ok := strings.CutSuffix(moduleStem(f.lang, to), "/"+l.name); ok {
					out = append(out, link{f, to, root})
				}
			}
		}
	}
	return out
}

// moduleStem is the path that a module is imported by.
func moduleStem(lang, p string) string {
	if lang == "c" {
		return p
	}
	stem := strings.TrimSuffix(p, path.Ext(p))
	if base := path.Base(stem); base == "index" || base == "__init__" {
		return path.Dir(stem)
	}
	return stem
}

// forTests says that nothing in a folder looks like product, and that tests alone
// import from it.
func (sv *survey) forTests(root string, links []link) bool {
	if slices.ContainsFunc(strings.Split(root, "/"), func(part string) bool { return sourceRoots[strings.ToLower(part)] }) {
		return false
	}
	if slices.ContainsFunc(links, func(l link) bool { return l.root == root && !sv.ofTests(l.from) && !within(l.from.path, root) }) {
		return false
	}
	return sv.testsAlone(root)
}

// testsAlone says that nothing below a folder is what tests are named after or a
// manifest names, and that no product imports it.
func (sv *survey) testsAlone(root string) bool {
	for _, p := range sv.paths {
		f := sv.files[p]
		switch {
		case within(p, root):
			if f.sort == sourceSort && !f.test && (sv.subjects[stemOf(p)] || sv.entries[p] || f.product) {
				return false
			}
		case !sv.ofTests(f) && slices.ContainsFunc(f.imports, func(to string) bool { return within(to, root) }):
			return false
		}
	}
	return true
}

// ofTests is true for tests and what stands in their places.
func (sv *survey) ofTests(f *file) bool {
	if f.test {
		return true
	}
	_, place := testPlace(f.path)
	_, tool := toolPlace(f.path)
	return place || tool
}

func within(p, root string) bool { return strings.HasPrefix(p, root+"/") }

// workspaceHelpers finds packages of a workspace that the others name among
// what they are developed with and nowhere else, and that tests alone import: they
// are helpers of tests, though a manifest names their entry.
func (sv *survey) workspaceHelpers() {
	dirs, shipped := map[string]string{}, map[string]bool{}
	developed := map[string]bool{}
	for _, p := range sv.paths {
		if path.Base(p) != "package.json" || foreign(p) {
			continue
		}
		var about struct{ Name string }
		if json.Unmarshal(sv.content(p), &about) == nil && about.Name != "" && path.Dir(p) != "." {
			dirs[about.Name] = path.Dir(p)
		}
		for name := range jsonNames(sv.content(p), "devDependencies") {
			developed[name] = true
		}
		for name := range jsonNames(sv.content(p), "dependencies", "peerDependencies", "optionalDependencies") {
			shipped[name] = true
		}
	}
	for name, dir := range dirs {
		if !developed[name] || shipped[name] || !sv.importedByTests(name, dir) {
			continue
		}
		for _, p := range sv.paths {
			if f := sv.files[p]; within(p, dir) && f.sort == sourceSort && !f.test {
				f.test, f.why = true, sv.is(Evidence, RuleImported, "only tests import %s", name)
			}
		}
	}
}

// importedByTests says that tests, and nothing else outside of its folder, import a
// package of the tree, and that none of its own is named after it.
func (sv *survey) importedByTests(name, dir string) bool {
	by := false
	for _, p := range sv.paths {
		f := sv.files[p]
		if within(p, dir) {
			if f.sort == sourceSort && !f.test && sv.subjects[stemOf(p)] {
				return false
			}
			continue
		}
		for _, l := range f.loose {
			if l.of == name {
				if !sv.ofTests(f) {
					return false
				}
				by = true
			}
		}
	}
	return by
}
