package gates

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// Definition is a preset as somebody wrote it.
type Definition struct {
	Name string
	Use  string // when to use it, in one sentence; may be ""
	// Extends is the preset below it; "" is one where every gate asks.
	Extends string
	// Axes are the axes that differ from it, as Policy.With takes them.
	Axes map[string]any
}

// DefinitionProblem is what is wrong with one definition. The problem's path
// is "name", "extends", or an axis.
type DefinitionProblem struct {
	Name string
	work.Problem
}

// Define adds a project's own presets to the built-in ones. A name that is
// taken, an unknown one, a cycle of extends, and whatever With and Validate
// find is a problem; what has a problem, or extends what has one, is left out.
func Define(defs []Definition) (Catalogue, []DefinitionProblem) {
	own, problems := define(defs, Catalogue{}.Names(), func(name string) (Policy, bool) {
		return Preset(cmp.Or(name, presetBottom))
	})
	slices.SortFunc(own, func(a, b namedPolicy) int { return cmp.Compare(a.Name, b.Name) })
	for i := range own {
		own[i].Own = true
	}
	return Catalogue{own: own}, problems
}

// definer builds definitions on those that they extend, each once.
type definer struct {
	defs     []Definition
	below    func(name string) (Policy, bool) // policies that are there already
	names    []string                         // of those
	done     map[string]*Policy               // nil: it has a problem
	problems []DefinitionProblem
}

func define(defs []Definition, names []string, below func(string) (Policy, bool)) ([]namedPolicy, []DefinitionProblem) {
	d := &definer{defs: defs, below: below, names: names, done: map[string]*Policy{}}
	seen := map[string]bool{}
	var out []namedPolicy
	for _, def := range defs {
		if _, taken := below(def.Name); taken || seen[def.Name] {
			d.problem(def.Name, "name", fmt.Sprintf("there is a preset %q already", text.Clip(def.Name, mostQuoted)), "choose another name")
			continue
		}
		seen[def.Name] = true
		if p := d.build(def, nil); p != nil {
			out = append(out, namedPolicy{PresetInfo: PresetInfo{Name: def.Name, Use: def.Use}, policy: *p})
		}
	}
	return out, d.problems
}

func (d *definer) problem(name, path, what, fix string) {
	d.problems = append(d.problems, DefinitionProblem{Name: name, Problem: work.Problem{Path: path, What: what, Fix: fix}})
}

// build is the policy of def, nil when it has none. way are the names that led
// here.
func (d *definer) build(def Definition, way []string) *Policy {
	if p, ok := d.done[def.Name]; ok {
		return p
	}
	way = append(way, def.Name)
	base := d.base(def, way)
	d.done[def.Name] = nil
	if base == nil {
		return nil
	}
	p, problems := base.With(def.Axes)
	if len(problems) == 0 {
		problems = p.Validate()
	}
	for _, pr := range problems {
		d.problems = append(d.problems, DefinitionProblem{Name: def.Name, Problem: pr})
	}
	if len(problems) > 0 {
		return nil
	}
	p.Preset = ""
	p = Meet(p, p)
	p.Preset = def.Name
	d.done[def.Name] = &p
	return &p
}

// base is the policy that def extends.
func (d *definer) base(def Definition, way []string) *Policy {
	if p, ok := d.below(def.Extends); ok {
		return &p
	}
	if at := slices.Index(way, def.Extends); at >= 0 {
		cycle := append(slices.Clone(way[at:]), def.Extends)
		d.problem(def.Name, "extends", "the presets form a cycle: "+strings.Join(cycle, " → "), "remove one extends")
		return nil
	}
	for _, other := range d.defs {
		if other.Name == def.Extends {
			return d.build(other, way)
		}
	}
	names := slices.Clone(d.names)
	for _, other := range d.defs {
		names = append(names, other.Name)
	}
	d.problem(def.Name, "extends", fmt.Sprintf("unknown preset %q", text.Clip(def.Extends, mostQuoted)), didYouMean(def.Extends, names))
	return nil
}
