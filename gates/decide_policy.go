package gates

import (
	"encoding/json"
	"fmt"
	"slices"

	"forge/internal/text"
)

// inherit stands for the parent's policy where a child's preset is named.
const inherit = "<inherit>"

// preset is the policy that a field names.
func (o object) preset(name string) (Policy, error) {
	word, err := o.text(name)
	if err != nil {
		return Policy{}, err
	}
	return namedPreset(o.at(name), word)
}

func namedPreset(at, word string) (Policy, error) {
	p, ok := Preset(word)
	if !ok {
		return Policy{}, decideError(CodeBadValue, "%s is %q, which is no preset: %s", at, text.Clip(word, mostQuoted), Catalogue{}.didYouMean(word))
	}
	return p, nil
}

// override lays the axes in a field over p; missing and null lay nothing.
func (o object) override(name string, p Policy) (Policy, error) {
	if o.silent(name) {
		return p, nil
	}
	axes, err := parseObject(o.fields[name], o.at(name), AxisNames()...)
	if err != nil {
		return Policy{}, err
	}
	return axes.over(p)
}

// over lays the axes of an object over p. Words and types are judged axis by
// axis; that an axis leaves no model or no action to the machine is no mistake
// here.
func (o object) over(p Policy) (Policy, error) {
	axes := map[string]any{}
	for _, axis := range AxisNames() {
		raw, ok := o.fields[axis]
		if !ok {
			continue
		}
		var v any
		if axis == "gates" {
			table, err := gateTable(raw, o.at(axis))
			if err != nil {
				return Policy{}, err
			}
			v = table
		} else if json.Unmarshal(raw, &v) != nil {
			return Policy{}, o.bad(axis, "a number that can be written down")
		}
		axes[axis] = v
	}
	out, problems := p.With(axes)
	if len(problems) > 0 {
		pr := problems[0]
		return Policy{}, decideError(CodeBadValue, "%s: %s (%s)", o.at(pr.Path), pr.What, pr.Fix)
	}
	return out, nil
}

func gateTable(raw []byte, path string) (map[string]any, error) {
	o, names, err := parseFields(raw, path)
	if err != nil {
		return nil, err
	}
	table := map[string]any{}
	for _, name := range names {
		if slices.Contains(remarks(), name) {
			continue
		}
		var v any
		if json.Unmarshal(o.fields[name], &v) != nil {
			return nil, o.bad(name, "auto or human")
		}
		table[name] = v
	}
	return table, nil
}

// OverrideAnswer is the answer of DecideOverride: Spawn in words.
type OverrideAnswer struct {
	Allowed         bool     `json:"allowed"`
	Violations      []string `json:"violations"`
	OtherViolations []string `json:"other_violations"`
}

// DecideOverride asks whether a parent may spawn a child:
// {"parent","parent_override","child","child_override"} → OverrideAnswer. The
// child may be "<inherit>": what the parent has.
func DecideOverride(in []byte) (any, error) {
	o, err := parseObject(in, "", "parent", "parent_override", "child", "child_override")
	if err != nil {
		return nil, err
	}
	parent, err := o.preset("parent")
	if err != nil {
		return nil, err
	}
	if parent, err = o.override("parent_override", parent); err != nil {
		return nil, err
	}
	word, err := o.text("child")
	if err != nil {
		return nil, err
	}
	child := parent
	if word != inherit {
		if child, err = namedPreset("child", word); err != nil {
			return nil, err
		}
	}
	if child, err = o.override("child_override", child); err != nil {
		return nil, err
	}
	s := CheckSpawn(child, parent)
	return OverrideAnswer{Allowed: s.Allowed(), Violations: s.Violations, OtherViolations: s.Others}, nil
}

// EffectiveAnswer is the answer of DecideEffective.
type EffectiveAnswer struct {
	Policy EffectivePolicy `json:"policy"`
}

// EffectivePolicy is a policy by its axes, every gate included.
type EffectivePolicy struct {
	Gates map[Point]Mode `json:"gates"`
	Limits
	OnStale     OnStale     `json:"on_stale"`
	FailVerdict FailVerdict `json:"fail_verdict"`
	Promote     Promote     `json:"promote"`
}

// DecideEffective asks what binds the last of a chain, parents first:
// {"chain":[preset or {"preset",…axes}]} → EffectiveAnswer. A chain of none is
// refused.
func DecideEffective(in []byte) (any, error) {
	o, err := parseObject(in, "", "chain")
	if err != nil {
		return nil, err
	}
	links, err := o.list("chain")
	if err != nil {
		return nil, err
	}
	if len(links) == 0 {
		return nil, decideError(CodeBadValue, "chain is empty: want at least one policy")
	}
	chain := make([]Policy, len(links))
	for i, raw := range links {
		if chain[i], err = parseLink(raw, fmt.Sprintf("chain[%d]", i)); err != nil {
			return nil, err
		}
	}
	p := MeetAll(chain...)
	gates := map[Point]Mode{}
	for _, axis := range axesOf(p) {
		if axis.Gate {
			gates[Point(axis.Name)] = p.At(Point(axis.Name))
		}
	}
	return EffectiveAnswer{EffectivePolicy{Gates: gates, Limits: p.Limits, OnStale: p.OnStale, FailVerdict: p.FailVerdict, Promote: p.Promote}}, nil
}

// parseLink reads one policy of a chain.
func parseLink(raw []byte, path string) (Policy, error) {
	var word string
	if raw[0] == '"' && json.Unmarshal(raw, &word) == nil {
		return namedPreset(path, word)
	}
	o, err := parseObject(raw, path, append([]string{"preset"}, AxisNames()...)...)
	if err != nil {
		return Policy{}, err
	}
	p, err := o.preset("preset")
	if err != nil {
		return Policy{}, err
	}
	return o.over(p)
}
