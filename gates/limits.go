package gates

import "slices"

// Limits bound what a machine may confirm by itself at the points intent,
// context and action.
type Limits struct {
	// Consent holds the kinds of confirmation that need a person.
	Consent []string `json:"consent" toml:"consent"`
	// ConfidenceFloor is the least confidence, 0 to 1, that advances.
	ConfidenceFloor float64 `json:"confidence_floor" toml:"confidence_floor"`
	// IrreversibilityMax and RegretMax are the worst ratings that advance;
	// "" lets none.
	IrreversibilityMax Risk `json:"irreversibility_max" toml:"irreversibility_max"`
	RegretMax          Risk `json:"regret_max" toml:"regret_max"`
	// PauseOnRiskAmplifier surfaces every action with a risk amplifier.
	PauseOnRiskAmplifier bool `json:"pause_on_risk_amplifier" toml:"pause_on_risk_amplifier"`
	// ActionKinds and Contexts are allow-lists: empty allows nothing.
	ActionKinds []string `json:"action_kinds" toml:"action_kinds"`
	Contexts    []string `json:"contexts" toml:"contexts"`
	// TierFloor and TierCeiling bound the model tiers; "" allows none.
	TierFloor   Tier `json:"tier_floor" toml:"tier_floor"`
	TierCeiling Tier `json:"tier_ceiling" toml:"tier_ceiling"`
	// BudgetUSD is for Forge's own inference calls of one issue or job.
	BudgetUSD float64 `json:"budget_usd" toml:"budget_usd"`
	// CombinedInference asks for intent, context and action in one call. It
	// saves calls and frees nothing: each of the three gates still decides.
	CombinedInference bool `json:"combined_inference" toml:"combined_inference"`
}

// Risk rates what an action may cost: low < medium < high.
type Risk string

// The ratings, rising.
const (
	RiskLow    Risk = "low"
	RiskMedium Risk = "medium"
	RiskHigh   Risk = "high"
)

// Tier is a class of models, or the user.
type Tier string

// The tiers, rising.
const (
	TierLocalToolCalling Tier = "local_tool_calling"
	TierLocalFast        Tier = "local_fast"
	TierFrontierFast     Tier = "frontier_fast"
	TierFrontierBalanced Tier = "frontier_balanced"
	TierFrontierBest     Tier = "frontier_best"
	TierAgentHeadless    Tier = "agent_headless"
	TierUser             Tier = "user"
)

// Risks lists the ratings, rising.
func Risks() []Risk { return []Risk{RiskLow, RiskMedium, RiskHigh} }

// Tiers lists the tiers, rising.
func Tiers() []Tier {
	return []Tier{
		TierLocalToolCalling, TierLocalFast, TierFrontierFast, TierFrontierBalanced,
		TierFrontierBest, TierAgentHeadless, TierUser,
	}
}

// ConsentKinds lists the confirmations that a policy may reserve for a person.
func ConsentKinds() []string {
	return []string{"intent_confirmed", "context_confirmed", "action_picked", "action_approved"}
}

// ActionKinds lists the kinds of action that a policy may allow.
func ActionKinds() []string { return []string{"standard", "improvised", "suggestion"} }

// Contexts lists the occasions for an action that a policy may allow.
func Contexts() []string {
	return []string{"action_proposal", "agent_autonomous", "user_invocation"}
}

// unreachableFloor stands for a confidence floor that is not a number from 0
// to 1: no confidence reaches it, so an unusable floor lets nothing advance.
const unreachableFloor = 2.0

// meetLimits is, per limit, the more conservative of two.
func meetLimits(l, o Limits) Limits {
	return Limits{
		Consent:              union(ConsentKinds(), l.Consent, o.Consent),
		ConfidenceFloor:      max(usableFloor(l.ConfidenceFloor), usableFloor(o.ConfidenceFloor)),
		IrreversibilityMax:   lower(Risks(), l.IrreversibilityMax, o.IrreversibilityMax),
		RegretMax:            lower(Risks(), l.RegretMax, o.RegretMax),
		PauseOnRiskAmplifier: l.PauseOnRiskAmplifier || o.PauseOnRiskAmplifier,
		ActionKinds:          intersection(ActionKinds(), l.ActionKinds, o.ActionKinds),
		Contexts:             intersection(Contexts(), l.Contexts, o.Contexts),
		TierFloor:            higher(Tiers(), l.TierFloor, o.TierFloor),
		TierCeiling:          lower(Tiers(), l.TierCeiling, o.TierCeiling),
		BudgetUSD:            min(usableBudget(l.BudgetUSD), usableBudget(o.BudgetUSD)),
		CombinedInference:    l.CombinedInference && o.CombinedInference,
	}
}

func usableFloor(f float64) float64 {
	if f >= 0 && f <= 1 {
		return f
	}
	return unreachableFloor
}

func usableBudget(usd float64) float64 {
	if usd >= 0 && usd <= maxBudgetUSD {
		return usd
	}
	return 0
}

// maxBudgetUSD is above every real budget; what is larger, infinity included,
// is a mistake.
const maxBudgetUSD = 1e9

// lower is the earlier of two words in a rising order; "" when either is not
// in it, which bounds from above so that nothing passes.
func lower[T ~string](order []T, a, b T) T {
	i := min(slices.Index(order, a), slices.Index(order, b))
	if i < 0 {
		return ""
	}
	return order[i]
}

// higher is the later of two words in a rising order; "" when either is not in
// it, which bounds from below so that nothing passes.
func higher[T ~string](order []T, a, b T) T {
	i, j := slices.Index(order, a), slices.Index(order, b)
	if i < 0 || j < 0 {
		return ""
	}
	return order[max(i, j)]
}

// union keeps words that it does not know: one more reason to ask.
func union(order, a, b []string) []string {
	out := make([]string, 0, len(order))
	for _, w := range order {
		if slices.Contains(a, w) || slices.Contains(b, w) {
			out = append(out, w)
		}
	}
	known := len(out)
	for _, w := range slices.Concat(a, b) {
		if !slices.Contains(order, w) && !slices.Contains(out[known:], w) {
			out = append(out, w)
		}
	}
	slices.Sort(out[known:])
	return out
}

// intersection drops words that it does not know: they allow nothing.
func intersection(order, a, b []string) []string {
	out := make([]string, 0, len(order))
	for _, w := range order {
		if slices.Contains(a, w) && slices.Contains(b, w) {
			out = append(out, w)
		}
	}
	return out
}
