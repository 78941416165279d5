package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// PlanFile is the plan of a project, relative to the checkout.
const PlanFile = ".forge/phases.json"

// Plan is a loaded and checked plan with the places of its phases.
type Plan struct {
	work.Plan
	File string // as shown to the user

	lines lineTable
	root  *jsonNode
	asks  map[int]bool // phases for which "strict" was said, by position
}

// where is the place of an address such as phases[3].agent.
func (p *Plan) where(address string) place {
	if p.root == nil {
		return place{}
	}
	return p.lines.place(p.root.at(address))
}

// NewPlan wraps a plan that came from no file; problems then name no line.
func NewPlan(p work.Plan) *Plan { return &Plan{Plan: p, File: "the plan"} }

// LoadPlan reads and checks a phases.json. checkGraph looks at the dependencies
// and addresses its problems like Plan.Check does; nil leaves them unchecked.
// The error is *Problems with everything that is wrong, by file and line.
func LoadPlan(path string, checkGraph func(work.Plan) []work.Problem) (*Plan, []Warning, error) {
	c := &collector{}
	shown := path
	if strings.HasSuffix(filepath.ToSlash(path), "/"+PlanFile) {
		shown = PlanFile
	}
	text, ok, problem := readText(anywhere{}, path, shown, MaxPlanBytes)
	switch {
	case problem != nil:
		c.problems = append(c.problems, *problem)
		return nil, nil, c.err()
	case !ok:
		c.add(shown, place{}, "there is no plan", "write one, or make one from the spec with forge generate")
		return nil, nil, c.err()
	}
	return parsePlan(text, shown, checkGraph)
}

// mendJSON is what usually mends JSON that a parser of Go's words so.
func mendJSON(said string) string {
	for _, hint := range [][2]string{
		{"after object key:value pair", "a comma is missing before it, or a closing }"},
		{"after array element", "a comma is missing before it, or a closing ]"},
		{"after object key", "a colon is missing before it"},
		{"beginning of object key string", "a comma too many stands before it, or a name without double quotes"},
		{"beginning of value", "a value is missing before it, or a comma stands there too many"},
		{"unexpected end of the file", "a bracket, a brace or a quote is not closed"},
	} {
		if strings.Contains(said, hint[0]) {
			return hint[1]
		}
	}
	return "correct the JSON there"
}

func parsePlan(text, shown string, checkGraph func(work.Plan) []work.Problem) (*Plan, []Warning, error) {
	c := &collector{}
	root, err := readJSON(text)
	if err != nil {
		at := place{1, 1}
		var bad *jsonError
		if errors.As(err, &bad) {
			at = newLineTable(text).place(bad.offset)
		}
		c.add(shown, at, "broken JSON: "+err.Error(), mendJSON(err.Error()))
		return nil, nil, c.err()
	}
	p := &Plan{File: shown, lines: newLineTable(text), root: root, asks: map[int]bool{}}
	b := &planBinder{collector: c, plan: p, meant: map[string]bool{}}
	b.file(root)
	b.check(checkGraph)
	if err := c.err(); err != nil {
		return nil, c.warnings, err
	}
	return p, c.warnings, nil
}

// planBinder fills a plan from a JSON tree and goes on after a mistake.
type planBinder struct {
	*collector
	plan   *Plan
	unused []string
	meant  map[string]bool // addresses that an unknown key was probably meant for
}

func (b *planBinder) bad(n *jsonNode, what, fix string) {
	b.add(b.plan.File, b.plan.lines.place(n.offset), what, fix)
}

