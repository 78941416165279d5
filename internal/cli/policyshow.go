package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"forge/gates"
	"forge/internal/config"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
)

// shownPolicy is forge policy show --output json.
type shownPolicy struct {
	Preset  string       `json:"preset"`            // what was chosen
	Chosen  string       `json:"chosen_by"`         // the word's place; "" for a preset that was asked for
	Ceiling string       `json:"ceiling,omitempty"` // what bounds it
	Bounded []string     `json:"bounded"`           // the axes on which the ceiling took something away
	Version string       `json:"version"`
	Axes    []shownAxis  `json:"axes"`
	Policy  gates.Policy `json:"policy"`
}

type shownAxis struct {
	Axis  string `json:"axis"`
	Kind  string `json:"kind"` // gate, limit or response
	Value any    `json:"value"`
	From  string `json:"from"`
}

func (a *App) policyShow(p policies) error {
	var s shownPolicy
	var axes []config.PolicyAxis
	if len(p.args) == 1 {
		name := p.args[0]
		if p.flags != (config.PolicyFlags{}) {
			return refusal.New("leave one of them out", "forge policy show takes a preset or the flags of a run, not both")
		}
		policy, err := project.Preset(p.cfg, name)
		if err != nil {
			return err
		}
		_, axes, _ = config.PresetAxes(p.cfg, name)
		s = shownPolicy{Preset: name, Policy: policy}
	} else {
		if p.at == "" {
			return refusal.New("forge policy show NAME shows a preset", "there is no project here whose policy could be shown")
		}
		policy, origin, all, err := config.PolicyAxes(p.cfg, p.flags)
		if err != nil {
			return err
		}
		axes = all
		s = shownPolicy{Preset: origin.Preset, Chosen: chosenBy(p.cfg, origin), Ceiling: origin.Ceiling, Bounded: origin.Bounded, Policy: policy}
	}
	s.Version, s.Bounded = s.Policy.Version(), append([]string{}, s.Bounded...)
	for _, axis := range axes {
		s.Axes = append(s.Axes, shownAxis{Axis: axis.Name, Kind: axisKind(axis.Axis), Value: axis.Value, From: axis.Origin})
	}
	if p.json {
		return printJSON(a.Stdout, s)
	}
	head := "Preset " + s.Preset
	if s.Chosen != "" {
		head = fmt.Sprintf("Policy %s, chosen by %s", s.Preset, s.Chosen)
	}
	if len(s.Bounded) > 0 {
		head += fmt.Sprintf("; the ceiling %s bounds %s", s.Ceiling, strings.Join(s.Bounded, ", "))
	}
	var rows [][]string
	for _, axis := range s.Axes {
		rows = append(rows, []string{axis.Kind, axis.Axis, valueText(axis.Value), axis.From})
	}
	_, err := fmt.Fprint(a.Stdout, text.Harmless(head+"\nVersion "+s.Version+"\n\n"+text.Table([]string{"KIND", "AXIS", "VALUE", "FROM"}, rows)))
	return err
}

// chosenBy is the place of the word that chose, as closely as it is known.
func chosenBy(cfg *config.Config, origin gates.Origin) string {
	key, more, _ := strings.Cut(origin.Source, " ")
	if at := cfg.Origin(key); at != "" {
		key = at + " (" + key + ")"
	}
	return strings.TrimSpace(key + " " + more)
}

func axisKind(axis gates.Axis) string {
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

// valueText writes a value as it stands in a policy file.
func valueText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.Trim(strings.ReplaceAll(string(text), ",", ", "), `"`)
}

// checkedSpawn is forge policy check --output json.
type checkedSpawn struct {
	Child   string   `json:"child"`
	Parents []string `json:"parents"` // empty: the policy that holds here
	Allowed bool     `json:"allowed"`
	// As in forge decide override.
	Violations      []string `json:"violations"`
	OtherViolations []string `json:"other_violations"`
}

// policyCheck ends with exit code 1 when the child is refused.
func (a *App) policyCheck(p policies) error {
	child, err := project.Preset(p.cfg, p.args[0])
	if err != nil {
		return err
	}
	parents := p.args[1:]
	if len(parents) > 0 && p.flags != (config.PolicyFlags{}) {
		return refusal.New("leave one of them out", "forge policy check takes parents or the flags of a run, not both")
	}
	var chain []gates.Policy
	for _, name := range parents {
		parent, err := project.Preset(p.cfg, name)
		if err != nil {
			return err
		}
		chain = append(chain, parent)
	}
	below := strings.Join(parents, ", ")
	if len(parents) == 0 {
		if p.at == "" {
			return refusal.New("name a parent: forge policy check CHILD PARENT", "there is no project here whose policy could be the parent's")
		}
		here, origin, err := config.Policy(p.cfg, p.flags)
		if err != nil {
			return err
		}
		chain, below = []gates.Policy{here}, origin.String()
	}
	s := gates.CheckSpawn(child, chain...)
	if p.json {
		err = printJSON(a.Stdout, checkedSpawn{
			Child: p.args[0], Parents: append([]string{}, parents...), Allowed: s.Allowed(), Violations: s.Violations, OtherViolations: s.Others,
		})
	} else {
		body := fmt.Sprintf("%s may be spawned below %s.\n", p.args[0], below)
		if !s.Allowed() {
			body = fmt.Sprintf("%s may not be spawned below %s: it is freer on %s.\n", p.args[0], below,
				strings.Join(append(append([]string{}, s.Violations...), s.Others...), ", "))
		}
		_, err = fmt.Fprint(a.Stdout, text.Harmless(body))
	}
	if err == nil && !s.Allowed() {
		err = codeError(exitFailed)
	}
	return err
}

// shownDifference is one axis of forge policy diff --output json.
type shownDifference struct {
	Axis  string `json:"axis"`
	Kind  string `json:"kind"`
	A     any    `json:"a"`
	B     any    `json:"b"`
	Freer string `json:"freer,omitempty"` // the preset's name; absent where neither is
}

func (a *App) policyDiff(p policies) error {
	one, err := project.Preset(p.cfg, p.args[0])
	if err != nil {
		return err
	}
	other, err := project.Preset(p.cfg, p.args[1])
	if err != nil {
		return err
	}
	list := []shownDifference{}
	var rows [][]string
	for _, d := range gates.Compare(one, other) {
		freer := map[string]string{"a": p.args[0], "b": p.args[1]}[d.Freer]
		list = append(list, shownDifference{Axis: d.Name, Kind: axisKind(d.Axis), A: d.A, B: d.B, Freer: freer})
		rows = append(rows, []string{axisKind(d.Axis), d.Name, valueText(d.A), valueText(d.B), freer})
	}
	if p.json {
		return printJSON(a.Stdout, map[string]any{"a": p.args[0], "b": p.args[1], "axes": list})
	}
	if len(list) == 0 {
		_, err = fmt.Fprintf(a.Stdout, "%s and %s are the same.\n", p.args[0], p.args[1])
		return err
	}
	_, err = fmt.Fprint(a.Stdout, text.Harmless(text.Table([]string{"KIND", "AXIS", p.args[0], p.args[1], "FREER"}, rows)))
	return err
}
