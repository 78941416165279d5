package proof

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"forge/internal/pathglob"
)

// Survey reads a trusted state once. It fails when a file cannot be read, or a
// glob of the settings is none.
func Survey(t Tree, s Settings) (*Map, error) {
	m := &Map{facts: facts{
		Version: factsVersion, Product: s.Product, Evidence: s.Evidence, Files: map[string]Seen{}, Places: map[string]Seen{},
		SourceFolders: map[string]bool{}, ProductNames: map[string]string{}, Outside: map[string]map[string]bool{},
		Reached: map[string]map[string]bool{}, LoadRoots: map[string]map[string]bool{}, Modules: map[string]string{}, GoModules: map[string]string{}, DocTests: map[string]bool{},
	}}
	if err := m.compile(); err != nil {
		return nil, err
	}
	sv := &survey{Map: m, tree: t, files: map[string]*file{}, folders: map[string]bool{}, named: map[string]Seen{}, entries: map[string]bool{}, done: map[string]bool{}, runs: map[string]bool{}}
	if err := sv.list(); err != nil {
		return nil, err
	}
	sv.readSettings()
	sv.testPackages()
	sv.readCommands(s.Commands)
	sv.patternsDone()
	if sv.failed != nil {
		return nil, sv.failed
	}

	if err := sv.readSources(); err != nil {
		return nil, err
	}
	sv.markTests()
	sv.namedLoosely()
	sv.markProduct()
	sv.sourceFolders()
	sv.classify(s.Opened)
	sv.keep()
	return m, sv.failed
}

// survey is what is known while a trusted state is read.
type survey struct {
	*Map
	tree    Tree
	paths   []string
	files   map[string]*file
	folders map[string]bool // those that hold files, at any depth
	// named are files and folders that settings and commands name.
	named   map[string]Seen
	entries map[string]bool // product by the word of a manifest
	// collect are patterns of the runners' own settings.
	collect  []string
	expr     []string
	classes  map[string][]string // of Java and its kin: files by class name
	done     map[string]bool     // scripts that were read
	subjects map[string]bool     // what tests are named after
	runs     map[string]bool     // sources that commands start, which may be the product
	goTested map[string]bool     // folders of Go packages with tests
	// goPackages are the sources of each, without tests.
	goPackages map[string][]string
	early      map[string]bool              // subjects by names of tests alone
	scripts    map[string]map[string]string // of manifests
	failed     error
}

// file is one path of the trusted state.
type file struct {
	path    string
	sort    sort
	lang    string
	content []byte
	read    bool
	imports []string // files of the tree
	strings []string // that may be paths
	outside []string // imported names that the tree does not have
	loose   []loose  // those of them that settings may lead into the tree
	library string   // the test library that it uses
	asserts bool     // holds assertions
	raises  bool     // fails a test by itself
	test    bool     // tests, and what commands start as such
	why     Seen     // of a test
	product bool     // by the imports
}

func (sv *survey) list() error {
	sv.paths = sv.tree.Paths()
	for _, p := range sv.paths {
		f := &file{path: p, sort: sortOf(p), lang: language(p)}
		sv.files[p] = f
		if f.sort == unknownSort && path.Ext(p) == "" {
			f.lang = languageOf(p, sv.content(p))
			if bytes.HasPrefix(f.content, []byte("#!")) {
				f.sort = sourceSort
			}
		}
		for dir := path.Dir(p); dir != "." && !sv.folders[dir]; dir = path.Dir(dir) {
			sv.folders[dir] = true
		}
	}
	return nil
}

// content reads a file of the tree once; what cannot be read fails the survey.
func (sv *survey) content(p string) []byte {
	f := sv.files[p]
	if f == nil {
		return nil
	}
	if !f.read {
		content, err := sv.tree.Read(p)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && sv.failed == nil {
			sv.failed = fmt.Errorf("read %s of the trusted state: %w", p, err)
		}
		f.content, f.read = content, true
	}
	return f.content
}

// name notes that a path is evidence by the word of settings or commands. The
// first word stays.
func (sv *survey) name(p, rule, format string, args ...any) {
	if _, ok := sv.named[p]; !ok {
		sv.named[p] = sv.is(Evidence, rule, format, args...)
	}
}

// patternsDone compiles what the settings collect.
func (sv *survey) patternsDone() {
	slices.Sort(sv.collect)
	slices.Sort(sv.expr)
	for _, one := range slices.Compact(sv.collect) {
		if _, err := pathglob.New([]string{one}); err == nil {
			sv.Patterns = append(sv.Patterns, one)
		}
	}
	sv.Expressions = slices.Compact(sv.expr)
	if err := sv.compile(); err != nil && sv.failed == nil {
		sv.failed = err
	}
}