// fields calls the binder of each member; unknown and repeated names are
// problems.
func (b *planBinder) fields(n *jsonNode, address string, known []planField) {
	if n.kind != '{' {
		b.bad(n, fmt.Sprintf("%s is %s, want an object", orWords(address, "the plan"), n.describe()), "write { … }")
		return
	}
	seen := map[string]int{}
	names := make([]string, len(known))
	for i, f := range known {
		names[i] = f.name
	}
	for _, m := range n.members {
		at := m.name
		if address != "" {
			at = address + "." + m.name
		}
		here := &jsonNode{offset: m.offset}
		if first, again := seen[m.name]; again {
			b.bad(here, fmt.Sprintf("%s is written twice", text.Clip(at, mostQuoted)), fmt.Sprintf("remove one of them; the first is on line %d", b.plan.lines.place(first).line))
			continue
		}
		seen[m.name] = m.offset
		found := false
		for _, f := range known {
			if f.name == m.name {
				found = true
				if m.value.kind != 0 || m.value.value != nil { // null says nothing
					f.bind(m.value, at)
				}
			}
		}
		if !found {
			where := "the plan"
			switch {
			case strings.Contains(address, ".criteria["):
				where = "a criterion"
			case address != "":
				where = "a phase"
			}
			b.meant[strings.TrimSuffix(at, m.name)+nearest(m.name, names)] = true
			b.bad(here, fmt.Sprintf("unknown key %q in %s", text.Clip(m.name, mostQuoted), where), suggest(m.name, names))
		}
	}
}

type planField struct {
	name string
	bind func(n *jsonNode, at string)
}

func (b *planBinder) file(n *jsonNode) {
	p := &b.plan.Plan
	b.fields(n, "", []planField{
		{"spec_hash", b.text(&p.SpecHash)},
		{"generated_at", b.text(&p.GeneratedAt)},
		{"phases", func(n *jsonNode, at string) {
			if n.kind != '[' {
				b.bad(n, fmt.Sprintf("%s is %s, want a list", at, n.describe()), `write "phases": [ … ]`)
				return
			}
			for i, item := range n.items {
				p.Phases = append(p.Phases, work.Phase{})
				b.phase(item, fmt.Sprintf("phases[%d]", i), i)
			}
		}},
	})
	if len(b.unused) > 0 {
		b.warn(b.plan.File, place{}, "not used: "+strings.Join(b.unused, ", "), "these are read, nothing else")
	}
}

func (b *planBinder) phase(n *jsonNode, address string, i int) {
	ph := &b.plan.Phases[i]
	ignored := func(n *jsonNode, at string) {
		if n.kind != '[' || len(n.items) > 0 {
			b.unused = append(b.unused, at)
		}
	}
	b.fields(n, address, []planField{
		{"number", b.text(&ph.Number)},
		{"name", b.text(&ph.Name)},
		{"promise", b.text(&ph.Promise)},
		{"budget", b.positive(&ph.Budget, "iterations")},
		{"reasoning", b.text(&ph.Reasoning)},
		{"depends_on", b.texts(&ph.DependsOn)},
		{"skills", b.texts(&ph.Skills)},
		{"permission_mode", b.permission(&ph.PermissionMode, i)},
		{"phase_type", b.text(&ph.PhaseType)},
		{"kind", b.text((*string)(&ph.Kind))},
		{"agent", b.agents(ph)},
		{"fallback", b.texts(&ph.Fallback)},
		{"model", b.text(&ph.Model)},
		{"repository", b.text(&ph.Repository)},
		{"level", b.text(&ph.Level)},
		{"reviews", b.reviews(&ph.Reviews)},
		{"criteria", b.criteria(&ph.Criteria)},
		{"verify", b.texts(&ph.Verify)},
		{"may_change", b.texts(&ph.MayChange)},
		{"tries", b.positive(&ph.Tries, "tries")},
		{"try_agents", b.texts(&ph.TryAgents)},
		{"tries_until", b.text(&ph.TriesUntil)},
		{"council", b.council(&ph.Council)},
		{"context_limit", b.text(&ph.ContextLimit)},
		{"iteration_timeout_secs", b.positive(&ph.IterationTimeoutSecs, "seconds")},
		// Of the Rust Forge, which also keeps the state of a run here.
		{"parent_phase", ignored}, {"sub_phases", ignored}, {"iterations_used", ignored}, {"swarm", ignored},
		{"review", ignored},
	})
}

func (b *planBinder) text(to *string) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		s, ok := n.value.(string)
		if !ok {
			b.bad(n, fmt.Sprintf("%s is %s, want a string", at, n.describe()), "write it in quotes")
			return
		}
		*to = s
	}
}

