package trial

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/eval"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// casesOf are the cases of a setup, each name once.
func casesOf(s eval.Setup) ([]eval.Case, error) {
	var cases []eval.Case
	problems := &config.Problems{}
	add := func(from fs.FS, at string) error {
		more, err := eval.Load(from)
		var bad *eval.Problems
		switch {
		case errors.As(err, &bad):
			for _, p := range bad.List {
				problems.List = append(problems.List, config.Problem{File: filepath.Join(at, filepath.FromSlash(p.File)), Line: p.Line, What: p.What, Fix: p.Fix})
			}
		case err != nil:
			return refusal.New("name a folder of cases, as docs/eval.md says", "read %s: %v", at, err)
		}
		for _, c := range more {
			if slices.ContainsFunc(cases, func(o eval.Case) bool { return o.Name == c.Name }) {
				problems.List = append(problems.List, config.Problem{File: filepath.Join(at, c.Name), What: "a case of that name is there already", Fix: "give it another name"})
			}
		}
		cases = append(cases, more...)
		return nil
	}
	if s.Builtin {
		if err := add(eval.Builtin(), "builtin"); err != nil {
			return nil, err
		}
	}
	for _, dir := range s.Cases {
		info, err := os.Stat(dir)
		if err != nil || !info.IsDir() {
			return nil, refusal.New("name a folder of cases, as docs/eval.md says", "%s is no folder", dir)
		}
		before := len(cases)
		if err := add(os.DirFS(dir), dir); err != nil {
			return nil, err
		}
		if len(cases) == before && len(problems.List) == 0 {
			return nil, refusal.New("each case is a folder of its own, as docs/eval.md says", "%s has no cases", dir)
		}
	}
	if len(problems.List) > 0 {
		return nil, problems
	}
	return pickCases(cases, s.Specialists)
}

func pickCases(cases []eval.Case, specialists []string) ([]eval.Case, error) {
	var known []string
	for _, c := range cases {
		if !slices.Contains(known, c.Specialist) {
			known = append(known, c.Specialist)
		}
	}
	for _, name := range specialists {
		if !slices.Contains(known, name) {
			fix := "leave it out, or write cases for it"
			if near := gates.Nearest(name, known); near != "" {
				fix = fmt.Sprintf("did you mean %q?", near)
			}
			return nil, refusal.New(fix, "no case is for %q", text.FirstLine(name, 60))
		}
	}
	cases = eval.Pick(cases, specialists)
	if len(cases) == 0 {
		return nil, refusal.New("leave --builtin=false out, or name a folder with --cases", "there are no cases")
	}
	return cases, nil
}

// specialistOf is a reviewer as the project has it, with its prompt from
// dir; "" = the project's folder of prompts.
func specialistOf(p *project.Checkout, name, dir string) (work.Specialist, error) {
	// Gating, whatever the project says: what is not reviewed whole is unknown.
	out := work.Specialist{Name: name, Gating: true}
	for _, s := range p.Config.File.Reviews.Specialists {
		if s.Type != nil && *s.Type == name {
			out.FocusAreas = s.FocusAreas
		}
	}
	if dir == "" {
		dir = filepath.Join(p.Base.RepoRoot, filepath.FromSlash(config.PromptFolder))
	}
	file := filepath.Join(dir, name+".md")
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > config.MaxPromptBytes) {
		return out, refusal.New(fmt.Sprintf("make it a file of at most %d bytes", config.MaxPromptBytes), "%s cannot be a prompt", file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return out, refusal.New("make it readable", "read the prompt of %s: %v", name, err)
	}
	out.Prompt = string(text)
	return out, nil
}
