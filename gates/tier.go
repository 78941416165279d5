package gates

import (
	"fmt"
	"slices"

	"forge/internal/text"
)

// TierOf is the tier of a model in [llm.tiers]; frontier_fast for one that is
// not listed there, "" for one that is listed with a word that is no tier.
func TierOf(model string, tiers map[string]string) Tier {
	word, ok := tiers[model]
	switch {
	case !ok:
		return TierFrontierFast
	case slices.Contains(Tiers(), Tier(word)):
		return Tier(word)
	}
	return ""
}

// MayAsk says whether an inference may go to a model of a tier: between the
// policy's floor and ceiling, both included. A tier that is none may not be
// asked, nor any under a policy whose floor or ceiling is none.
func (p Policy) MayAsk(t Tier) Decision {
	at, floor, ceiling := slices.Index(Tiers(), t), slices.Index(Tiers(), p.TierFloor), slices.Index(Tiers(), p.TierCeiling)
	d := Decision{
		Verdict: Go, By: "rule:tiers",
		Reason: fmt.Sprintf("%s is within the policy's tiers", t),
		Facts:  fmt.Sprintf("tier %s, allowed %s to %s", text.Clip(string(t), mostQuoted), text.Clip(string(p.TierFloor), mostQuoted), text.Clip(string(p.TierCeiling), mostQuoted)),
	}
	look := func(axis string, passes bool) {
		if passes {
			d.Passed = append(d.Passed, axis)
			return
		}
		d.Failed = append(d.Failed, axis)
		d.Verdict, d.Reason = Reject, fmt.Sprintf("%q is outside the policy's tiers", text.Clip(string(t), mostQuoted))
	}
	look("tier_floor", at >= 0 && floor >= 0 && at >= floor)
	look("tier_ceiling", at >= 0 && ceiling >= 0 && at <= ceiling)
	return d
}
