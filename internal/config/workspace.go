package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"forge/internal/text"
	"forge/internal/work"
)

// Workspace is [workspace].
type Workspace struct {
	Repositories map[string]WorkspaceRepository `toml:"repositories" doc:"Other repositories that phases may work in, by the name that a phase says as its repository. See repositories.md." sample:"api"`
}

// WorkspaceRepository is one [workspace.repositories.<name>].
type WorkspaceRepository struct {
	Path   *string `toml:"path" doc:"Its checkout on this machine: absolute, from ~/, or from the root of this one." sample:"\"../api\"" rule:"filled"`
	Target *string `toml:"target" doc:"The branch that its part of a result is for, which has to be checked out there; whichever is when not set." sample:"\"main\"" rule:"branch"`
}

// Beside is a repository of [workspace], as it is written.
type Beside struct {
	Name   string
	Path   string // absolute
	Target string // "" = the branch that is checked out

	file string
	at   place
}

// Problem is something that is wrong with it, with its line.
func (b Beside) Problem(what, fix string) Problem {
	return Problem{File: b.file, Line: b.at.line, Col: b.at.col, What: dotted([]string{"workspace", "repositories", b.Name}) + " " + what, Fix: fix}
}

// repositoryName is what a repository beside the home may be called: the name is a
// part of folders and of the ids of commands.
var repositoryName = text.Lazy(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// checkWorkspace looks at each repository, file by file.
func (c *Config) checkWorkspace(col *collector) {
	for _, l := range c.layers {
		for _, name := range sortedKeys(l.said.Workspace.Repositories) {
			path := []string{"workspace", "repositories", name}
			bad := func(what, fix string) { col.add(l.file, l.index.find(path), dotted(path)+" "+what, fix) }
			switch {
			case name == work.HomeRepository:
				bad("has the name of the repository that the plan is in", "give it another one")
			case !matches(repositoryName(), name):
				bad("has no usable name", "use up to 40 lower-case letters, digits, - and _")
			case said(c.File.Workspace.Repositories[name].Path) == "":
				bad("has no path", `write path = "../`+name+`", the checkout on this machine`)
			}
		}
	}
	if n := len(c.File.Workspace.Repositories); n > work.MaxRepositories {
		file, at := c.where("workspace", "repositories")
		col.add(file, at, fmt.Sprintf("workspace.repositories are %d", n), fmt.Sprintf("name %d at most", work.MaxRepositories))
	}
}

func matches(r *regexp.Regexp, s string) bool { return r.MatchString(s) }

// Besides are the names of the other repositories that phases may work in.
func (c *Config) Besides() []string { return sortedKeys(c.File.Workspace.Repositories) }

// Beside is the repository that a phase calls by a name.
func (c *Config) Beside(name string) (Beside, bool) {
	of, ok := c.File.Workspace.Repositories[name]
	if !ok {
		return Beside{}, false
	}
	b := Beside{Name: name, Path: c.homePaths([]string{said(of.Path)})[0], Target: said(of.Target)}
	if !filepath.IsAbs(b.Path) {
		b.Path = filepath.Join(c.Root, b.Path)
	}
	b.file, b.at = c.where("workspace", "repositories", name)
	return b, true
}

// repository refuses a phase in a repository that nobody named, and one that could
// not be worked on there.
func (r *resolver) repository(ph work.Phase, ps work.PhaseSettings, where func(string) (string, place)) {
	if ph.Repository == "" {
		return
	}
	file, at := where("repository")
	bad := func(what, fix string) {
		r.add(file, at, "phase "+text.Clip(ph.Number, mostQuoted)+": "+what, fix)
	}
	names := sortedKeys(r.cfg.File.Workspace.Repositories)
	switch {
	case ph.Repository == work.HomeRepository:
		bad("the repository that the plan is in needs no name", "leave repository out")
	case !slices.Contains(names, ph.Repository):
		bad(fmt.Sprintf("there is no repository %q", text.Clip(ph.Repository, mostQuoted)), suggest(ph.Repository, names)+"; repositories are named in [workspace] of "+ProjectFile)
	case ps.Tries > 1:
		bad("it is tried several times, which a phase in another repository cannot be", "leave tries or repository out")
	}
}
