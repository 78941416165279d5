package config

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// skillForms are the files that may hold a skill, relative to the checkout.
func skillForms(name string) []string {
	return []string{".forge/skills/" + name + ".md", ".forge/skills/" + name + "/SKILL.md"}
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
	entries, err := fs.ReadDir(r.root.FS(), ".forge/skills")
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
