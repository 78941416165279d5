package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"forge/gates"
	"forge/internal/text"
)

// Policy is a policy axis by axis: forge policy show --output json.
type Policy struct {
	Preset  string       `json:"preset"`            // what was chosen
	Chosen  string       `json:"chosen_by"`         // the word's place; "" for a preset that was asked for
	Ceiling string       `json:"ceiling,omitempty"` // what bounds it
	Bounded []string     `json:"bounded"`           // the axes on which the ceiling took something away
	Version string       `json:"version"`
	Axes    []PolicyAxis `json:"axes"`
	Policy  gates.Policy `json:"policy"`
}

// PolicyAxis is one axis of it, with the place that it is from.
type PolicyAxis struct {
	Axis  string `json:"axis"`
	Kind  string `json:"kind"` // gate, limit or response
	Value any    `json:"value"`
	From  string `json:"from"`
}

// Add adds an axis.
func (p *Policy) Add(axis gates.AxisValue, from string) {
	p.Axes = append(p.Axes, PolicyAxis{Axis: axis.Name, Kind: AxisKind(axis.Axis), Value: axis.Value, From: from})
}

// Text is the policy for a person.
func (p Policy) Text() string {
	head := "Preset " + p.Preset
	if p.Chosen != "" {
		head = fmt.Sprintf("Policy %s, chosen by %s", p.Preset, p.Chosen)
	}
	if len(p.Bounded) > 0 {
		head += fmt.Sprintf("; the ceiling %s bounds %s", p.Ceiling, strings.Join(p.Bounded, ", "))
	}
	var rows [][]string
	for _, axis := range p.Axes {
		rows = append(rows, []string{axis.Kind, axis.Axis, PolicyValue(axis.Value), axis.From})
	}
	return text.Harmless(head + "\nVersion " + p.Version + "\n\n" + text.Table([]string{"KIND", "AXIS", "VALUE", "FROM"}, rows))
}

// AxisKind is what an axis decides: a gate, a limit or a response.
func AxisKind(axis gates.Axis) string {
	switch {
	case axis.Gate:
		return "gate"
	case axis.Name == "on_stale", axis.Name == "fail_verdict", axis.Name == "promote":
		return "response"
	case axis.Name == "start_unasked": // refines a gate
		return "gate"
	}
	return "limit"
}

// PolicyValue writes a value as it stands in a policy file.
func PolicyValue(v any) string {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(strings.ReplaceAll(string(body), ",", ", "), `"`)
}

// Spawn says whether a policy may stand below others: forge policy check --output json.
type Spawn struct {
	Child   string   `json:"child"`
	Parents []string `json:"parents"` // empty: the policy that holds here
	Allowed bool     `json:"allowed"`
	// As in forge decide override.
	Violations      []string `json:"violations"`
	OtherViolations []string `json:"other_violations"`
}

// SpawnOf is what was found of a child below parents.
func SpawnOf(child string, parents []string, s gates.Spawn) Spawn {
	return Spawn{Child: child, Parents: append([]string{}, parents...), Allowed: s.Allowed(), Violations: s.Violations, OtherViolations: s.Others}
}

// SpawnText says it to a person; below is what the parents are called.
func SpawnText(child, below string, s gates.Spawn) string {
	if s.Allowed() {
		return text.Harmless(fmt.Sprintf("%s may be spawned below %s.\n", child, below))
	}
	return text.Harmless(fmt.Sprintf("%s may not be spawned below %s: it is freer on %s.\n", child, below, strings.Join(slices.Concat(s.Violations, s.Others), ", ")))
}

// PolicyDifference is one axis on which two presets differ.
type PolicyDifference struct {
	Axis  string `json:"axis"`
	Kind  string `json:"kind"`
	A     any    `json:"a"`
	B     any    `json:"b"`
	Freer string `json:"freer,omitempty"` // the preset's name; absent where neither is
}

// PolicyDiff are all of them: forge policy diff --output json.
type PolicyDiff struct {
	A    string             `json:"a"`
	B    string             `json:"b"`
	Axes []PolicyDifference `json:"axes"`
}

// Differ compares two presets, which have names.
func Differ(a string, one gates.Policy, b string, other gates.Policy) PolicyDiff {
	out := PolicyDiff{A: a, B: b, Axes: []PolicyDifference{}}
	for _, d := range gates.Compare(one, other) {
		freer := map[string]string{"a": a, "b": b}[d.Freer]
		out.Axes = append(out.Axes, PolicyDifference{Axis: d.Name, Kind: AxisKind(d.Axis), A: d.A, B: d.B, Freer: freer})
	}
	return out
}

// Text is the difference for a person.
func (d PolicyDiff) Text() string {
	if len(d.Axes) == 0 {
		return text.Harmless(fmt.Sprintf("%s and %s are the same.\n", d.A, d.B))
	}
	var rows [][]string
	for _, x := range d.Axes {
		rows = append(rows, []string{x.Kind, x.Axis, PolicyValue(x.A), PolicyValue(x.B), x.Freer})
	}
	return text.Harmless(text.Table([]string{"KIND", "AXIS", d.A, d.B, "FREER"}, rows))
}
