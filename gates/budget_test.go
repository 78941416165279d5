package gates

import (
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestReserve(t *testing.T) {
	parent, child := NewInferenceAccount(preset(t, "full")), NewInferenceAccount(preset(t, "manual"))
	if parent.Limit != 500000 || child.Limit != 200000 {
		t.Fatalf("limits %d and %d", parent.Limit, child.Limit)
	}
	chain := []InferenceAccount{parent, child}
	// Ten cents are ten cents, however often they are counted.
	for range 2 {
		var ok bool
		if chain, ok = Reserve(chain, 0.1); !ok {
			t.Fatal("0.1 was refused")
		}
		chain = Settle(chain, 0.1, ptr(0.1))
	}
	if chain[0].Remaining() != 300000 || chain[1].Remaining() != 0 {
		t.Errorf("%+v", chain)
	}
	if after, ok := Reserve(chain, 0.000001); ok || !reflect.DeepEqual(after, chain) {
		t.Error("the child spends what its parent has left")
	}
	if _, ok := Reserve(chain[:1], 0.3); !ok {
		t.Error("the parent cannot spend what it has left")
	}
	for _, usd := range []float64{-1, math.NaN(), math.Inf(1), math.Inf(-1), 2e9} {
		if _, ok := Reserve(chain[:1], usd); ok {
			t.Errorf("reserved %v", usd)
		}
	}
	if _, ok := Reserve(nil, 0); ok {
		t.Error("reserved on no account")
	}
	if _, ok := Reserve([]InferenceAccount{{}}, 0); !ok {
		t.Error("what costs nothing was refused")
	}
	if a := NewInferenceAccount(Policy{Limits: Limits{BudgetUSD: math.NaN()}}); a.Limit != 0 {
		t.Errorf("a budget that is no number: %+v", a)
	}
}

func TestMaySpend(t *testing.T) {
	chain := []InferenceAccount{{Limit: 500000}, {Limit: 200000, Spent: 50000}}
	after, d := MaySpend(chain, 0.1)
	if d.Verdict != Go || d.Facts != "0.100000 USD of 0.150000 that remain" || after[0].Reserved != 100000 || after[1].Reserved != 100000 {
		t.Errorf("%+v, %+v", d, after)
	}
	explains(t, d)
	if after, d = MaySpend(after, 0.1); d.Verdict != Reject || len(d.Failed) != 1 || after[0].Reserved != 100000 {
		t.Errorf("%+v, %+v", d, after)
	}
	explains(t, d)
	if _, d = MaySpend(nil, 0); d.Verdict != Reject {
		t.Errorf("on no account: %+v", d)
	}
}

// A call that does not say what it cost has cost what was set aside for it.
func TestSettle(t *testing.T) {
	start := []InferenceAccount{{Limit: 1000000}}
	held, _ := Reserve(start, 0.4)
	for _, tt := range []struct {
		reported *float64
		spent    int64
	}{
		{ptr(0.1), 100000}, {ptr(0.0), 0}, {ptr(0.7), 700000}, {nil, 400000}, {ptr(-0.1), 400000}, {ptr(math.NaN()), 400000}, {ptr(math.Inf(1)), 400000},
	} {
		if got := Settle(held, 0.4, tt.reported)[0]; got.Spent != tt.spent || got.Reserved != 0 {
			t.Errorf("reported %v: %+v, want %d", tt.reported, got, tt.spent)
		}
	}
	if got := (InferenceAccount{Limit: 5, Spent: 9}).Remaining(); got != 0 {
		t.Errorf("overspent: %d remain", got)
	}
}

// However parents and children reserve and settle, none of them ever has more
// set aside and spent than its limit, when every report keeps to what was set
// aside; and a parent has spent what its children have.
func TestBudgetIsNeverExceeded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(0, 1000000)
		root := InferenceAccount{Limit: limit.Draw(t, "root")}
		kids := []InferenceAccount{{Limit: limit.Draw(t, "a")}, {Limit: limit.Draw(t, "b")}}
		type call struct {
			kid int
			usd float64
		}
		var open []call
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			if len(open) > 0 && rapid.Bool().Draw(t, "settle") {
				c := open[0]
				open = open[1:]
				share := rapid.Float64Range(0, 1).Draw(t, "share")
				after := Settle([]InferenceAccount{root, kids[c.kid]}, c.usd, ptr(c.usd*share))
				root, kids[c.kid] = after[0], after[1]
			} else {
				c := call{rapid.IntRange(0, 1).Draw(t, "kid"), rapid.Float64Range(0, 0.5).Draw(t, "usd")}
				after, ok := Reserve([]InferenceAccount{root, kids[c.kid]}, c.usd)
				if ok {
					root, kids[c.kid] = after[0], after[1]
					open = append(open, c)
				}
			}
			for _, a := range append(kids, root) {
				if a.Spent+a.Reserved > a.Limit || a.Spent < 0 || a.Reserved < 0 {
					t.Fatalf("%+v", a)
				}
			}
			if root.Spent != kids[0].Spent+kids[1].Spent || root.Reserved != kids[0].Reserved+kids[1].Reserved {
				t.Fatalf("%+v is not %+v", root, kids)
			}
		}
	})
}
