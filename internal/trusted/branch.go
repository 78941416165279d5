// Package trusted holds the evidence at the head of a branch against what of it a
// person last accepted.
package trusted

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/config"
	"forge/internal/evidence"
	"forge/internal/project"
	"forge/internal/proof"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// Branch is the trusted state of a branch beside its head.
type Branch struct {
	p        *project.Checkout
	e        *project.Machine
	settings work.EvidenceRequest
	target   string // "" = no branch is checked out
	head     string
	trusted  string // its content at head
}

// Open finds both for a branch, "" = what is checked out.
func Open(ctx context.Context, p *project.Checkout, target string) (*Branch, error) {
	b := &Branch{p: p, target: cmp.Or(target, p.Base.Branch), head: p.Base.Commit}
	plan, err := p.Plan()
	if errors.Is(statPlan(p), fs.ErrNotExist) {
		plan, err = config.NewPlan(work.Plan{Phases: []work.Phase{{Number: "01", Name: "none", Promise: "NONE"}}}), nil
	}
	if err != nil {
		return nil, err
	}
	set, err := config.Resolve(p.Config, plan, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return nil, err
	}
	b.settings = project.EvidenceSettings(set)
	if b.e, err = p.Machine(ctx); err != nil {
		return nil, err
	}
	if target != "" {
		if b.head, err = b.e.Repo.BranchHead(ctx, target); err != nil || b.head == "" {
			return nil, errors.Join(err, refusal.New("git branch lists them", "there is no branch %q", target))
		}
	}
	b.trusted, err = b.e.Evidence.Current(ctx, b.target, b.head, b.settings)
	return b, err
}

func statPlan(p *project.Checkout) error {
	_, err := os.Stat(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(project.PlanFile)))
	return err
}

// Shown is what of a branch was asked about: forge evidence --output json.
type Shown struct {
	Target  string       `json:"target"` // "" where no branch is checked out
	Head    string       `json:"head"`
	Counts  []Count      `json:"counts"`          // over all files
	Files   []proof.Seen `json:"files,omitempty"` // those asked about, or all
	Differs []Diff       `json:"differs"`         // of the files asked about, or of all
}

// Count is how many files one rule sees as one class.
type Count struct {
	Class proof.Class `json:"class"`
	Rule  string      `json:"rule"`
	Files int         `json:"files"`
}

// Diff is evidence that is not as a person last accepted it.
type Diff struct {
	Path   string `json:"path"`
	How    string `json:"how"`              // new, changed, removed
	Was    int    `json:"was_lines"`        // of the content that was accepted
	Now    int    `json:"now_lines"`        // of the one at the head
	Commit string `json:"commit,omitempty"` // the last one that changed it
	Run    string `json:"run,omitempty"`    // whose commit that is
	What   string `json:"subject,omitempty"`
}

// Show says how files are seen: those below paths, or with all every one, and
// which of them nobody has accepted as they are.
func (b *Branch) Show(ctx context.Context, paths []string, all bool) (Shown, error) {
	picked, err := b.pick(paths)
	if err != nil {
		return Shown{}, err
	}
	shown := Shown{Target: b.target, Head: b.head, Counts: []Count{}, Differs: []Diff{}}
	files, err := b.e.Repo.Files(ctx, b.head)
	if err != nil {
		return shown, err
	}
	wanted := files
	if len(paths) > 0 {
		wanted = slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !picked(file) })
		for _, name := range paths {
			one, _ := b.name(name)
			if !slices.ContainsFunc(wanted, func(file string) bool { return below(file, one) }) {
				wanted = append(wanted, one) // not there: as it would be seen
			}
		}
	}
	seen, err := b.e.Evidence.See(ctx, b.trusted, b.head, b.settings, wanted)
	if err != nil {
		return shown, err
	}
	shown.Counts = countSeen(seen)
	if all || len(paths) > 0 {
		shown.Files = seen
	}
	shown.Differs, err = b.differs(ctx, picked)
	return shown, err
}

