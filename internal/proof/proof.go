package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"forge/internal/pathglob"
)

// Tree is one state of a project's files.
type Tree interface {
	// Paths are those of all files, sorted, with slashes.
	Paths() []string
	// Read returns the content of a file, of a link its target. The error is
	// fs.ErrNotExist when the path is not there.
	Read(path string) ([]byte, error)
}

// Settings are the owner's words and what the proof runs.
type Settings struct {
	Product, Evidence []string // globs of [proof], read as in .gitignore; Evidence is the stronger word
	Commands          []string // verify commands, setup commands
	Opened            []string // paths that the base's proof opened; nil = it was not traced
}

// Class is what a path is to the proof.
type Class string

// The classes.
const (
	Product  Class = "product"
	Evidence Class = "evidence"
	Parts    Class = "parts" // a manifest, a lock file, a source file with tests in it
)

// The rules that Seen.Rule names.
const (
	RuleOwner      = "owner"             // globs of [proof]
	RuleTestFile   = "test-file"         // by its name, its folder or its content
	RuleCollected  = "collected"         // by a pattern of the runner's own settings
	RuleSetting    = "runner-setting"    // settings of a runner, a build, an interpreter, CI
	RuleVerify     = "named-by-verify"   // by a verify command or a script that it starts
	RuleSettings   = "named-by-settings" // by settings or a manifest
	RuleByTests    = "named-by-tests"    // as a path in a test
	RuleImported   = "imported-by-tests" // and by nothing else
	RuleOpened     = "opened-by-proof"   // by the base's proof, and no product names it
	RuleShadows    = "shadows"           // stands in the place of a runner, a library, or a file of evidence
	RuleDot        = "dot-file"          // hidden files are settings
	RuleTool       = "tool-place"        // scripts outside of the source
	RuleUnknown    = "unknown"           // nothing here knows it
	RuleSource     = "source"
	RuleAsset      = "asset"
	RuleDocument   = "document"
	RuleManifest   = "manifest"
	RuleLock       = "lock"
	RuleInlineTest = "tests-inside"
)

// Seen is how a path is seen, and why.
type Seen struct {
	Path  string `json:"path"`
	Class Class  `json:"class"`
	Rule  string `json:"rule"` // short and stable: RuleOwner and its kin
	Why   string `json:"why"`  // one sentence for people
}

// Map answers for any path by what one trusted state says. It is a value that
// nothing changes once it is made.
type Map struct {
	facts
	product, evidence, patterns pathglob.Matcher
	expressions                 []*regexp.Regexp
}

// facts are what a Map keeps: all of it is of the trusted state.
type facts struct {
	Version  int             `json:"version"`
	Product  []string        `json:"product,omitempty"`
	Evidence []string        `json:"evidence,omitempty"`
	Files    map[string]Seen `json:"files"`
	// Places are folders whose files are evidence, new ones among them.
	Places map[string]Seen `json:"places,omitempty"`
	// Patterns are globs, and Expressions regular expressions, of what the
	// runners collect by their own settings.
	Patterns    []string `json:"patterns,omitempty"`
	Expressions []string `json:"expressions,omitempty"`
	// SourceFolders hold product source, or a folder that does.
	SourceFolders map[string]bool `json:"source_folders,omitempty"`
	// ProductNames are files and folders that product source names.
	ProductNames map[string]string `json:"product_names,omitempty"`
	// Outside are the names that sources import and that the tree does not
	// have, by language; with the manifests' dependencies.
	Outside map[string]map[string]bool `json:"outside,omitempty"`
	// Reached are those of Outside that tests import.
	Reached map[string]map[string]bool `json:"reached,omitempty"`
	// LoadRoots are folders that imports begin at, by language.
	LoadRoots map[string]map[string]bool `json:"load_roots,omitempty"`
	// Modules are the evidence files that can be imported, by path without
	// ending.
	Modules map[string]string `json:"modules,omitempty"`
	// GoModules are the paths of Go's modules, by the folder of their go.mod.
	GoModules map[string]string `json:"go_modules,omitempty"`
	// DocTests says, by language, that examples in comments are run.
	DocTests map[string]bool `json:"doc_tests,omitempty"`
}

const factsVersion = 1

// JSON is the map as ReadMap reads it.
func (m *Map) JSON() ([]byte, error) {
	out, err := json.Marshal(m.facts)
	if err != nil {
		return nil, fmt.Errorf("write map of evidence: %w", err)
	}
	return out, nil
}

// ReadMap reads what JSON wrote. It refuses one of another version.
func ReadMap(data []byte) (*Map, error) {
	m := &Map{}
	if err := json.Unmarshal(data, &m.facts); err != nil {
		return nil, fmt.Errorf("read map of evidence: %w", err)
	}
	if m.Version != factsVersion || m.Files == nil {
		return nil, fmt.Errorf("read map of evidence: version %d is not known", m.Version)
	}
	return m, m.compile()
}

func (m *Map) compile() error {
	var err error
	if m.product, err = pathglob.New(m.facts.Product); err != nil {
		return fmt.Errorf("[proof] product: %w", err)
	}
	if m.evidence, err = pathglob.New(m.facts.Evidence); err != nil {
		return fmt.Errorf("[proof] evidence: %w", err)
	}
	if m.patterns, err = pathglob.New(m.Patterns); err != nil {
		return err
	}
	m.expressions = nil
	for _, one := range m.Expressions {
		e, err := regexp.Compile(one)
		if err != nil {
			return fmt.Errorf("compile pattern of tests: %w", err)
		}
		m.expressions = append(m.expressions, e)
	}
	return nil
}

