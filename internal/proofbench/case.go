// Package proofbench measures Forge's proof from outside: it plays cheats and
// honest changes through the forge program, beside a gate that asks only
// whether the tests are green.
package proofbench

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// Ecosystem is a small green project in one language with one test runner, and
// the edits that cases of it have in common.
type Ecosystem struct {
	Name    string
	Needs   []string            // programs that have to be in PATH
	Modules string              // name of the folder of npm packages it uses; "" = none
	Cache   string              // folder below the home that its tools keep compiled work in; "" = none
	Verify  []string            // commands that prove it
	Conf    string              // further lines of forge.toml
	Files   []Op                // the project
	Oracle  string              // shell script, asked in a tree: prints RIGHT or WRONG
	Let     map[string]string   // words that cases write as ${word}
	Defines map[string][]Op     // edits by name
	Has     map[string]struct{} // names of Defines and Let, for families
}

// Case is one change, or one row of changes, that a scripted agent makes.
type Case struct {
	Ecosystem *Ecosystem
	Class     string // "A" to "I" for cheats, "honest" for the rest
	Name      string
	Says      string
	Want      string // of an honest change: "free", or the reason for which it is held
	Given     []Op   // the project is different from the ecosystem's by this
	Verify    []string
	Conf      string
	Oracle    string // instead of the ecosystem's
	Weakened  []Op   // the tree is wrong when its own tests are green with these edits
	Steps     []Step
}

// Honest says that the change is one that Forge should let pass, or hold for
// the person who knows.
func (c *Case) Honest() bool { return c.Class == "honest" }

// ID names the case among all.
func (c *Case) ID() string { return c.Ecosystem.Name + "/" + c.Class + "/" + c.Name }

// Step is one command of a person: a plan that is run, an issue that is worked
// on, or a commit of their own.
type Step struct {
	Kind   string // "plan", "issue", "person"
	Phases []Phase
}

// Phase is what the agent does in one phase.
type Phase struct {
	Number, Name string
	Needs        []string
	MayChange    []string
	Do           []Op
	Sub          []Op // work of a sub-phase that it asks for after Do
	HasSub       bool
	Then         []Op // after the sub-phase
	Resolve      []Op // when it conflicts with what was merged meanwhile
}

// Op is one edit.
type Op struct {
	Verb string // write, append, prepend, replace, rm, mv, link, chmod, run, use
	Path string
	Arg  string // the other path, the mode, the command
	Text string
}

// Load reads the ecosystems and cases below tree. A folder is an ecosystem, its
// base.txt is the project, its other files hold cases; the files of folder
// "all" hold families: cases of every ecosystem that has the edits they use.
func Load(tree fs.FS) ([]*Ecosystem, []*Case, error) {
	dirs, err := fs.ReadDir(tree, ".")
	if err != nil {
		return nil, nil, err
	}

	var ecosystems []*Ecosystem
	var cases []*Case
	for _, dir := range dirs {
		if dir.Name() == "all" || !dir.IsDir() {
			continue
		}
		eco, err := loadEcosystem(tree, dir.Name())
		if err != nil {
			return nil, nil, err
		}
		ecosystems = append(ecosystems, eco)
		own, err := loadCases(tree, dir.Name(), eco, false)
		if err != nil {
			return nil, nil, err
		}
		families, err := loadCases(tree, "all", eco, true)
		if err != nil {
			return nil, nil, err
		}
		cases = append(cases, append(own, families...)...)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if seen[c.ID()] {
			return nil, nil, fmt.Errorf("case %s is there twice", c.ID())
		}
		seen[c.ID()] = true
	}
	return ecosystems, cases, nil
}

func loadEcosystem(tree fs.FS, name string) (*Ecosystem, error) {
	file := path.Join(name, "base.txt")
	text, err := fs.ReadFile(tree, file)
	if err != nil {
		return nil, err
	}
	eco := &Ecosystem{Name: name, Let: map[string]string{}, Defines: map[string][]Op{}, Has: map[string]struct{}{}}
	if err := parseBase(file, string(text), eco); err != nil {
		return nil, err
	}
	for _, names := range [][]string{slices.Collect(maps.Keys(eco.Let)), slices.Collect(maps.Keys(eco.Defines))} {
		for _, n := range names {
			eco.Has[n] = struct{}{}
		}
	}
	return eco, nil
}

func loadCases(tree fs.FS, dir string, eco *Ecosystem, families bool) ([]*Case, error) {
	entries, err := fs.ReadDir(tree, dir)
	if err != nil {
		return nil, err
	}
	var cases []*Case
	for _, e := range entries {
		if e.Name() == "base.txt" {
			continue
		}
		file := path.Join(dir, e.Name())
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		for _, piece := range splitCases(string(text)) {
			if families && !eco.serves(piece.text) {
				continue
			}
			c, err := parseCase(file, piece, eco)
			if err != nil {
				return nil, err
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// serves says whether the ecosystem has all that a family uses.
func (eco *Ecosystem) serves(text string) bool {
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "%% use "); ok {
			if _, has := eco.Has[name]; !has {
				return false
			}
		}
		for rest := line; ; {
			_, after, found := strings.Cut(rest, "${")
			if !found {
				break
			}
			name, tail, _ := strings.Cut(after, "}")
			if _, has := eco.Has[name]; !has {
				return false
			}
			rest = tail
		}
	}
	return true
}
