package proofbench

import (
	"fmt"
	"strings"
)

// piece is a directive, or a file, with the lines that follow it.
type piece struct {
	line       int
	word, rest string // word is "file" for "-- path --"
	body       string
}

// directives splits a text into its pieces. A directive is a line that begins
// with "%% ", a file one that reads "-- path --"; lines that begin with "%%#"
// are comments.
func directives(text string, first int) []piece {
	var all []piece
	line := first - 1
	for l := range strings.Lines(text) {
		line++
		trimmed := strings.TrimRight(l, "\n")
		switch {
		case strings.HasPrefix(trimmed, "%%#"):
		case strings.HasPrefix(trimmed, "%% "):
			word, rest, _ := strings.Cut(strings.TrimSpace(trimmed[3:]), " ")
			all = append(all, piece{line: line, word: word, rest: strings.TrimSpace(rest)})
		case strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --") && len(trimmed) > 6:
			all = append(all, piece{line: line, word: "file", rest: trimmed[3 : len(trimmed)-3]})
		case len(all) > 0:
			all[len(all)-1].body += l
		}
	}
	return all
}

// caseText is the text of one case and where it begins.
type caseText struct {
	line int
	text string
}

func splitCases(text string) []caseText {
	var all []caseText
	line := 0
	for l := range strings.Lines(text) {
		line++
		if strings.HasPrefix(l, "%% case ") {
			all = append(all, caseText{line: line})
		}
		if len(all) > 0 {
			all[len(all)-1].text += l
		}
	}
	return all
}

// op reads an edit; false when the piece is none.
func (p piece) op() (Op, bool, error) {
	a, b, _ := strings.Cut(p.rest, " ")
	switch p.word {
	case "file":
		return Op{Verb: "write", Path: p.rest, Text: p.body}, true, nil
	case "append", "prepend", "replace":
		if p.word == "replace" && strings.Count(p.body, "====\n") != 1 {
			return Op{}, true, fmt.Errorf("replace wants old and new with ==== between")
		}
		return Op{Verb: p.word, Path: p.rest, Text: p.body}, true, nil
	case "rm":
		return Op{Verb: "rm", Path: p.rest}, true, nil
	case "mv", "link":
		if b == "" {
			return Op{}, true, fmt.Errorf("%s wants two paths", p.word)
		}
		return Op{Verb: p.word, Path: a, Arg: b}, true, nil
	case "chmod":
		return Op{Verb: "chmod", Path: b, Arg: a}, true, nil
	case "run":
		return Op{Verb: "run", Arg: p.rest}, true, nil
	case "use":
		return Op{Verb: "use", Arg: p.rest}, true, nil
	}
	return Op{}, false, nil
}

func parseBase(file, text string, eco *Ecosystem) error {
	into := &eco.Files
	define := ""
	for _, p := range directives(text, 1) {
		op, is, err := p.op()
		if err != nil {
			return fmt.Errorf("%s:%d: %w", file, p.line, err)
		}
		if is {
			if define != "" {
				eco.Defines[define] = append(eco.Defines[define], op)
			} else {
				*into = append(*into, op)
			}
			continue
		}
		switch p.word {
		case "needs":
			eco.Needs = strings.Fields(p.rest)
		case "modules":
			eco.Modules = p.rest
		case "cache":
			eco.Cache = p.rest
		case "verify":
			eco.Verify = append(eco.Verify, p.rest)
		case "conf":
			eco.Conf = p.body
		case "oracle":
			eco.Oracle = p.body
		case "let":
			name, value, _ := strings.Cut(p.rest, " ")
			eco.Let[name] = value
		case "define":
			define = p.rest
			eco.Defines[define] = []Op{}
		default:
			return fmt.Errorf("%s:%d: directive %q is not known", file, p.line, p.word)
		}
	}
	if len(eco.Verify) == 0 || eco.Oracle == "" || len(eco.Files) == 0 {
		return fmt.Errorf("%s: verify, oracle or files are missing", file)
	}
	return nil
}

// parseCase reads one case.
func parseCase(file string, text caseText, eco *Ecosystem) (*Case, error) {
	c := &Case{Ecosystem: eco}
	r := caseReader{c: c, eco: eco}
	for _, p := range directives(eco.expand(text.text), text.line) {
		if err := r.take(p); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, p.line, err)
		}
	}
	if c.Class == "" || c.Name == "" || len(c.Steps) == 0 {
		return nil, fmt.Errorf("%s:%d: class, name or edits are missing", file, text.line)
	}
	if c.Honest() == (c.Want == "") {
		return nil, fmt.Errorf("%s:%d: expect belongs to honest changes, and to each of them", file, text.line)
	}
	return c, nil
}

