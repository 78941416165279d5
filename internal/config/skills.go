package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// SkillsDir is where skills stand in a checkout.
const SkillsDir = ".forge/skills"

// skillForms are the files that may hold a skill, relative to the checkout.
func skillForms(name string) []string {
	return []string{SkillsDir + "/" + name + ".md", SkillsDir + "/" + name + "/SKILL.md"}
}

// skill reads the text of a skill on its first use.
func (r *resolver) skill(name string, ph work.Phase, where func(string) (string, place)) {
	if _, done := r.out.Skills[name]; done || r.root == nil {
		return
	}
	for _, form := range skillForms(name) {
		text, ok, problem := readText(r.root, filepath.FromSlash(form), form, MaxSkillBytes)
		if problem != nil {
			r.once(*problem)
			return
		}
		if ok {
			if r.out.Skills == nil {
				r.out.Skills = map[string]string{}
			}
			r.out.Skills[name] = text
			return
		}
	}
	file, at := r.skillPlace(name, ph, where)
	r.once(Problem{File: file, Line: at.line, Col: at.col, What: fmt.Sprintf("unknown skill %q", text.Clip(name, mostQuoted)), Fix: r.skillFix(name)})
}

// skillPlace is where a skill was named: by the phase, an override or for all.
func (r *resolver) skillPlace(name string, ph work.Phase, where func(string) (string, place)) (string, place) {
	for i, s := range ph.Skills {
		if s == name {
			return where(fmt.Sprintf("skills[%d]", i))
		}
	}
	for _, o := range r.cfg.overrides {
		for i, s := range o.said.Skills {
			if s == name && r.cfg.matches(o.glob, ph.Name) {
				return o.file, o.all.find([]string{"phases", "overrides", o.glob, "skills", element(i)})
			}
		}
	}
	return r.cfg.where("skills", "global")
}

func (r *resolver) skillFix(name string) string {
	var have []string
	entries, err := fs.ReadDir(r.root.FS(), SkillsDir)
	if err == nil {
		for _, e := range entries {
			have = append(have, strings.TrimSuffix(e.Name(), ".md"))
		}
	}
	if near := nearest(name, have); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "write " + skillForms(name)[0]
}

// spec reads the spec, which a project may do without.
func (r *resolver) spec() {
	if r.root == nil {
		return
	}
	text, _, problem := readText(r.root, filepath.FromSlash(SpecFile), SpecFile, MaxSpecBytes)
	if problem != nil {
		r.problems = append(r.problems, *problem)
		return
	}
	r.out.Spec = text
}

// Skill is a text below .forge/skills that goes into prompts, as it stands there.
type Skill struct{ Name, File, Text string }

// ReadSkills reads those of a checkout, by name, and what is wrong with files that would
// be some. No folder is none.
func ReadSkills(checkout string) (all []Skill, wrong []Problem, err error) {
	root, err := os.OpenRoot(checkout)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), SkillsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	seen := map[string]string{}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		file := SkillsDir + "/" + e.Name()
		if e.IsDir() {
			name, file = e.Name(), file+"/SKILL.md"
		}
		switch {
		case strings.HasPrefix(e.Name(), "."):
			continue
		case !e.IsDir() && name == e.Name(), !skillName().MatchString(name):
			wrong = append(wrong, Problem{File: SkillsDir + "/" + e.Name(), What: "is no skill", Fix: "write NAME.md or NAME/SKILL.md, a name of letters, digits, dots, - and _"})
			continue
		case seen[name] != "":
			wrong = append(wrong, Problem{File: file, What: fmt.Sprintf("skill %q stands in %s as well", name, seen[name]), Fix: "keep one of them; " + skillForms(name)[0] + " is read"})
			continue
		}
		text, ok, problem := readText(root, filepath.FromSlash(file), file, MaxSkillBytes)
		switch {
		case problem != nil:
			wrong = append(wrong, *problem)
		case !ok:
			wrong = append(wrong, Problem{File: file, What: "does not exist", Fix: "write it, or remove its folder"})
		default:
			seen[name] = file
			all = append(all, Skill{Name: name, File: file, Text: text})
		}
	}
	slices.SortFunc(all, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
	return all, wrong, nil
}

// SkillUse is a place that names a skill.
type SkillUse struct {
	Name, For string // For which phases, in words
	File      string
	Line      int
}

// SkillUses are the places of the configuration and of a plan that name skills.
func (c *Config) SkillUses(plan *Plan) []SkillUse {
	var out []SkillUse
	for _, s := range c.File.Skills.Global {
		file, at := c.where("skills", "global")
		out = append(out, SkillUse{s, "every phase", file, at.line})
	}
	for _, o := range c.overrides {
		for i, s := range o.said.Skills {
			at := o.all.find([]string{"phases", "overrides", o.glob, "skills", element(i)})
			out = append(out, SkillUse{s, "phases " + o.glob, o.file, at.line})
		}
	}
	if plan == nil {
		return out
	}
	for i, ph := range plan.Phases {
		for j, s := range ph.Skills {
			out = append(out, SkillUse{s, "phase " + ph.Number, plan.File, plan.where(fmt.Sprintf("phases[%d].skills[%d]", i, j)).line})
		}
	}
	return out
}

// SkillsOf are the names of the skills that a phase is given, in their order.
func (c *Config) SkillsOf(ph work.Phase) []string {
	var out []string
	for _, s := range slices.Concat(c.File.Skills.Global, c.overridesOf(ph.Name).Skills, ph.Skills) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// IsSkillName says that a skill may be called so.
func IsSkillName(name string) bool { return skillName().MatchString(name) }
