package gates

import (
	"testing"

	"pgregory.net/rapid"
)

// Of the changes of one or two axes that let a tier be asked, an occasion be
// taken or a call be paid, the smallest is named, and it does.
func TestLeastOfACall(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPreset(t)
		p.TierFloor = rapid.SampledFrom(Tiers()).Draw(t, "floor")
		p.TierCeiling = rapid.SampledFrom(Tiers()).Draw(t, "ceiling")
		p.Contexts = rapid.SampledFrom([][]string{{}, {"action_proposal"}, Contexts()}).Draw(t, "contexts")
		tier := rapid.SampledFrom(append(Tiers(), "", "vast")).Draw(t, "tier")
		changes, ok := p.LeastAsk(tier)
		if known := tier != "" && tier != "vast"; ok != known {
			t.Fatalf("tier %q: %v, %v", tier, changes, ok)
		}
		if failed := len(p.MayAsk(tier).Failed); ok && (len(changes) != failed || p.Changed(changes).MayAsk(tier).Verdict != Go) {
			t.Fatalf("tier %q fails on %d axes and is asked with %v", tier, failed, changes)
		}

		context := rapid.SampledFrom(append(Contexts(), "made up")).Draw(t, "context")
		changes, ok = p.LeastAct(context)
		if ok != (context != "made up") || ok && p.Changed(changes).MayAct(context).Verdict != Go {
			t.Fatalf("occasion %q: %v, %v", context, changes, ok)
		}
		if was := p.MayAct(context).Verdict == Go; ok && was != (len(changes) == 0) {
			t.Fatalf("occasion %q, allowed %v: %v", context, was, changes)
		}

		cents := rapid.IntRange(0, 100)
		p.BudgetUSD = float64(cents.Draw(t, "budget")) / 100
		account := NewInferenceAccount(p)
		account.Spent = int64(cents.Draw(t, "spent")) * 10_000
		usd := float64(cents.Draw(t, "cost")) / 100
		_, refused := MaySpend([]InferenceAccount{account}, usd)
		changes, ok = p.LeastSpend(refused.Facts)
		if ok != (refused.Verdict != Go) {
			t.Fatalf("%s: %v, %v", refused.Facts, changes, ok)
		}
		if ok {
			for micros, want := range map[int64]Verdict{0: Go, -1: Reject} {
				richer := NewInferenceAccount(p.Changed(changes))
				richer.Spent, richer.Limit = account.Spent, richer.Limit+micros
				if _, may := MaySpend([]InferenceAccount{richer}, usd); may.Verdict != want {
					t.Fatalf("%s: with %v and %d more it is %s", refused.Facts, changes, micros, may.Verdict)
				}
			}
		}
	})
	for _, facts := range []string{"", "much", "-1 USD of 0.5 that remain", "NaN USD of 0 that remain", "1 USD of -Inf that remain"} {
		if changes, ok := (Policy{}).LeastSpend(facts); ok {
			t.Errorf("%q: %v", facts, changes)
		}
	}
}