// differs is the evidence at the head that nobody has accepted.
func (b *Branch) differs(ctx context.Context, picked func(string) bool) ([]Diff, error) {
	changes, err := b.e.Repo.Changes(ctx, b.trusted, b.head)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c work.FileChange) bool { return !picked(c.Path) })
	return b.diffsOf(ctx, changes)
}

// diffsOf says of changes since when they stand at the head.
func (b *Branch) diffsOf(ctx context.Context, changes []work.FileChange) ([]Diff, error) {
	out := []Diff{}
	for _, c := range changes {
		last, err := b.e.Repo.LastTouched(ctx, b.head, c.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, Diff{
			Path: c.Path, How: howWord(c.Status), Was: b.lines(ctx, b.trusted, c.Path), Now: b.lines(ctx, b.head, c.Path),
			Commit: last.ID, What: text.FirstLine(last.Message, 72), Run: runNamed(last.Message),
		})
	}
	return out, nil
}

// lines counts those of a file; 0 for one that is not there or too large to be
// read.
func (b *Branch) lines(ctx context.Context, commit, path string) int {
	data, _ := b.e.Repo.Show(ctx, commit, path)
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// runNamed is the run that a commit of Forge's names.
func runNamed(message string) string {
	for _, line := range strings.Split(message, "\n") {
		if run, ok := strings.CutPrefix(strings.TrimSpace(line), evidence.ForgeTrailer); ok {
			return strings.TrimSpace(run)
		}
	}
	return ""
}

func howWord(status string) string {
	switch status {
	case "A":
		return "new"
	case "D":
		return "removed"
	}
	return "changed"
}

// pick says which paths are meant: files, and folders with all below them.
func (b *Branch) pick(paths []string) (func(string) bool, error) {
	if len(paths) == 0 {
		return func(string) bool { return true }, nil
	}
	var names []string
	for _, p := range paths {
		name, err := b.name(p)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return func(file string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return below(file, name) })
	}, nil
}

func below(file, name string) bool {
	return name == "." || file == name || strings.HasPrefix(file, name+"/")
}

// name is a path as git has it: from where the command is called, as elsewhere.
func (b *Branch) name(given string) (string, error) {
	full := given
	if !filepath.IsAbs(full) {
		full = filepath.Join(b.p.Dir, given)
	}
	root := b.p.Base.RepoRoot
	if dir, err := filepath.EvalSymlinks(filepath.Dir(full)); err == nil {
		full = filepath.Join(dir, filepath.Base(full))
	}
	rel, err := filepath.Rel(root, full)
	rel = filepath.ToSlash(rel)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", refusal.New("name files of "+root, "%s is not in this checkout", given)
	}
	return path.Clean(rel), nil
}

// countSeen counts files by class and rule, the most first.
func countSeen(all []proof.Seen) []Count {
	by := map[Count]int{}
	for _, seen := range all {
		by[Count{Class: seen.Class, Rule: seen.Rule}]++
	}
	out := []Count{}
	for one, n := range by {
		one.Files = n
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.Files, a.Files), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

// Accepted is what of a branch is trusted now: forge evidence accept --output json.
type Accepted struct {
	Target   string `json:"target"`
	Head     string `json:"head"`
	Accepted []Diff `json:"accepted"`
}

// Accept trusts what lies below paths as it is at the head; without paths, all.
// Where nothing ever ran, all is as people left it.
func (b *Branch) Accept(ctx context.Context, paths []string) (Accepted, error) {
	out := Accepted{Target: b.target, Head: b.head}
	if b.target == "" {
		return out, refusal.New("name one with --target, or check one out", "no branch is checked out")
	}
	picked, err := b.pick(paths)
	if err != nil {
		return out, err
	}
	var moved []work.FileChange
	ran, err := b.p.OpenStore(ctx, false)
	if err == nil && ran {
		err = b.p.CheckKey()
	}
	if err == nil && ran {
		moved, err = b.e.Evidence.AcceptPaths(ctx, b.target, b.head, b.settings, picked)
	}
	if err != nil {
		return out, err
	}
	out.Accepted, err = b.diffsOf(ctx, moved)
	return out, err
}
