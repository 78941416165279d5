package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"forge/internal/config"
	"forge/internal/evidence"
	"forge/internal/project"
	"forge/internal/proof"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

func (a *App) evidenceCommand() *cli.Command {
	return &cli.Command{
		Name: "evidence", Usage: "show which files the proof rests on, and what of them nobody has accepted", ArgsUsage: "[PATH...]",
		Description: "With paths, files or folders: how each is seen, and why. The rules read the evidence that a person last accepted.",
		Flags: []cli.Flag{
			targetFlag(),
			&cli.BoolFlag{Name: "all", Usage: "list every file"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Bool("all") && c.Args().Present() {
				return refusal.New("leave one of them out", "forge evidence takes paths or --all, not both")
			}
			return a.showEvidence(c.Context, evidenceOptions{target: c.String("target"), paths: c.Args().Slice(), all: c.Bool("all"), json: out == "json"})
		},
		Subcommands: []*cli.Command{a.evidenceAcceptCommand()},
	}
}

func (a *App) evidenceAcceptCommand() *cli.Command {
	return &cli.Command{
		Name: "accept", Usage: "trust evidence as it is at the head of the branch", ArgsUsage: "PATH...",
		Description: "For evidence that agents changed and that you have read. forge evidence lists it.",
		Flags: []cli.Flag{
			targetFlag(),
			&cli.BoolFlag{Name: "all", Usage: "accept all that differs"},
			outputFlag("text", "json"),
		},
		Action: func(c *cli.Context) error {
			out, err := outputOf(c, "text", "json")
			if err != nil {
				return err
			}
			if c.Bool("all") == c.Args().Present() {
				return refusal.New("forge evidence lists what differs", "forge evidence accept takes either paths or --all")
			}
			return a.acceptEvidence(c.Context, evidenceOptions{target: c.String("target"), paths: c.Args().Slice(), all: c.Bool("all"), json: out == "json"})
		},
	}
}

func targetFlag() cli.Flag {
	return &cli.StringFlag{Name: "target", Usage: "by the trusted state of `BRANCH`, else of the one that is checked out"}
}

// evidenceOptions are what both commands take.
type evidenceOptions struct {
	target string // "" = what is checked out
	paths  []string
	all    bool
	json   bool
}

// evidenceOf is the trusted state of a branch beside its head.
type evidenceOf struct {
	p        *checkout
	e        *project.Machine
	settings work.EvidenceRequest
	target   string
	head     string
	trusted  string // its content at head
}

// openEvidence finds both. The caller closes the project.
func (a *App) openEvidence(ctx context.Context, target string) (*evidenceOf, error) {
	p, err := a.openProject(ctx)
	if err != nil {
		return nil, err
	}
	o := &evidenceOf{p: p, target: cmp.Or(target, p.Base.Branch), head: p.Base.Commit}
	if err := o.open(ctx, target != ""); err != nil {
		p.Close()
		return nil, err
	}
	return o, nil
}

func (o *evidenceOf) open(ctx context.Context, named bool) error {
	plan, err := o.p.Plan()
	if errors.Is(statPlan(o.p.Checkout), fs.ErrNotExist) {
		plan, err = config.NewPlan(work.Plan{Phases: []work.Phase{{Number: "01", Name: "none", Promise: "NONE"}}}), nil
	}
	if err != nil {
		return err
	}
	set, err := config.Resolve(o.p.Config, plan, config.Facts{Kinds: project.AgentKinds()})
	if err != nil {
		return err
	}
	o.settings = project.EvidenceSettings(set)
	if o.e, err = o.p.Machine(ctx); err != nil {
		return err
	}
	if named {
		if o.head, err = o.e.Repo.BranchHead(ctx, o.target); err != nil || o.head == "" {
			return errors.Join(err, refusal.New("git branch lists them", "there is no branch %q", o.target))
		}
	}
	o.trusted, err = o.e.Evidence.Current(ctx, o.target, o.head, o.settings)
	return err
}

func statPlan(p *project.Checkout) error {
	_, err := os.Stat(filepath.Join(p.Base.RepoRoot, filepath.FromSlash(project.PlanFile)))
	return err
}

// shownEvidence is forge evidence --output json.
type shownEvidence struct {
	Target  string          `json:"target"` // "" where no branch is checked out
	Head    string          `json:"head"`
	Counts  []evidenceCount `json:"counts"`          // over all files
	Files   []proof.Seen    `json:"files,omitempty"` // those asked about, or all
	Differs []evidenceDiff  `json:"differs"`         // of the files asked about, or of all
}

type evidenceCount struct {
	Class proof.Class `json:"class"`
	Rule  string      `json:"rule"`
	Files int         `json:"files"`
}

// evidenceDiff is evidence that is not as a person last accepted it.
type evidenceDiff struct {
	Path   string `json:"path"`
	How    string `json:"how"`              // new, changed, removed
	Was    int    `json:"was_lines"`        // of the content that was accepted
	Now    int    `json:"now_lines"`        // of the one at the head
	Commit string `json:"commit,omitempty"` // the last one that changed it
	Run    string `json:"run,omitempty"`    // whose commit that is
	What   string `json:"subject,omitempty"`
}

func (a *App) showEvidence(ctx context.Context, opt evidenceOptions) error {
	o, err := a.openEvidence(ctx, opt.target)
	if err != nil {
		return err
	}
	defer o.p.Close()
	picked, err := o.pick(opt.paths)
	if err != nil {
		return err
	}
	shown, err := o.show(ctx, opt, picked)
	if err != nil {
		return err
	}
	if opt.json {
		return printJSON(a.Stdout, shown)
	}
	_, err = fmt.Fprint(a.Stdout, shown.text(opt))
	return err
}

func (o *evidenceOf) show(ctx context.Context, opt evidenceOptions, picked func(string) bool) (shownEvidence, error) {
	shown := shownEvidence{Target: o.target, Head: o.head, Counts: []evidenceCount{}, Differs: []evidenceDiff{}}
	files, err := o.e.Repo.Files(ctx, o.head)
	if err != nil {
		return shown, err
	}
	wanted := files
	if len(opt.paths) > 0 {
		wanted = slices.DeleteFunc(slices.Clone(files), func(file string) bool { return !picked(file) })
		for _, name := range opt.paths {
			one, _ := o.name(name)
			if !slices.ContainsFunc(wanted, func(file string) bool { return below(file, one) }) {
				wanted = append(wanted, one) // not there: as it would be seen
			}
		}
	}
	all, err := o.e.Evidence.See(ctx, o.trusted, o.head, o.settings, wanted)
	if err != nil {
		return shown, err
	}
	shown.Counts = countSeen(all)
	if opt.all || len(opt.paths) > 0 {
		shown.Files = all
	}
	shown.Differs, err = o.differs(ctx, picked)
	return shown, err
}

// differs is the evidence at the head that nobody has accepted.
func (o *evidenceOf) differs(ctx context.Context, picked func(string) bool) ([]evidenceDiff, error) {
	changes, err := o.e.Repo.Changes(ctx, o.trusted, o.head)
	if err != nil {
		return nil, err
	}
	changes = slices.DeleteFunc(changes, func(c work.FileChange) bool { return !picked(c.Path) })
	return o.diffsOf(ctx, changes)
}

// diffsOf says of changes since when they stand at the head.
func (o *evidenceOf) diffsOf(ctx context.Context, changes []work.FileChange) ([]evidenceDiff, error) {
	out := []evidenceDiff{}
	for _, c := range changes {
		last, err := o.e.Repo.LastTouched(ctx, o.head, c.Path)
		if err != nil {
			return nil, err
		}
		out = append(out, evidenceDiff{
			Path: c.Path, How: howWord(c.Status), Was: o.lines(ctx, o.trusted, c.Path), Now: o.lines(ctx, o.head, c.Path),
			Commit: last.ID, What: text.FirstLine(last.Message, 72), Run: runNamed(last.Message),
		})
	}
	return out, nil
}

// lines counts those of a file; 0 for one that is not there or too large to be
// read.
func (o *evidenceOf) lines(ctx context.Context, commit, path string) int {
	data, _ := o.e.Repo.Show(ctx, commit, path)
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
func (o *evidenceOf) pick(paths []string) (func(string) bool, error) {
	if len(paths) == 0 {
		return func(string) bool { return true }, nil
	}
	var names []string
	for _, p := range paths {
		name, err := o.name(p)
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
func (o *evidenceOf) name(given string) (string, error) {
	full := given
	if !filepath.IsAbs(full) {
		full = filepath.Join(o.p.Dir, given)
	}
	root := o.p.Base.RepoRoot
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
func countSeen(all []proof.Seen) []evidenceCount {
	by := map[evidenceCount]int{}
	for _, seen := range all {
		by[evidenceCount{Class: seen.Class, Rule: seen.Rule}]++
	}
	out := []evidenceCount{}
	for one, n := range by {
		one.Files = n
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b evidenceCount) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(b.Files, a.Files), cmp.Compare(a.Rule, b.Rule))
	})
	return out
}

func (s shownEvidence) text(opt evidenceOptions) string {
	var b strings.Builder
	if len(s.Files) > 0 {
		var rows [][]string
		for _, seen := range s.Files {
			rows = append(rows, []string{clean(seen.Path), string(seen.Class), seen.Rule, clean(seen.Why)})
		}
		b.WriteString(text.Table([]string{"PATH", "SEEN AS", "RULE", "WHY"}, rows))
	} else {
		var rows [][]string
		for _, c := range s.Counts {
			rows = append(rows, []string{string(c.Class), c.Rule, fmt.Sprint(c.Files)})
		}
		b.WriteString(text.Table([]string{"SEEN AS", "RULE", "FILES"}, rows))
	}
	on := cmp.Or(s.Target, "the commit that is checked out")
	if len(s.Differs) == 0 {
		fmt.Fprintf(&b, "\nAll of this evidence is as a person last accepted it on %s.\n", clean(on))
		return b.String()
	}
	var rows [][]string
	for _, d := range s.Differs {
		rows = append(rows, []string{"  " + clean(d.Path), d.How, text.Short(d.Commit), cmp.Or(clean(d.Run), "-"), clean(d.What)})
	}
	fmt.Fprintf(&b, "\nNot as a person last accepted it on %s; proofs are held against what was accepted:\n", clean(on))
	b.WriteString(text.Table([]string{"  PATH", "IS", "SINCE", "RUN", "COMMIT"}, rows))
	b.WriteString("\nLook:   git log -p -- PATH\nAccept: forge evidence accept " + s.acceptArgs(opt) + "\n")
	return b.String()
}

// clean is a path or a subject as a cell of a table.
func clean(body string) string { return text.OneLine(body, 120) }

// acceptArgs are what accepts what is shown.
func (s shownEvidence) acceptArgs(opt evidenceOptions) string {
	args := "PATH... | --all"
	if opt.target != "" {
		args += " --target " + opt.target
	}
	return args
}

// acceptedEvidence is forge evidence accept --output json.
type acceptedEvidence struct {
	Target   string         `json:"target"`
	Head     string         `json:"head"`
	Accepted []evidenceDiff `json:"accepted"`
}

func (a *App) acceptEvidence(ctx context.Context, opt evidenceOptions) error {
	o, err := a.openEvidence(ctx, opt.target)
	if err != nil {
		return err
	}
	defer o.p.Close()
	if o.target == "" {
		return refusal.New("name one with --target, or check one out", "no branch is checked out")
	}
	picked, err := o.pick(opt.paths)
	if err != nil {
		return err
	}
	var moved []work.FileChange
	ran, err := o.p.OpenStore(ctx, false) // where nothing ever ran, all is as people left it
	if err == nil && ran {
		err = o.p.CheckKey()
	}
	if err == nil && ran {
		moved, err = o.e.Evidence.AcceptPaths(ctx, o.target, o.head, o.settings, picked)
	}
	if err != nil {
		return err
	}
	out := acceptedEvidence{Target: o.target, Head: o.head}
	if out.Accepted, err = o.diffsOf(ctx, moved); err != nil {
		return err
	}
	if opt.json {
		return printJSON(a.Stdout, out)
	}
	return o.sayAccepted(out)
}

func (o *evidenceOf) sayAccepted(out acceptedEvidence) error {
	stdout := o.p.app.Stdout
	if len(out.Accepted) == 0 {
		_, err := fmt.Fprintf(stdout, "Nothing to accept: the evidence is as a person last accepted it on %s.\n", clean(out.Target))
		return err
	}
	for _, d := range out.Accepted {
		if _, err := fmt.Fprintf(stdout, "accepted %s: %s, from %d line(s) to %d, as in %s %s\n", clean(d.Path), d.How, d.Was, d.Now, text.Short(d.Commit), clean(d.What)); err != nil {
			return err
		}
	}
	return nil
}
