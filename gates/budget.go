package gates

import (
	"fmt"
	"math"
)

// InferenceAccount is what one piece of work (an issue, a job, a sub-issue)
// may spend on Forge's own intent, context and action calls. It is a value in
// millionths of a dollar, so that cents add up; the zero value may spend
// nothing.
type InferenceAccount struct {
	Limit    int64 `json:"limit"`
	Spent    int64 `json:"spent"`
	Reserved int64 `json:"reserved"` // by calls that have not reported yet
}

const micros = 1e6

// NewInferenceAccount is the account of work that begins under a policy.
func NewInferenceAccount(p Policy) InferenceAccount {
	return InferenceAccount{Limit: int64(math.Floor(usableBudget(p.BudgetUSD)*micros + 1e-3))}
}

// Remaining is what a call may still reserve.
func (a InferenceAccount) Remaining() int64 { return max(a.Limit-a.Spent-a.Reserved, 0) }

// Reserve sets usd aside for one call, before it is made. chain is the account
// of the work that calls with those of all its parents, in any order: a child
// draws on what remains to each of them, and on its own limit. ok is false,
// and the accounts are as they were, when one cannot pay, when the chain is
// empty, or when usd is no amount of money.
//
// A combined call is one call.
func Reserve(chain []InferenceAccount, usd float64) (after []InferenceAccount, ok bool) {
	need, known := cost(usd)
	if !known || len(chain) == 0 {
		return chain, false
	}
	after = make([]InferenceAccount, len(chain))
	for i, a := range chain {
		if need > a.Remaining() {
			return chain, false
		}
		a.Reserved += need
		after[i] = a
	}
	return after, true
}

// MaySpend is Reserve with the decision for the record.
func MaySpend(chain []InferenceAccount, usd float64) ([]InferenceAccount, Decision) {
	least := int64(0)
	for i, a := range chain {
		// Below nothing where a call took more than was set aside for it.
		if left := a.Limit - a.Spent - a.Reserved; i == 0 || left < least {
			least = left
		}
	}
	after, ok := Reserve(chain, usd)
	d := Decision{
		Verdict: Go, By: "rule:inference_budget", Passed: []string{"budget_usd"}, Reason: "the budget of the work and of its parents allows it",
		Facts: fmt.Sprintf(spendFacts, usd, float64(least)/micros),
	}
	if !ok {
		d.Verdict, d.Passed, d.Failed = Reject, nil, d.Passed
		d.Reason = "the budget of the work, or of one of its parents, does not allow it"
	}
	return after, d
}

// Settle replaces a reservation by what the call reported. A report that is no
// amount of money leaves the reservation spent, since nobody knows better; one
// above it is spent as reported.
func Settle(chain []InferenceAccount, reserved float64, reported *float64) []InferenceAccount {
	held, _ := cost(reserved)
	spent := held
	if reported != nil {
		if amount, known := cost(*reported); known {
			spent = amount
		}
	}
	after := make([]InferenceAccount, len(chain))
	for i, a := range chain {
		a.Reserved = max(a.Reserved-held, 0)
		a.Spent += spent
		after[i] = a
	}
	return after
}

// cost rounds up, so that no number of small calls is free.
func cost(usd float64) (int64, bool) {
	if !(usd >= 0 && usd <= maxBudgetUSD) {
		return 0, false
	}
	return int64(math.Ceil(usd*micros - 1e-3)), true
}
