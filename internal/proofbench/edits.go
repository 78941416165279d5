package proofbench

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"
)

// files is a project as the cases know it: content by path. A link begins with
// linkMark.
type files map[string]string

const linkMark = "\x00link "

// action is an edit with nothing left to look up: what a scripted agent does.
type action struct {
	verb, path, text, mode string // verb: write, rm, run
}

// apply plays edits on f and returns them as actions.
func (f files) apply(ops []Op) ([]action, error) {
	var all []action
	for _, op := range ops {
		actions, err := f.one(op)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", op.Verb, op.Path, err)
		}
		all = append(all, actions...)
	}
	return all, nil
}

func (f files) one(op Op) ([]action, error) {
	now, there := f[op.Path]
	switch op.Verb {
	case "append":
		return f.write(op.Path, now+op.Text), nil
	case "prepend":
		return f.write(op.Path, op.Text+now), nil
	case "write":
		return f.write(op.Path, op.Text), nil
	case "replace":
		was, is, _ := strings.Cut(op.Text, "====\n")
		if strings.Count(now, was) != 1 {
			return nil, fmt.Errorf("the old text is there %d times", strings.Count(now, was))
		}
		return f.write(op.Path, strings.Replace(now, was, is, 1)), nil
	case "rm":
		for p := range maps.Clone(f) {
			if p == op.Path || strings.HasPrefix(p, op.Path+"/") {
				delete(f, p)
				there = true
			}
		}
		if !there {
			return nil, fmt.Errorf("it is not there")
		}
		return []action{{verb: "rm", path: op.Path}}, nil
	case "mv":
		return f.move(op)
	case "link":
		f[op.Path] = linkMark + op.Arg
		dir := path.Dir(op.Path)
		return []action{{verb: "run", text: fmt.Sprintf("mkdir -p %s && rm -rf %s && ln -s %s %s", quote(dir), quote(op.Path), quote(op.Arg), quote(op.Path))}}, nil
	case "chmod":
		return []action{{verb: "run", text: "chmod " + op.Arg + " " + quote(op.Path)}}, nil
	case "run":
		return []action{{verb: "run", text: op.Arg}}, nil
	}
	return nil, fmt.Errorf("unknown verb")
}

func (f files) write(path, text string) []action {
	f[path] = text
	a := action{verb: "write", path: path, text: text}
	if strings.HasPrefix(text, "#!") {
		a.mode = "0755"
	}
	return []action{a}
}

// move renames a file, or a folder with all that is below it.
func (f files) move(op Op) ([]action, error) {
	moved := false
	for p, text := range maps.Clone(f) {
		if rest, ok := strings.CutPrefix(p, op.Path); ok && (rest == "" || rest[0] == '/') {
			delete(f, p)
			f[op.Arg+rest] = text
			moved = true
		}
	}
	if !moved {
		return nil, fmt.Errorf("it is not there")
	}
	return []action{{verb: "run", text: fmt.Sprintf("mkdir -p %s && mv %s %s", quote(path.Dir(op.Arg)), quote(op.Path), quote(op.Arg))}}, nil
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// script writes actions as those of a scripted agent.
func script(actions []action) string {
	var b strings.Builder
	for _, a := range actions {
		switch a.verb {
		case "write":
			mode := ""
			if a.mode != "" {
				mode = ", mode = " + text(a.mode)
			}
			fmt.Fprintf(&b, "  { write = %s, content = %s%s },\n", text(a.path), text(a.text), mode)
		case "rm":
			fmt.Fprintf(&b, "  { delete = %s },\n", text(a.path))
		case "run":
			fmt.Fprintf(&b, "  { run = %s },\n", text(a.text))
		}
	}
	return b.String()
}

// text writes a string as TOML has it, which is as JSON does.
func text(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // a string can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// played is a phase with its edits as actions.
type played struct {
	Phase
	do, sub, then, resolve []action
}

// play turns the edits of every step into actions. A phase begins with the
// files of what it needs, else with those at the start of its step.
func (c *Case) play() (given files, steps [][]played, err error) {
	given = files{}
	if _, err := given.apply(c.Ecosystem.Files); err != nil {
		return nil, nil, fmt.Errorf("base: %w", err)
	}
	if _, err := given.apply(c.Given); err != nil {
		return nil, nil, fmt.Errorf("%s: given: %w", c.ID(), err)
	}
	now := maps.Clone(given)
	for _, step := range c.Steps {
		after := map[string]files{}
		start, last := maps.Clone(now), now
		var phases []played
		for _, phase := range step.Phases {
			at := maps.Clone(start)
			for _, need := range phase.Needs {
				maps.Copy(at, after[need])
				for p := range start {
					if _, kept := after[need][p]; !kept {
						delete(at, p)
					}
				}
			}
			done, err := at.phase(phase)
			if err != nil {
				return nil, nil, fmt.Errorf("%s: phase %s: %w", c.ID(), phase.Number, err)
			}
			phases = append(phases, done)
			after[phase.Number], last = at, at
		}
		now = last
		steps = append(steps, phases)
	}
	return given, steps, nil
}

func (f files) phase(phase Phase) (played, error) {
	done := played{Phase: phase}
	for _, part := range []struct {
		ops []Op
		to  *[]action
	}{{phase.Do, &done.do}, {phase.Sub, &done.sub}, {phase.Then, &done.then}, {phase.Resolve, &done.resolve}} {
		actions, err := f.apply(part.ops)
		if err != nil {
			return done, err
		}
		*part.to = actions
	}
	return done, nil
}
