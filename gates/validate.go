package gates

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"forge/internal/text"
	"forge/internal/work"
)

// maxPointBytes bounds the name of a checkpoint type, which is shown in every
// listing.
const maxPointBytes = 100

// Validate returns everything wrong with a policy, addressed by axis; nil when
// it can be used. A point that is missing is not wrong: it is human.
func (p Policy) Validate() []work.Problem {
	var out []work.Problem
	add := func(path, what, fix string) {
		out = append(out, work.Problem{Path: path, What: what, Fix: fix})
	}
	for _, pt := range slices.Sorted(maps.Keys(p.Gates)) {
		path := "gates." + text.Clip(string(pt), mostQuoted)
		if what, fix := pt.problem(); what != "" {
			add(path, what, fix)
		}
		if m := p.Gates[pt]; m != Auto && m != Human {
			add(path, fmt.Sprintf("unknown mode %q", text.Clip(string(m), mostQuoted)), "use auto or human")
		}
	}
	if p.StartUnasked != StartNone && p.StartUnasked != StartLowRisk {
		add("start_unasked", fmt.Sprintf("unknown word %q", text.Clip(string(p.StartUnasked), mostQuoted)), "use low_risk, or leave it out")
	}
	out = append(out, p.Looks.problems()...)
	out = append(out, limitProblems(p.Limits)...)

	oneOf := func(path, got string, of ...string) {
		if !slices.Contains(of, got) {
			add(path, fmt.Sprintf("unknown word %q", text.Clip(got, mostQuoted)), didYouMean(got, of))
		}
	}
	oneOf("on_stale", string(p.OnStale), string(PivotThenFail), string(AskOnStale))
	oneOf("fail_verdict", string(p.FailVerdict), string(FailPhase), string(AskOnFail))
	oneOf("promote", string(p.Promote), string(PromoteOnClean), string(AlwaysReview))

	agree := func(pt Point, asks bool, response string) {
		if (p.At(pt) == Human) != asks {
			add("gates."+string(pt), fmt.Sprintf("the gate is %s, which %s contradicts", p.At(pt), response), "make both ask, or neither")
		}
	}
	agree(PointStale, p.OnStale != PivotThenFail, "on_stale")
	agree(PointFindings, p.FailVerdict != FailPhase, "fail_verdict")
	agree(PointPromote, p.Promote != PromoteOnClean, "promote")
	return out
}

// problem is why a policy cannot name a point, and the way out; "" when it can.
func (pt Point) problem() (what, fix string) {
	switch {
	case !pt.known():
		return "unknown gate", didYouMean(string(pt), words(slices.Concat(Points(), DoubtPoints())))
	case len(pt) > maxPointBytes || strings.ContainsFunc(string(pt), unicode.IsSpace) || text.Hides(string(pt)):
		return "a checkpoint type of unusable form", fmt.Sprintf("use printable text of at most %d bytes", maxPointBytes)
	}
	return "", ""
}

func limitProblems(l Limits) []work.Problem {
	var out []work.Problem
	add := func(path, what, fix string) {
		out = append(out, work.Problem{Path: path, What: what, Fix: fix})
	}
	oneOf := func(path, got string, of []string) {
		if !slices.Contains(of, got) {
			add(path, fmt.Sprintf("unknown word %q", text.Clip(got, mostQuoted)), didYouMean(got, of))
		}
	}
	each := func(path string, got, of []string) {
		for i, w := range got {
			oneOf(fmt.Sprintf("%s[%d]", path, i), w, of)
		}
	}
	each("consent", l.Consent, ConsentKinds())
	if usableFloor(l.ConfidenceFloor) == unreachableFloor {
		add("confidence_floor", fmt.Sprintf("a floor of %v", l.ConfidenceFloor), "use a number from 0 to 1")
	}
	oneOf("irreversibility_max", string(l.IrreversibilityMax), words(Risks()))
	oneOf("regret_max", string(l.RegretMax), words(Risks()))
	each("action_kinds", l.ActionKinds, ActionKinds())
	each("contexts", l.Contexts, Contexts())
	oneOf("tier_floor", string(l.TierFloor), words(Tiers()))
	oneOf("tier_ceiling", string(l.TierCeiling), words(Tiers()))
	if f, c := slices.Index(Tiers(), l.TierFloor), slices.Index(Tiers(), l.TierCeiling); c >= 0 && f > c {
		add("tier_floor", fmt.Sprintf("the floor %s is above the ceiling %s", l.TierFloor, l.TierCeiling), "lower the floor or raise the ceiling")
	}
	if !(l.BudgetUSD >= 0 && l.BudgetUSD <= maxBudgetUSD) {
		add("budget_usd", fmt.Sprintf("a budget of %v", l.BudgetUSD), "use dollars, 0 or more")
	}
	return out
}

func words[T ~string](in []T) []string {
	out := make([]string, len(in))
	for i, w := range in {
		out[i] = string(w)
	}
	return out
}
