package config

import (
	"fmt"
	"reflect"

	"forge/gates"
)

// stage is a policy on its way from the preset that was chosen to the one that
// holds: each lays something over the one before it.
type stage struct {
	policy gates.Policy
	name   string
	// said is the place where the stage names an axis; ok is false where it
	// does not. nil names none.
	said func(gates.Axis) (at string, ok bool)
}

// PolicyAxis is one axis of the policy that holds, with the layer that its
// value came from.
type PolicyAxis struct {
	gates.AxisValue
	Origin string // "preset guided", ".forge/forge.toml:7", "ceiling review by …"
}

// PolicyAxes is Policy axis by axis.
func PolicyAxes(cfg *Config, flags PolicyFlags) (gates.Policy, gates.Origin, []PolicyAxis, error) {
	policy, origin, stages, err := choosePolicy(cfg, flags)
	if err != nil {
		return gates.Policy{}, gates.Origin{}, nil, err
	}
	return policy, origin, traced(stages), nil
}

// PresetAxes is a preset axis by axis; ok is false when there is none of that
// name.
func PresetAxes(cfg *Config, name string) (policy gates.Policy, axes []PolicyAxis, ok bool) {
	policy, ok = cfg.policies.catalogue.Preset(name)
	if !ok {
		return gates.Policy{}, nil, false
	}
	return policy, traced(cfg.policies.stages(name)), true
}

// Presets are the presets that a word may name in this project.
func (c *Config) Presets() gates.Catalogue { return c.policies.catalogue }

// traced gives each axis of the last stage the stage that set it.
func traced(stages []stage) []PolicyAxis {
	var out []PolicyAxis
	for _, v := range stages[len(stages)-1].policy.Values() {
		axis := PolicyAxis{AxisValue: v, Origin: stages[0].name}
		before := valueOf(stages[0].policy, v.Axis)
		for _, s := range stages[1:] {
			now := valueOf(s.policy, v.Axis)
			at, named := "", false
			if s.said != nil {
				at, named = s.said(v.Axis)
			}
			switch {
			case named:
				axis.Origin = at
			case !reflect.DeepEqual(now, before):
				axis.Origin = s.name
			}
			before = now
		}
		out = append(out, axis)
	}
	return out
}

// valueOf is the value of an axis, also of a checkpoint type that the policy
// does not name.
func valueOf(p gates.Policy, axis gates.Axis) any {
	for _, v := range p.Values() {
		if v.Axis == axis {
			return v.Value
		}
	}
	if axis.Gate {
		return string(p.At(gates.Point(axis.Name)))
	}
	return nil
}

// saidAxis finds an axis in [autonomy.policy] of a layer.
func (l *layer) saidAxis(axis gates.Axis) (string, bool) {
	return axisPlace(l.file, l.index, []string{"autonomy", "policy"}, axis)
}

// axisPlace finds an axis below a table.
func axisPlace(file string, idx index, table []string, axis gates.Axis) (string, bool) {
	ways := [][]string{{axis.Name}}
	if axis.Gate {
		ways = [][]string{{"gates", axis.Name}}
		for _, target := range gates.Targets() {
			if axis.Name == string(target) {
				ways = append(ways, []string{"auto_advance"})
			}
		}
	}
	for _, way := range ways {
		path := append(append([]string{}, table...), way...)
		if idx.has(path...) {
			return placed(file, idx.find(path)), true
		}
	}
	return "", false
}

func placed(file string, at place) string {
	if at.line == 0 {
		return file
	}
	return fmt.Sprintf("%s:%d", file, at.line)
}