// expand puts the ecosystem's words in.
func (eco *Ecosystem) expand(text string) string {
	for name, value := range eco.Let {
		text = strings.ReplaceAll(text, "${"+name+"}", value)
	}
	return text
}

// caseReader remembers where edits go.
type caseReader struct {
	c   *Case
	eco *Ecosystem
	to  func(...Op)
}

func (r *caseReader) take(p piece) error {
	op, is, err := p.op()
	if err != nil {
		return err
	}
	if is {
		if r.to == nil {
			r.phase(Phase{Number: "01", Name: "change"})
		}
		ops, err := r.eco.resolve(op)
		if err != nil {
			return err
		}
		r.to(ops...)
		return nil
	}
	return r.setting(p)
}

func (r *caseReader) setting(p piece) error {
	c := r.c
	switch p.word {
	case "case":
		c.Class, c.Name, _ = strings.Cut(p.rest, " ")
	case "says":
		c.Says = p.rest
	case "expect":
		c.Want = p.rest
	case "verify":
		c.Verify = append(c.Verify, p.rest)
	case "conf":
		c.Conf = p.body
	case "oracle":
		c.Oracle = p.body
	case "given":
		r.to = func(ops ...Op) { c.Given = append(c.Given, ops...) }
	case "weakened":
		r.to = func(ops ...Op) { c.Weakened = append(c.Weakened, ops...) }
	default:
		return r.step(p)
	}
	return nil
}

// step reads what a person or the agent begins.
func (r *caseReader) step(p piece) error {
	c := r.c
	switch p.word {
	case "plan":
		c.Steps = append(c.Steps, Step{Kind: "plan"})
		r.to = nil
	case "issue", "person":
		c.Steps = append(c.Steps, Step{Kind: p.word})
		r.phase(Phase{Number: "01", Name: "change"})
	case "phase":
		words := strings.Fields(p.rest)
		if len(words) == 0 {
			return fmt.Errorf("phase wants a number")
		}
		phase := Phase{Number: words[0], Name: "change-" + words[0]}
		for i := 1; i+1 < len(words); i += 2 {
			switch words[i] {
			case "needs":
				phase.Needs = append(phase.Needs, words[i+1])
			case "may":
				phase.MayChange = append(phase.MayChange, words[i+1])
			default:
				return fmt.Errorf("phase: %q is not known", words[i])
			}
		}
		r.phase(phase)
	case "sub", "then", "resolve":
		if r.to == nil {
			return fmt.Errorf("%s stands before any phase", p.word)
		}
		r.into(p.word)
	default:
		return fmt.Errorf("directive %q is not known", p.word)
	}
	return nil
}

// phase begins a phase in the step that is open, or in a plan of its own.
func (r *caseReader) phase(phase Phase) {
	c := r.c
	if len(c.Steps) == 0 || c.Steps[len(c.Steps)-1].Kind != "plan" && len(c.Steps[len(c.Steps)-1].Phases) > 0 {
		c.Steps = append(c.Steps, Step{Kind: "plan"})
	}
	step := &c.Steps[len(c.Steps)-1]
	step.Phases = append(step.Phases, phase)
	r.into("do")
}

// into says which part of the last phase gets the edits that follow.
func (r *caseReader) into(part string) {
	step, phase := len(r.c.Steps)-1, len(r.c.Steps[len(r.c.Steps)-1].Phases)-1
	r.to = func(ops ...Op) {
		p := &r.c.Steps[step].Phases[phase]
		switch part {
		case "do":
			p.Do = append(p.Do, ops...)
		case "sub":
			p.Sub = append(p.Sub, ops...)
		case "then":
			p.Then = append(p.Then, ops...)
		case "resolve":
			p.Resolve = append(p.Resolve, ops...)
		}
	}
	if part == "sub" {
		r.c.Steps[step].Phases[phase].HasSub = true
	}
}

// resolve puts the edits of a definition in the place of its name.
func (eco *Ecosystem) resolve(op Op) ([]Op, error) {
	if op.Verb != "use" {
		return []Op{op}, nil
	}
	named, ok := eco.Defines[op.Arg]
	if !ok {
		return nil, fmt.Errorf("no edits are called %q", op.Arg)
	}
	var all []Op
	for _, o := range named {
		ops, err := eco.resolve(o)
		if err != nil {
			return nil, err
		}
		all = append(all, ops...)
	}
	return all, nil
}
