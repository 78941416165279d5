package gates

import (
	"reflect"
	"slices"
)

// Axis names one axis of a policy: a gate by its point, a limit or a response
// by name.
type Axis struct {
	Name string
	Gate bool // promote is the name of a gate and of a response
}

// AxisValue is one axis of a policy as it is shown.
type AxisValue struct {
	Axis
	Value any // string, float64, bool or []string
}

// Values lists every axis of a policy in normal form, in the order in which
// they are shown: the gates, with all checkpoint types that it names; what
// starts unasked, where that refines a gate; the looks, where it has some; the
// limits; the responses.
func (p Policy) Values() []AxisValue {
	n := Meet(p, p)
	var out []AxisValue
	for _, axis := range axesOf(n) {
		out = append(out, AxisValue{Axis: axis, Value: n.value(axis)})
	}
	return out
}

// axesOf are the axes of policies in normal form that one of them names.
func axesOf(policies ...Policy) []Axis {
	points := Points()
	refined, looks := false, false
	for _, p := range policies {
		for pt := range p.Gates {
			if pt.known() && !slices.Contains(points, pt) {
				points = append(points, pt)
			}
		}
		refined = refined || p.StartUnasked != StartNone
		looks = looks || !p.Looks.None()
	}
	sortPoints(points)
	var out []Axis
	for _, pt := range points {
		out = append(out, Axis{Name: string(pt), Gate: true})
	}
	if refined {
		out = append(out, Axis{Name: "start_unasked"})
	}
	names := slices.Concat(limitNames(), responseNames())
	if looks {
		names = slices.Concat(looksNames(), names)
	}
	for _, name := range names {
		out = append(out, Axis{Name: name})
	}
	return out
}

func (p Policy) value(axis Axis) any {
	if axis.Gate {
		return string(p.At(Point(axis.Name)))
	}
	switch axis.Name {
	case "start_unasked":
		return string(p.StartUnasked)
	case "every":
		return float64(p.Every)
	case "milestones":
		return append([]string{}, p.Milestones...) // none is an empty list
	case "confidence_below":
		return p.ConfidenceBelow
	case "consent":
		return p.Consent
	case "confidence_floor":
		return p.ConfidenceFloor
	case "irreversibility_max":
		return string(p.IrreversibilityMax)
	case "regret_max":
		return string(p.RegretMax)
	case "pause_on_risk_amplifier":
		return p.PauseOnRiskAmplifier
	case "action_kinds":
		return p.ActionKinds
	case "contexts":
		return p.Contexts
	case "tier_floor":
		return string(p.TierFloor)
	case "tier_ceiling":
		return string(p.TierCeiling)
	case "budget_usd":
		return p.BudgetUSD
	case "combined_inference":
		return p.CombinedInference
	case "on_stale":
		return string(p.OnStale)
	case "fail_verdict":
		return string(p.FailVerdict)
	case "promote":
		return string(p.Promote)
	}
	return nil
}

// Difference is one axis on which two policies are not the same.
type Difference struct {
	Axis
	A, B any
	// Freer is "a" or "b"; "" where each allows what the other does not, and
	// for combined_inference, which frees nothing.
	Freer string
}

// Compare lists the axes on which two policies differ, in the order of Values;
// nil means that they decide everything alike.
func Compare(a, b Policy) []Difference {
	a, b = Meet(a, a), Meet(b, b)
	overA, overB := Exceeds(a, b), Exceeds(b, a)
	var out []Difference
	for _, axis := range axesOf(a, b) {
		d := Difference{Axis: axis, A: a.value(axis), B: b.value(axis)}
		if reflect.DeepEqual(d.A, d.B) {
			continue
		}
		name := axis.Name
		if name == "start_unasked" {
			name = string(PointPhaseStart)
		}
		inA, inB := slices.Contains(overA, name), slices.Contains(overB, name)
		switch {
		case inA && !inB:
			d.Freer = "a"
		case inB && !inA:
			d.Freer = "b"
		}
		out = append(out, d)
	}
	return out
}
