package proof

import (
	"path"
	"slices"
	"strings"
)

// markProduct tells product from modules that only tests import. Product is
// what an entry of a manifest names, what stands below a source root, what a
// test is named after, what nothing imports and no command starts, and what
// product imports. Where a test would be left without anything that it tests,
// what it imports is its subject.
func (sv *survey) markProduct() {
	sv.goTested = map[string]bool{}
	importers := map[string][]string{}
	for _, p := range sv.paths {
		if strings.HasSuffix(p, "_test.go") {
			sv.goTested[path.Dir(p)] = true
		}
		for _, to := range sv.files[p].imports {
			importers[to] = append(importers[to], p)
		}
	}
	var queue []string
	add := func(p string) {
		if f := sv.files[p]; f != nil && !f.test && !f.product {
			f.product = true
			queue = append(queue, p)
		}
	}
	spread := func() {
		for len(queue) > 0 {
			p := queue[0]
			queue = queue[1:]
			for _, to := range sv.files[p].imports {
				add(to)
			}
			if sv.files[p].lang == "go" {
				for _, to := range sv.goFiles(path.Dir(p)) {
					add(to)
				}
			}
		}
	}
	for _, p := range sv.paths {
		f := sv.files[p]
		if f.product {
			queue = append(queue, p)
		}
		if f.sort == sourceSort && !f.test && sv.productByItself(f, importers[sv.importedAs(p)]) {
			add(p)
		}
	}
	spread()
	for _, p := range sv.paths {
		if f := sv.files[p]; f.test && !sv.hasSubject(f) {
			for _, strict := range []bool{true, false} {
				for _, to := range f.imports {
					if _, tool := toolPlace(to); tool {
						continue
					}
					if g := sv.files[to]; g.library == "" && !g.raises && !(strict && g.asserts) && !supportName(to) {
						add(to)
					}
				}
				if sv.hasSubject(f) {
					break
				}
			}
			spread()
		}
	}
}

// hasSubject is true for a test file that imports product, or stands in the
// package that it tests.
func (sv *survey) hasSubject(f *file) bool {
	if f.lang == "" || len(f.imports) == 0 {
		return true
	}
	return slices.ContainsFunc(f.imports, func(to string) bool { return sv.files[to].product })
}

func (sv *survey) productByItself(f *file, importers []string) bool {
	if sv.entries[f.path] {
		return true
	}
	if _, ok := toolPlace(f.path); ok || sv.vague(f.path) || isShell(f.path, f.content) {
		return sv.subjects[stemOf(f.path)] || isShell(f.path, f.content) && sv.sourcePlace(f.path)
	}
	switch {
	case sv.subjects[stemOf(f.path)]:
		return true
	case f.lang == "go" && sv.goTested[path.Dir(f.path)]:
		return true
	case slices.ContainsFunc(strings.Split(path.Dir(f.path), "/"), func(part string) bool {
		return sourceRoots[strings.ToLower(part)] && part != "pkg" && part != "internal"
	}):
		// Product asserts what it takes for granted; it does not fail tests.
		return !f.raises || len(importers) == 0
	}
	return len(importers) == 0
}

// importedAs is the path that stands for p in imports: of a Go package its
// first file.
func (sv *survey) importedAs(p string) string {
	if all := sv.goFiles(path.Dir(p)); strings.HasSuffix(p, ".go") && len(all) > 0 {
		return all[0]
	}
	return p
}

func stemOf(p string) string {
	base := strings.ToLower(path.Base(p))
	stem, _, _ := strings.Cut(base, ".")
	if stem == "__init__" || stem == "index" || stem == "mod" {
		return strings.ToLower(path.Base(path.Dir(p)))
	}
	return stem
}

// supportName is the weakest of signs, used only between modules that one test
// imports and of which none is known to be product.
func supportName(p string) bool {
	stem := strings.ToLower(path.Base(p))
	for _, sign := range []string{"helper", "support", "assert", "expect", "check", "fixture", "fake", "mock", "stub", "harness", "testing", "testutil", "golden", "verify", "compare"} {
		if strings.Contains(stem, sign) {
			return true
		}
	}
	return false
}

// sourceFolders notes the folders of product source, and those above them.
func (sv *survey) sourceFolders() {
	for _, p := range sv.paths {
		f := sv.files[p]
		if !f.product || f.sort != sourceSort {
			continue
		}
		for dir := path.Dir(p); dir != "." && !sv.SourceFolders[dir]; dir = path.Dir(dir) {
			sv.SourceFolders[dir] = true
		}
	}
}