// readSources reads what sources import and name.
func (sv *survey) readSources() error {
	sv.classes = map[string][]string{}
	for _, p := range sv.paths {
		if f := sv.files[p]; f.lang == "java" || f.lang == "php" {
			stem := strings.TrimSuffix(path.Base(p), path.Ext(p))
			sv.classes[stem] = append(sv.classes[stem], p)
		}
	}
	mods := sv.goModules()
	for _, m := range mods {
		sv.GoModules[m.dir] = m.name
	}
	for _, p := range sv.paths {
		f := sv.files[p]
		if f.sort != sourceSort && !(f.sort == toolSort && f.lang != "") && f.lang != "shell" || foreign(p) {
			continue
		}
		content := sv.content(p)
		if sv.failed != nil {
			return sv.failed
		}
		sv.readSource(f, content, mods)
	}
	return nil
}

func foreign(p string) bool {
	for _, part := range strings.Split(path.Dir(p), "/") {
		if foreignFolders[strings.ToLower(part)] {
			return true
		}
	}
	return false
}

// markTests finds the files that are tests by name, pattern, content, or since
// a command starts them.
func (sv *survey) markTests() {
	sv.subjects = map[string]bool{}
	imported := map[string]bool{}
	for _, f := range sv.files {
		for _, to := range f.imports {
			imported[to] = true
		}
	}
	for _, p := range sv.paths {
		f := sv.files[p]
		seen, ok := sv.byName(p)
		if ok && seen.Class == Evidence && seen.Rule == RuleTestFile && sv.vague(p) {
			ok = false // the imports tell
		}
		named, isNamed := sv.named[p]
		switch {
		case ok && seen.Rule == RuleOwner && seen.Class == Product:
			f.product = true
			continue
		case ok && seen.Class == Evidence:
			f.test, f.why = true, seen
		case isNamed && sv.runs[p] && (imported[p] || sv.subjectByName(p)):
			// A program that tests know as well is what they test.
			delete(sv.named, p)
		case isNamed && !sv.entries[p]:
			f.test, f.why = true, named
		case f.library != "" && !sv.entries[p]:
			f.test, f.why = true, sv.is(Evidence, RuleTestFile, "it uses %s", f.library)
		}
		if f.test && f.lang != "" {
			for _, s := range subjectsOf(p) {
				sv.subjects[s] = true
			}
		}
	}
}

// vague is true where only a folder's name, which may as well be product's,
// says that a file is a test.
func (sv *survey) vague(p string) bool {
	dir, ok := testPlace(p)
	return ok && vagueFolders[strings.ToLower(path.Base(dir))] && !isTestName(path.Base(p)) && !sv.collected(p)
}

// subjectsOf are the names that a test file may be named after.
func subjectsOf(p string) []string {
	stem := strings.ToLower(path.Base(p))
	stem, _, _ = strings.Cut(stem, ".")
	var out []string
	trimmed := stem
	for _, mark := range []string{"unittest", "tests", "test", "specs", "spec", "it", "case"} {
		for _, sep := range []string{"_", "-", ""} {
			if sep == "" && (mark == "it" || mark == "case" || language(p) != "java" && language(p) != "php") {
				continue
			}
			trimmed = strings.TrimPrefix(strings.TrimSuffix(trimmed, sep+mark), mark+sep)
		}
	}
	if trimmed != "" && trimmed != "index" && trimmed != "main" {
		out = append(out, trimmed)
	}
	if dir, ok := testPlace(p); ok && path.Dir(p) != dir {
		out = append(out, strings.ToLower(path.Base(path.Dir(p))))
	}
	return out
}

// keep makes what is known part of the map, and nothing else.
func (sv *survey) keep() {
	for _, p := range sv.paths {
		f := sv.files[p]
		for _, name := range f.outside {
			note(sv.Outside, f.lang, name)
			if sv.Files[p].Class == Evidence {
				note(sv.Reached, f.lang, name)
			}
		}
		if sv.Files[p].Class == Evidence && f.lang != "" {
			stem := strings.TrimSuffix(p, path.Ext(p))
			sv.Modules[stem] = p
			switch path.Base(stem) {
			case "__init__", "index", "mod":
				sv.Modules[path.Dir(p)] = p
			}
		}
	}
	sv.dependencies()
	sv.loadRoots()
	maps.DeleteFunc(sv.Modules, func(stem, _ string) bool { return stem == "." })
}

func note(table map[string]map[string]bool, key, name string) {
	if table[key] == nil {
		table[key] = map[string]bool{}
	}
	table[key][name] = true
}