// agents reads one agent, or several in the order in which they are wanted.
func (b *planBinder) agents(ph *work.Phase) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		if n.kind != '[' {
			b.text(&ph.Agent)(n, at)
			return
		}
		var names []string
		if b.texts(&names)(n, at); len(names) == 0 {
			b.bad(n, at+" names no agent", "name at least one, or leave the key out")
			return
		}
		ph.Agent, ph.Fallback = names[0], names[1:]
	}
}

func (b *planBinder) texts(to *[]string) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		if n.kind != '[' {
			b.bad(n, fmt.Sprintf("%s is %s, want a list of strings", at, n.describe()), `write ["…", "…"]`)
			return
		}
		*to = nil
		for i, item := range n.items {
			var s string
			b.text(&s)(item, fmt.Sprintf("%s[%d]", at, i))
			*to = append(*to, s)
		}
	}
}

// positive binds a count; 0 written out is a mistake, leaving it out is not.
func (b *planBinder) positive(to *int, unit string) func(*jsonNode, string) {
	const most = 1_000_000_000
	return func(n *jsonNode, at string) {
		number, ok := n.value.(json.Number)
		if !ok {
			b.bad(n, fmt.Sprintf("%s is %s, want an integer", at, n.describe()), "write digits without quotes")
			return
		}
		x, err := strconv.ParseInt(number.String(), 10, 64)
		switch {
		case err != nil || x > most:
			b.bad(n, fmt.Sprintf("%s is %s, not a number of %s", at, text.Clip(number.String(), mostQuoted), unit), "write a whole number from 1")
		case x < 1:
			b.bad(n, fmt.Sprintf("%s is %d", at, x), "use 1 or more, or leave it out for the default")
		default:
			*to = int(x)
		}
	}
}

func (b *planBinder) criteria(to *[]work.Acceptance) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		if n.kind != '[' {
			b.bad(n, fmt.Sprintf("%s is %s, want a list of criteria", at, n.describe()), `write [{"what": "…", "command": "…"}]`)
			return
		}
		for i, item := range n.items {
			var a work.Acceptance
			b.fields(item, fmt.Sprintf("%s[%d]", at, i), []planField{
				{"what", b.text(&a.What)}, {"command", b.text(&a.Command)}, {"test", b.text(&a.Test)}, {"page", b.text(&a.Page)},
			})
			*to = append(*to, a)
		}
	}
}

func (b *planBinder) permission(to *work.PermissionMode, i int) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		b.text((*string)(to))(n, at)
		if *to == strict {
			*to = work.PermissionStandard
			b.plan.asks[i] = true
			b.warn(b.plan.File, b.plan.lines.place(n.offset),
				fmt.Sprintf(`%s "strict" is deprecated: the phase is now sensitive and asks before each iteration`, at),
				`write "standard" and add its name to autonomy.sensitive_patterns.patterns`)
		}
	}
}

// reviews binds the names of specialists. The Rust Forge wrote an object with a
// list of them, each an object with its type.
func (b *planBinder) reviews(to *[]string) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		if n.kind == '{' {
			inner := n.member("specialists")
			if inner == nil {
				if len(n.members) > 0 {
					b.bad(n, at+" is an object without specialists", `write ["security"]`)
				}
				return
			}
			n, at = inner, at+".specialists"
		}
		plain := &jsonNode{offset: n.offset, kind: n.kind, value: n.value}
		for _, item := range n.items {
			if name := item.member("type"); item.kind == '{' && name != nil {
				item = name
			}
			plain.items = append(plain.items, item)
		}
		b.texts(to)(plain, at)
	}
}

// council reads whether a phase has one: true or false, or, as the Rust Forge wrote
// it, an object with enabled.
func (b *planBinder) council(to **bool) func(*jsonNode, string) {
	return func(n *jsonNode, at string) {
		if n.kind == '{' {
			if n = n.member("enabled"); n == nil {
				return
			}
			at += ".enabled"
		}
		on, ok := n.value.(bool)
		if !ok {
			b.bad(n, fmt.Sprintf("%s is %s, want true or false", at, n.describe()), "write true or false")
			return
		}
		*to = &on
	}
}
