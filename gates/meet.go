package gates

import (
	"slices"
)

// Meet is the policy that is, on every axis, the more conservative of a and b:
// what bounds a run by a ceiling and by its parents. It is idempotent,
// commutative and associative. Words and numbers that mean nothing count as
// the most conservative ones, so that Meet(p, p) is p in normal form.
//
// Preset keeps the name of the operand that has exactly the resulting axes
// (the first by alphabet when both have them), else it is "".
// combined_inference has no conservative side; it stays on where both have it.
func Meet(a, b Policy) Policy {
	out := Policy{
		Gates:        make(map[Point]Mode, len(a.Gates)+len(b.Gates)),
		StartUnasked: meetStart(a, b),
		Looks:        meetLooks(a.Looks, b.Looks),
		Limits:       meetLimits(a.Limits, b.Limits),
		OnStale:      meetResponse(PivotThenFail, AskOnStale, a.OnStale, b.OnStale),
		FailVerdict:  meetResponse(FailPhase, AskOnFail, a.FailVerdict, b.FailVerdict),
		Promote:      meetResponse(PromoteOnClean, AlwaysReview, a.Promote, b.Promote),
	}
	for _, gates := range []map[Point]Mode{a.Gates, b.Gates} {
		for pt := range gates {
			out.Gates[pt] = meetMode(a.At(pt), b.At(pt))
		}
	}
	for _, p := range []Policy{a, b} {
		if p.Preset != "" && (out.Preset == "" || p.Preset < out.Preset) && len(differing(p, out)) == 0 {
			out.Preset = p.Preset
		}
	}
	return out
}

// Exceeds names every axis on which child is freer than parent: gates by their
// point, sorted, then looks, limits and responses, promote once for gate and response.
// nil means that parent allows all that child does. combined_inference frees
// nothing and is never named.
func Exceeds(child, parent Policy) []string {
	var out []string
	for _, axis := range differing(child, Meet(child, parent)) {
		if axis != "combined_inference" && !slices.Contains(out, axis) {
			out = append(out, axis)
		}
	}
	return out
}

// starts ranks what may start at phase.start without a person.
func (p Policy) starts() int {
	switch {
	case p.At(PointPhaseStart) == Auto:
		return 2
	case p.StartUnasked == StartLowRisk:
		return 1
	}
	return 0
}

func meetStart(a, b Policy) StartUnasked {
	if min(a.starts(), b.starts()) == 1 {
		return StartLowRisk
	}
	return StartNone
}

func meetMode(a, b Mode) Mode {
	if a == Auto && b == Auto {
		return Auto
	}
	return Human
}

func meetResponse[T ~string](free, conservative, a, b T) T {
	if a == free && b == free {
		return free
	}
	return conservative
}

// differing names the axes on which p, in normal form, is not n, which is in
// normal form. A point that only one of them names differs only when it is
// decided differently.
func differing(p, n Policy) []string {
	var out []string
	add := func(differs bool, axis string) {
		if differs {
			out = append(out, axis)
		}
	}
	for _, gates := range []map[Point]Mode{p.Gates, n.Gates} {
		for pt := range gates {
			// phase.start has three degrees, below.
			add(pt != PointPhaseStart && p.At(pt) != n.At(pt) && !slices.Contains(out, string(pt)), string(pt))
		}
	}
	add(p.starts() != n.starts(), string(PointPhaseStart))
	slices.Sort(out)

	own, looks := meetLooks(p.Looks, p.Looks), n.Looks
	add(own.Every != looks.Every, "every")
	add(!slices.Equal(own.Milestones, looks.Milestones), "milestones")
	add(own.ConfidenceBelow != looks.ConfidenceBelow, "confidence_below")

	l, m := meetLimits(p.Limits, p.Limits), n.Limits
	add(!slices.Equal(l.Consent, m.Consent), "consent")
	add(l.ConfidenceFloor != m.ConfidenceFloor, "confidence_floor")
	add(l.IrreversibilityMax != m.IrreversibilityMax, "irreversibility_max")
	add(l.RegretMax != m.RegretMax, "regret_max")
	add(l.PauseOnRiskAmplifier != m.PauseOnRiskAmplifier, "pause_on_risk_amplifier")
	add(!slices.Equal(l.ActionKinds, m.ActionKinds), "action_kinds")
	add(!slices.Equal(l.Contexts, m.Contexts), "contexts")
	add(l.TierFloor != m.TierFloor, "tier_floor")
	add(l.TierCeiling != m.TierCeiling, "tier_ceiling")
	add(l.BudgetUSD != m.BudgetUSD, "budget_usd")
	add(l.CombinedInference != m.CombinedInference, "combined_inference")

	add(meetResponse(PivotThenFail, AskOnStale, p.OnStale, p.OnStale) != n.OnStale, "on_stale")
	add(meetResponse(FailPhase, AskOnFail, p.FailVerdict, p.FailVerdict) != n.FailVerdict, "fail_verdict")
	add(meetResponse(PromoteOnClean, AlwaysReview, p.Promote, p.Promote) != n.Promote, "promote")
	return out
}
