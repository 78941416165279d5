package interview

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"forge/internal/text"
	"forge/internal/work"
)

// Spec says what is wanted so that it can be proven.
type Spec struct {
	Title      string            `json:"title"`
	Behaviour  []string          `json:"behaviour"`
	Limits     []string          `json:"limits,omitempty"`
	OutOfScope []string          `json:"out_of_scope,omitempty"`
	Assumed    []string          `json:"assumed,omitempty"` // what nobody was asked, or left to the agent
	Open       []string          `json:"open,omitempty"`    // what is still to be decided
	Criteria   []work.Acceptance `json:"criteria"`
}

// Design is what a document asks for, in parts that are built one after the other.
type Design struct {
	Parts []Part   `json:"parts"`
	Open  []string `json:"open,omitempty"`
}

// Part is one part of a design.
type Part struct {
	Name     string            `json:"name"`
	What     string            `json:"what"`
	Budget   int               `json:"budget,omitempty"` // iterations; 0 = the project's
	Criteria []work.Acceptance `json:"criteria"`
}

// checker gathers what is wrong.
type checker struct{ problems []string }

func (c *checker) bad(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// line says what is wrong with one line of text.
func (c *checker) line(what, s string) {
	switch {
	case strings.TrimSpace(s) == "":
		c.bad("%s is empty", what)
	case len(s) > maxWords:
		c.bad("%s has %d bytes, more than %d", what, len(s), maxWords)
	case !utf8.ValidString(s) || text.Hides(s):
		c.bad("%s is not one line of printable text", what)
	}
}

func (c *checker) lines(what string, all []string) {
	if len(all) > maxList {
		c.bad("%s has %d lines, more than %d", what, len(all), maxList)
		return
	}
	for i, s := range all {
		c.line(fmt.Sprintf("%s[%d]", what, i), s)
	}
}

// criteria holds that each names its evidence, and that there is one at all:
// without, nothing can be proven.
func (c *checker) criteria(of string, all []work.Acceptance) {
	if len(all) == 0 {
		c.bad("%s has no criteria: nothing of it could be proven; ask, or say what shows it", of)
	}
	plan := work.Plan{Phases: []work.Phase{{Number: "0", Name: "n", Promise: "P", Criteria: all}}}
	for _, p := range plan.Check() {
		c.bad("%s: %s: %s (%s)", of, strings.TrimPrefix(p.Path, "phases[0]."), p.What, p.Fix)
	}
}

func (s *Spec) check() []string {
	var c checker
	c.line("title", s.Title)
	if len(s.Behaviour) == 0 {
		c.bad("behaviour says nothing")
	}
	c.lines("behaviour", s.Behaviour)
	c.lines("limits", s.Limits)
	c.lines("out_of_scope", s.OutOfScope)
	c.lines("assumed", s.Assumed)
	c.lines("open", s.Open)
	c.criteria("the spec", s.Criteria)
	return c.problems
}

func (d *Design) check() []string {
	var c checker
	c.lines("open", d.Open)
	if n := len(d.Parts); n == 0 || n > maxList {
		c.bad("there are %d parts; write from 1 to %d", n, maxList)
	}
	names := map[string]bool{}
	for i, p := range d.Parts {
		at := fmt.Sprintf("parts[%d]", i)
		if key := strings.ToLower(strings.TrimSpace(p.Name)); names[key] {
			c.bad("%s: the name %q is taken by another part", at, text.Clip(p.Name, 60))
		} else {
			names[key] = true
		}
		c.line(at+".what", p.What)
		if p.Budget < 0 || p.Budget > 100 {
			c.bad("%s.budget is %d, not from 1 to 100", at, p.Budget)
		}
		if len(p.Criteria) == 0 {
			c.bad("%s has no criteria: nothing of it could be proven; ask, or say what shows it", at)
		}
		plan := work.Plan{Phases: []work.Phase{{Number: "0", Name: p.Name, Promise: "P", Criteria: p.Criteria}}}
		for _, problem := range plan.Check() {
			c.bad("%s: %s (%s)", at, problem.What, problem.Fix)
		}
	}
	return c.problems
}

// Markdown is the spec as its file.
func (s *Spec) Markdown() string {
	var b strings.Builder
	b.WriteString("# " + s.Title + "\n")
	list := func(title string, all []string) {
		if len(all) == 0 {
			return
		}
		b.WriteString("\n## " + title + "\n\n")
		for _, line := range all {
			b.WriteString("- " + line + "\n")
		}
	}
	list("Behaviour", s.Behaviour)
	list("Limits", s.Limits)
	list("Out of scope", s.OutOfScope)
	list("Assumed", s.Assumed)
	list("Still open", s.Open)
	var criteria []string
	for _, a := range s.Criteria {
		criteria = append(criteria, a.String())
	}
	list(criteriaTitle, criteria)
	return b.String()
}

// Plan is a design as a plan, its phases numbered from first on: for each part a
// phase that writes its tests, then one that makes them pass. One after the other:
// tests of a part that is not built yet would be red for any other. tdd = false
// leaves the phases of tests out.
func (d *Design) Plan(first int, tdd bool) (work.Plan, []string) {
	var plan work.Plan
	var problems []string
	before := ""
	add := func(ph work.Phase) {
		ph.Number = fmt.Sprintf("%02d", first+len(plan.Phases))
		ph.Promise = fmt.Sprintf("PHASE %s IS DONE", ph.Number)
		if before != "" {
			ph.DependsOn = []string{before}
		}
		before = ph.Number
		plan.Phases = append(plan.Phases, ph)
	}
	for _, p := range d.Parts {
		var tests []work.Acceptance
		for _, a := range p.Criteria {
			if a.Test != "" {
				tests = append(tests, a)
			}
		}
		if tdd && len(tests) == 0 {
			problems = append(problems, fmt.Sprintf("no criterion of the part %q names a test that could be written first", p.Name))
			continue
		}
		about := p.What
		if tdd {
			var names, verify []string
			for _, a := range tests {
				names = append(names, "- "+a.String())
				verify = append(verify, a.Proof())
			}
			add(work.Phase{
				Name: clipName("Tests: " + p.Name), PhaseType: "test", Verify: verify,
				Reasoning: "Write the tests of this part, and nothing of what they test. They have to fail now, for want of it, and say what is missing.\n\n" + p.What + "\n\n" + strings.Join(names, "\n"),
			})
			about += "\n\nIts tests are there and fail. Make them pass; do not change them."
		}
		add(work.Phase{Name: p.Name, PhaseType: "implement", Budget: p.Budget, Reasoning: about, Criteria: p.Criteria})
	}
	return plan, problems
}

func clipName(name string) string { return text.Clip(name, work.MaxNameBytes-10) }

// criteriaTitle is the heading of a spec's criteria.
const criteriaTitle = "Acceptance criteria"

// CriteriaOf are the criteria of a spec as its file has them, each with what shows
// it, in the words of work.Acceptance. A line that names no evidence is none.
func CriteriaOf(spec string) []string {
	var out []string
	within := false
	for _, line := range strings.Split(spec, "\n") {
		line = strings.TrimRight(line, " \t\r")
		if title, heading := strings.CutPrefix(line, "## "); heading {
			within = strings.EqualFold(strings.TrimSpace(title), criteriaTitle)
			continue
		}
		one, item := strings.CutPrefix(line, "- ")
		if within && item && strings.HasSuffix(one, ")") && strings.Contains(one, " (shown by the ") {
			out = append(out, one)
		}
	}
	return out
}

// Unclaimed are the criteria of a spec that no phase of a plan is held against.
func Unclaimed(spec string, plan work.Plan) []string {
	held := map[string]bool{}
	for _, ph := range plan.Phases {
		for _, a := range ph.Criteria {
			held[a.String()] = true
		}
	}
	var out []string
	for _, c := range CriteriaOf(spec) {
		if !held[c] {
			out = append(out, c)
		}
	}
	return out
}
