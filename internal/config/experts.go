package config

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"forge/gates"
	texts "forge/internal/text"
)

// ExpertFolder holds a project's own experts, one folder each, relative to the
// checkout.
const ExpertFolder = ".forge/experts"

//go:embed experts/*.md
var builtInExperts embed.FS

// Expert is who does a job: a prompt, and what its jobs begin with.
type Expert struct {
	Name    string
	About   string
	Level   string // the preset of its jobs
	Agent   string // "" = the project's
	Model   string // "" = the agent's
	Budget  int    // iterations of a phase; 0 = the project's
	Prompt  string
	File    string // its config.toml as shown to the user; "" = it has none
	BuiltIn bool
}

// expertFile is the config.toml of an expert.
type expertFile struct {
	About  *string `toml:"about" rule:"filled"`
	Level  *string `toml:"level" rule:"filled"`
	Agent  *string `toml:"agent" rule:"filled"`
	Model  *string `toml:"model" rule:"filled"`
	Budget *int    `toml:"budget" rule:"min=1 max=100000"`
}

// Expert is the expert of that name: the project's own, else the built-in one.
// The error is *Problems.
func (c *Config) Expert(name string) (Expert, error) {
	col := &collector{}
	own, names, err := c.ownExperts(col)
	defer own.close()
	switch {
	case err != nil:
		return Expert{}, err
	case slices.Contains(names, name):
		e := c.readExpert(col, own.root, name)
		return e, col.err()
	case slices.Contains(gates.Experts(), name):
		return builtInExpert(name), nil
	}
	c.noExpert(col, name, names)
	return Expert{}, col.err()
}

// noExpert says that nobody has that name, and where the configuration says it.
func (c *Config) noExpert(col *collector, name string, own []string) {
	for _, known := range gates.Experts() {
		if !slices.Contains(own, known) {
			own = append(own, known)
		}
	}
	file, at, what := "", place{}, "there is no expert"
	if said := c.File.Job.Expert; said != nil && *said == name {
		file, at = c.where("job", "expert")
		what = "job.expert: " + what
	}
	col.add(file, at, fmt.Sprintf("%s %q", what, texts.Clip(name, mostQuoted)), suggest(name, own))
}

// Experts are all that a job may name, the built-in ones first. The error is
// *Problems; an expert that [job] names and that is not there is one.
func (c *Config) Experts() ([]Expert, error) {
	col := &collector{}
	own, names, err := c.ownExperts(col)
	defer own.close()
	if err != nil {
		return nil, err
	}
	var out []Expert
	for _, name := range gates.Experts() {
		if !slices.Contains(names, name) {
			out = append(out, builtInExpert(name))
		}
	}
	for _, name := range names {
		out = append(out, c.readExpert(col, own.root, name))
	}
	if said := c.File.Job.Expert; said != nil && !slices.ContainsFunc(out, func(e Expert) bool { return e.Name == *said }) {
		c.noExpert(col, *said, names)
	}
	return out, col.err()
}

// checkout is the root of a checkout, which links cannot leave.
type checkout struct{ root *os.Root }

func (o checkout) close() {
	if o.root != nil {
		_ = o.root.Close() // nothing was written through it
	}
}

// ownExperts are the names of the project's own experts.
func (c *Config) ownExperts(col *collector) (checkout, []string, error) {
	root, err := os.OpenRoot(c.Root)
	if err != nil {
		col.add(c.Root, place{}, "cannot be opened: "+cause(err), "name the root of a checkout")
		return checkout{}, nil, col.err()
	}
	entries, err := fs.ReadDir(root.FS(), ExpertFolder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		col.add(ExpertFolder, place{}, "cannot be read: "+cause(err), "make it a readable folder")
		return checkout{root}, nil, col.err()
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return checkout{root}, names, nil
}

func (c *Config) readExpert(col *collector, root *os.Root, name string) Expert {
	folder := ExpertFolder + "/" + name
	e := Expert{Name: name, Level: gates.ExpertLevel(name)}
	if !policyName().MatchString(name) {
		col.add(folder, place{}, "has a name that is no word for an expert", "use small letters, digits, _ and -, a letter first")
		return e
	}
	if info, err := root.Stat(filepath.FromSlash(folder)); err == nil && !info.IsDir() {
		col.add(folder, place{}, "is not a folder", "make it one, with a prompt.md in it")
		return e
	}
	e.File = folder + "/config.toml"
	text, ok, problem := readText(root, filepath.FromSlash(e.File), e.File, MaxTOMLBytes)
	if problem != nil {
		col.problems = append(col.problems, *problem)
	}
	if ok {
		c.readExpertConfig(col, text, &e)
	} else {
		e.File = ""
	}
	file := folder + "/prompt.md"
	prompt, ok, problem := readText(root, filepath.FromSlash(file), file, MaxPromptBytes)
	switch {
	case problem != nil:
		col.problems = append(col.problems, *problem)
	case !ok && slices.Contains(gates.Experts(), name):
		prompt = builtInExpert(name).Prompt // its level or agent alone is changed
	case !ok:
		col.add(file, place{}, "there is no such file", "write what this expert is good at and how it works")
	case strings.TrimSpace(prompt) == "":
		col.add(file, place{}, "is empty", "write what this expert is good at and how it works")
	}
	e.Prompt = strings.TrimSpace(prompt)
	return e
}

func (c *Config) readExpertConfig(col *collector, text string, e *Expert) {
	l := &layer{kind: layerProject, file: e.File}
	tree, idx, problem := decodeTOML(text)
	if problem != nil {
		problem.File = e.File
		col.problems = append(col.problems, *problem)
		return
	}
	l.index = idx
	var f expertFile
	b := &binder{collector: col, layer: l, top: "config.toml"}
	b.table(tree, reflect.ValueOf(&f).Elem(), nil)
	if level := said(f.Level); level != "" {
		if _, ok := c.policies.catalogue.Preset(level); !ok {
			col.add(e.File, idx.find([]string{"level"}), fmt.Sprintf("level is %q, which is no preset", texts.Clip(level, mostQuoted)), suggest(level, c.policies.catalogue.Names()))
		}
		e.Level = level
	}
	e.About, e.Agent, e.Model, e.Budget = said(f.About), said(f.Agent), said(f.Model), said(f.Budget)
}

func builtInExpert(name string) Expert {
	text, err := builtInExperts.ReadFile("experts/" + name + ".md")
	if err != nil {
		return Expert{Name: name} // each name of gates.Experts has its file: a test holds it
	}
	about, _, _ := strings.Cut(string(text), ".")
	return Expert{Name: name, About: about + ".", Level: gates.ExpertLevel(name), Prompt: strings.TrimSpace(string(text)), BuiltIn: true}
}
