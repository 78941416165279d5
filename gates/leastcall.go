package gates

import (
	"fmt"
	"math"
	"slices"
)

// LeastAct is Least for MayAct: the smallest change of p under which work may
// begin an action on an occasion. ok is false for an occasion that is none.
func (p Policy) LeastAct(context string) (changes []Change, ok bool) {
	if p.MayAct(context).Verdict == Go {
		return nil, true
	}
	if !slices.Contains(Contexts(), context) {
		return nil, false
	}
	return []Change{{Axis{Name: "contexts"}, append(slices.Clone(p.Contexts), context), 1}}, true
}

// LeastAsk is Least for MayAsk: the smallest change of p under which an
// inference may go to a model of a tier. ok is false for a tier that is none.
func (p Policy) LeastAsk(t Tier) (changes []Change, ok bool) {
	if !slices.Contains(Tiers(), t) {
		return nil, false
	}
	ways := []Change{{Axis{Name: "tier_floor"}, string(t), 1}, {Axis{Name: "tier_ceiling"}, string(t), 1}}
	return least(ways, func(some []Change) bool {
		q, usable := p.changed(some)
		return usable && q.MayAsk(t).Verdict == Go
	})
}

// spendFacts is what MaySpend had before it; readFacts reads it.
const (
	spendFacts = "%.6f USD of %.6f that remain"
	readFacts  = "%f USD of %f that remain"
)

// LeastSpend is Least for MaySpend, read from the facts of its refusal. It is
// about work that has no parents, whose own budget alone can be short; ok is
// false for facts that say nothing of the kind.
func (p Policy) LeastSpend(facts string) (changes []Change, ok bool) {
	var usd, left float64
	if _, err := fmt.Sscanf(facts, readFacts, &usd, &left); err != nil || !(usd > 0 && usd > left && usd-left <= maxBudgetUSD) {
		return nil, false
	}
	short := math.Ceil((usd-left)*micros-1e-3) / micros
	to := math.Round((usableBudget(p.BudgetUSD)+short)*micros) / micros
	return []Change{{Axis{Name: "budget_usd"}, to, 1}}, true
}