// classify gives each path of the trusted state its class.
func (sv *survey) classify(opened []string) {
	sv.productNames()
	tests := sv.testNames()
	traced := map[string]bool{}
	for _, p := range opened {
		traced[clean(p)] = true
	}
	for _, p := range sv.paths {
		sv.Files[p] = sv.classOf(sv.files[p], tests, traced[p])
	}
	sv.places()
}

func (sv *survey) classOf(f *file, tests map[string]string, opened bool) Seen {
	p := f.path
	if seen, ok := sv.byName(p); ok && (seen.Rule == RuleOwner || !f.product) {
		return seen
	}
	if seen, ok := sv.named[p]; ok && !sv.entries[p] && f.sort != manifestSort && f.sort != lockSort {
		return seen
	}
	switch f.sort {
	case manifestSort:
		return sv.is(Parts, RuleManifest, "new dependencies of a manifest are product, all else in it is evidence")
	case lockSort:
		return sv.is(Parts, RuleLock, "new packages of a lock file are product")
	case sourceSort:
		return sv.sourceClass(f)
	case documentSort:
		if by, ok := tests[p]; ok {
			return sv.is(Evidence, RuleByTests, "%s names it", by)
		}
		return sv.is(Product, RuleDocument, "a document")
	case unknownSort, toolSort:
		return sv.is(Evidence, RuleUnknown, "no source, asset or document that is known here")
	}
	return sv.dataClass(f, tests, opened)
}

func (sv *survey) sourceClass(f *file) Seen {
	switch {
	case f.test:
		return f.why
	case f.product:
		return sv.is(Product, RuleSource, "source that no evidence reaches")
	case isShell(f.path, f.content):
		return sv.is(Evidence, RuleTool, "a script outside of the source")
	}
	if seen, ok := sv.byName(f.path); ok {
		return seen
	}
	if dir, ok := toolPlace(f.path); ok {
		return sv.is(Evidence, RuleTool, "scripts in %s are no product", dir)
	}
	return sv.is(Evidence, RuleImported, "only tests import it")
}

// dataClass is for assets and data: who names them decides.
func (sv *survey) dataClass(f *file, tests map[string]string, opened bool) Seen {
	p := f.path
	_, byProduct := sv.ProductNames[p]
	if by, ok := tests[p]; ok && !byProduct {
		if dir, inside := sv.assetFolder(p); !inside || f.sort == dataSort && !sv.SourceFolders[dir] {
			return sv.is(Evidence, RuleByTests, "%s names it", by)
		}
	}
	if by, ok := sv.namedByProduct(p); ok {
		return sv.is(Product, RuleAsset, "%s names it", by)
	}
	if opened && !conventional(p) {
		return sv.is(Evidence, RuleOpened, "the proof of the base opens it, and no product names it")
	}
	if f.sort == assetSort {
		return sv.is(Product, RuleAsset, "%s files are assets", path.Ext(p))
	}
	if dir, ok := sv.assetFolder(p); ok {
		return sv.is(Product, RuleAsset, "it stands in %s", dir)
	}
	return sv.is(Evidence, RuleUnknown, "data or settings outside of source and asset folders")
}

// conventional is true below a folder that frameworks read by its name, which no
// source spells.
func conventional(p string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(p), "/"), func(part string) bool {
		part = strings.ToLower(part)
		return assetFolders[part] || part == "config" || part == "conf" || part == "settings"
	})
}

// places finds the folders in which all that is no document is evidence for a
// reason that new files share.
func (sv *survey) places() {
	mixed := map[string]bool{}
	reason := map[string]Seen{}
	for _, p := range sv.paths {
		seen := sv.Files[p]
		if seen.Rule == RuleDocument {
			continue
		}
		for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
			switch {
			case seen.Class != Evidence || seen.Rule == RuleUnknown || seen.Rule == RuleSetting || seen.Rule == RuleDot || seen.Rule == RuleShadows:
				mixed[dir] = true
			default:
				reason[dir] = seen
			}
		}
	}
	for dir, seen := range reason {
		if !mixed[dir] && !sourceRoots[strings.ToLower(path.Base(dir))] {
			sv.Places[dir] = sv.is(Evidence, seen.Rule, "%s holds evidence alone (%s)", dir, seen.Why)
		}
	}
	for dir, seen := range sv.named {
		if sv.files[dir] == nil && !sv.SourceFolders[dir] {
			sv.Places[dir] = seen
		}
	}
}
