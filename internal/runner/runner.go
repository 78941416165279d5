// Package runner asks a project's test runners directly which tests there are
// and what became of each, by name, and changes sources so that the answer has
// to change: tests that must fail, expectations made wrong, functions without
// their body. It has no effects: it says what to run and reads what came of it.
package runner

import (
	"path"
	"slices"
	"strings"
)

// Tree is one state of a project's files.
type Tree interface {
	// Paths returns all files, sorted, with slashes.
	Paths() []string
	// Read returns the content of a file, fs.ErrNotExist when it is not there.
	Read(path string) ([]byte, error)
}

// Ask is one way to ask one runner for the tests below one folder.
type Ask struct {
	Runner string // name of its row
	Dir    string // below the tree, "." = its top
	// Command is for sh, run in Dir. {out} stands for a folder outside of the
	// tree that is made for this run. HOME is one whose caches were filled by
	// runs of accepted work only.
	Command string
	// Files are written to {out} before, by name.
	Files map[string]string
	Tests []string // files that it collects, from the top
}

// Key names the ask among those of one tree.
func (a Ask) Key() string { return a.Runner + " in " + a.Dir }

// Kind is one test runner.
type Kind struct {
	Name string
	// Find returns how to ask it in a tree; nil when it is not used there.
	Find func(*Project) []Ask
	// Parse reads what the run wrote into {out}, by name. It never fails: what
	// cannot be read is not reported.
	Parse func(files map[string][]byte) Report
	// Plant returns a new test file beside the test file at path, with one test
	// whose name contains word and that fails. ok is false where it cannot.
	Plant func(path string, sample []byte, word string) (file, text string, ok bool)
	// Own recognises the words of its own call; nil = none is recognised.
	Own func(words []string) (Own, bool)
}

// Kinds are all runners that can be asked. The order is that of reports.
func Kinds() []Kind {
	return []Kind{
		goKind(), pytestKind(), unittestKind(), nodeKind(), vitestKind(), jestKind(), mochaKind(),
		cargoKind(), nextestKind(), minitestKind(), rspecKind(), phpunitKind(), junitKind(), ctestKind(),
		batsKind(), tapKind(),
	}
}

// Lookup returns the runner called name.
func Lookup(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

// Find returns how to ask the runners of a project. The tree has to be one
// whose evidence is trusted: what it says decides what is run.
func Find(t Tree, commands []string) []Ask {
	p := newProject(t, commands)
	var all []Ask
	for _, k := range Kinds() {
		all = append(all, k.Find(p)...)
	}
	return all
}

// Project is what the runners look at to find whether they are used.
type Project struct {
	Tree     Tree
	Paths    []string
	Commands []string // the verify commands, then what they call: scripts, targets
	texts    map[string]string
}

func newProject(t Tree, commands []string) *Project {
	p := &Project{Tree: t, texts: map[string]string{}}
	for _, f := range t.Paths() {
		if !foreign(f) {
			p.Paths = append(p.Paths, f)
		}
	}
	p.Commands = p.unwrap(commands)
	return p
}

// foreign says whether path lies in a folder of packages that others wrote.
func foreign(file string) bool {
	for _, part := range strings.Split(path.Dir(file), "/") {
		switch part {
		case "node_modules", "vendor", ".git", ".venv", "venv", "site-packages", "target", "__pycache__":
			return true
		}
	}
	return false
}

// Text returns the content of a file, "" when it is not there.
func (p *Project) Text(file string) string {
	if text, ok := p.texts[file]; ok {
		return text
	}
	data, err := p.Tree.Read(file)
	if err != nil {
		data = nil // said to be absent: a file that cannot be read finds no runner
	}
	p.texts[file] = string(data)
	return string(data)
}

// Has says whether there is a file.
func (p *Project) Has(file string) bool {
	_, ok := slices.BinarySearch(p.Paths, file)
	return ok
}

// Below returns the files below dir that match.
func (p *Project) Below(dir string, match func(string) bool) []string {
	var found []string
	for _, f := range p.Paths {
		if below(f, dir) && match(f) {
			found = append(found, f)
		}
	}
	return found
}

func below(file, dir string) bool {
	return dir == "." || strings.HasPrefix(file, dir+"/")
}

// quote makes text one word of sh.
func quote(text string) string {
	if text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%", r)
	}) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}