// See says what a path is. snapshot is its content in the snapshot, nil where
// it is not there.
func (m *Map) See(file string, snapshot []byte) Seen {
	if file == "" || path.Clean(file) != file || strings.HasPrefix(file, "/") || strings.HasPrefix(file, "../") || file == ".." || strings.ContainsRune(file, 0) {
		return Seen{file, Evidence, RuleUnknown, "no path of a file in the tree"}
	}
	seen, known := m.Files[file]
	if !known {
		seen = m.seeNew(file, snapshot)
	}
	seen.Path = file
	if seen.Class == Product && m.holdsTests(file, snapshot) {
		return Seen{file, Parts, RuleInlineTest, "it holds tests, which are evidence at their lines"}
	}
	return seen
}

func (m *Map) is(class Class, rule, format string, args ...any) Seen {
	return Seen{Class: class, Rule: rule, Why: fmt.Sprintf(format, args...)}
}

// seeNew sees a path that the trusted state does not have: by its place and
// name, and by its content where that makes it evidence.
func (m *Map) seeNew(file string, content []byte) Seen {
	if name, ok := m.newVendored(file); ok && !m.evidence.Match(file) {
		return m.is(Product, RuleSource, "%s is new among the vendored modules, and no test imports it", name)
	}
	if seen, ok := m.byName(file); ok {
		return seen
	}
	if seen, ok := m.shadow(file); ok {
		return seen
	}
	if place, ok := m.place(file); ok {
		return place
	}
	switch sortOf(file) {
	case lockSort:
		if path.Base(file) == "go.sum" && m.Files[path.Join(path.Dir(file), "go.mod")].Rule == RuleManifest {
			return m.is(Parts, RuleLock, "new packages of a lock file are read one by one")
		}
		return m.is(Evidence, RuleSetting, "a new lock file says where packages come from")
	case manifestSort:
		return m.is(Evidence, RuleSetting, "a new manifest changes what is built and tested below it")
	case sourceSort:
		return m.newSource(file, content)
	case assetSort:
		return m.is(Product, RuleAsset, "%s files are assets", path.Ext(file))
	case dataSort:
		if dir, ok := m.assetFolder(file); ok {
			return m.is(Product, RuleAsset, "it stands in %s", dir)
		}
		if by, ok := m.namedByProduct(file); ok {
			return m.is(Product, RuleAsset, "%s names it", by)
		}
		return m.is(Evidence, RuleUnknown, "data or settings outside of source and asset folders")
	case documentSort:
		return m.is(Product, RuleDocument, "a document")
	}
	if path.Ext(file) == "" && bytes.HasPrefix(content, []byte("#!")) {
		return m.newSource(file, content)
	}
	return m.is(Evidence, RuleUnknown, "no source, asset or document that is known here")
}

// newSource sees a source file that nothing of the trusted state reaches.
func (m *Map) newSource(file string, content []byte) Seen {
	if lib := testLibrary(languageOf(file, content), content); lib != "" {
		return m.is(Evidence, RuleTestFile, "it uses %s", lib)
	}
	if dir, ok := toolPlace(file); ok && !m.SourceFolders[path.Dir(file)] {
		return m.is(Evidence, RuleTool, "scripts in %s are no product", dir)
	}
	if isShell(file, content) && !m.sourcePlace(file) {
		return m.is(Evidence, RuleTool, "a script outside of the source")
	}
	return m.is(Product, RuleSource, "source that no evidence reaches")
}

// byName sees what needs no more than the path: the owner's words, what
// runners collect, and settings.
func (m *Map) byName(file string) (Seen, bool) {
	base := path.Base(file)
	switch {
	case m.evidence.Match(file):
		return m.is(Evidence, RuleOwner, "[proof] evidence names it"), true
	case m.product.Match(file):
		return m.is(Product, RuleOwner, "[proof] product names it"), true
	}
	if what, ok := loadable(file); ok {
		return m.is(Evidence, RuleShadows, "%s is loaded in the place of others", what), true
	}
	for _, part := range strings.Split(file, "/") {
		if strings.HasPrefix(part, ".") {
			return m.is(Evidence, RuleDot, "%s: hidden files are settings", part), true
		}
	}
	if m.collected(file) {
		return m.is(Evidence, RuleCollected, "the runner's settings collect it"), true
	}
	if sortOf(file) == toolSort && !m.appSetting(file) {
		return m.is(Evidence, RuleSetting, "%s decides what tools do", base), true
	}
	if isTestName(base) {
		return m.is(Evidence, RuleTestFile, "its name is that of a test"), true
	}
	if dir, ok := testPlace(file); ok && !(vagueFolders[strings.ToLower(path.Base(dir))] && m.SourceFolders[dir]) {
		return m.is(Evidence, RuleTestFile, "%s is a folder of tests", dir), true
	}
	return Seen{}, false
}

// collected asks the patterns of the runners' own settings.
func (m *Map) collected(file string) bool {
	if m.patterns.Match(file) {
		return true
	}
	return slices.ContainsFunc(m.expressions, func(e *regexp.Regexp) bool { return e.MatchString("/" + file) })
}

// place asks the folders that the trusted state made evidence.
func (m *Map) place(file string) (Seen, bool) {
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if seen, ok := m.Places[dir]; ok && !(seen.Rule == RuleTool && sortOf(file) == documentSort) {
			return seen, true
		}
		if m.SourceFolders[dir] {
			break
		}
	}
	return Seen{}, false
}
