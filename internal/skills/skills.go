package skills

import (
	"fmt"
	"path"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/text"
)

// Bounds of the form that agents read: https://agentskills.io/specification.
const (
	mostName        = 64
	mostDescription = 1024
)

// Book are the skills of a project.
type Book struct {
	Skills []Skill          `json:"skills"`
	Phases []Phase          `json:"phases"` // of the plan, where there is one
	Wrong  []config.Problem `json:"-"`
}

// Skill is one that can be read.
type Skill struct {
	Name        string   `json:"name"`
	File        string   `json:"file"`
	Description string   `json:"description,omitempty"`
	Bytes       int      `json:"bytes"`
	For         []string `json:"for"` // the phases that are given it, in words

	text string
}

// Phase is what a phase of the plan is given to read.
type Phase struct {
	Number string   `json:"number"`
	Name   string   `json:"name"`
	Skills []string `json:"skills"`
	Bytes  int      `json:"bytes"` // of all of them, in each new session
}

// Read reads the skills of p, who is given them, and what is wrong with either. plan
// is nil where there is none.
func Read(p *project.Checkout, plan *config.Plan) (Book, error) {
	out := Book{Skills: []Skill{}, Phases: []Phase{}}
	all, wrong, err := config.ReadSkills(p.Base.RepoRoot)
	if err != nil {
		return out, err
	}
	out.Wrong = wrong
	size := map[string]int{}
	for _, s := range all {
		one := Skill{Name: s.Name, File: s.File, Bytes: len(s.Text), For: []string{}, text: s.Text}
		about, problems := read(s)
		one.Description = about.Description
		out.Wrong = append(out.Wrong, problems...)
		size[s.Name] = one.Bytes
		out.Skills = append(out.Skills, one)
	}
	for _, use := range p.Config.SkillUses(plan) {
		one := out.find(use.Name)
		if one == nil {
			out.Wrong = append(out.Wrong, config.Problem{File: use.File, Line: use.Line, What: fmt.Sprintf("unknown skill %q", text.OneLine(use.Name, 60)), Fix: "forge skills lists them"})
			continue
		}
		one.For = append(one.For, use.For)
	}
	if plan == nil {
		return out, nil
	}
	for _, ph := range plan.Phases {
		one := Phase{Number: ph.Number, Name: ph.Name, Skills: append([]string{}, p.Config.SkillsOf(ph)...)}
		for _, name := range one.Skills {
			one.Bytes += size[name]
		}
		out.Phases = append(out.Phases, one)
	}
	return out, nil
}

func (b *Book) find(name string) *Skill {
	for i := range b.Skills {
		if b.Skills[i].Name == name {
			return &b.Skills[i]
		}
	}
	return nil
}

// about is what stands before the text of a skill.
type about struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
}

// read reads what stands before the text of a skill, between two lines of three
// dashes, and says what is wrong with it.
func read(s config.Skill) (a about, wrong []config.Problem) {
	say := func(line int, what, fix string) {
		wrong = append(wrong, config.Problem{File: s.File, Line: line, What: what, Fix: fix})
	}
	folder := path.Base(s.File) == "SKILL.md"
	if strings.TrimSpace(s.Text) == "" {
		say(0, "is empty", "write what agents are to know")
		return a, wrong
	}
	head, body, has := front(s.Text)
	if !has {
		if folder {
			say(1, "does not say its name and what it is for", "begin with a line ---, name: "+s.Name+", description: …, and a line ---")
		}
		return a, wrong
	}
	if err := yaml.Unmarshal([]byte(head), &a); err != nil {
		say(1, "what stands before the text cannot be read: "+text.OneLine(err.Error(), 120), "write name: and description:, each on a line")
		return about{}, wrong
	}
	a.Description = text.PlainLine(a.Description)
	if folder && a.Name != s.Name {
		say(1, fmt.Sprintf("says that its name is %q, and stands in %q", text.OneLine(a.Name, 60), s.Name), "give both one name")
	}
	if n := utf8.RuneCountInString(a.Name); n > mostName {
		say(1, fmt.Sprintf("its name has %d characters, agents read %d", n, mostName), "make it shorter")
	}
	switch n := utf8.RuneCountInString(a.Description); {
	case n == 0 && folder:
		say(1, "does not say what it is for", "write description: and when it is of use")
	case n > mostDescription:
		say(1, fmt.Sprintf("its description has %d characters, agents read %d", n, mostDescription), "make it shorter")
	}
	if strings.TrimSpace(body) == "" {
		say(0, "has no text", "write what agents are to know")
	}
	return a, wrong
}

// front parts what stands before the text from the text.
func front(s string) (head, body string, ok bool) {
	rest, ok := strings.CutPrefix(strings.ReplaceAll(s, "\r\n", "\n"), "---\n")
	if !ok {
		return "", s, false
	}
	head, body, ok = strings.Cut("\n"+rest, "\n---\n")
	if !ok {
		head, ok = strings.CutSuffix("\n"+rest, "\n---")
	}
	return head, body, ok
}
