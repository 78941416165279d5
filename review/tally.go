package review

import "forge/internal/work"

// tally adds usage up; one unknown amount makes the sum unknown.
type tally struct {
	in, out             int64
	usd                 float64
	noIn, noOut, noCost bool
}

func (t *tally) add(u work.Usage) {
	u = u.Clean()
	if u.InputTokens == nil {
		t.noIn = true
	} else {
		t.in += *u.InputTokens
	}
	if u.OutputTokens == nil {
		t.noOut = true
	} else {
		t.out += *u.OutputTokens
	}
	if u.CostUSD == nil {
		t.noCost = true
	} else {
		t.usd += *u.CostUSD
	}
}

func (t *tally) sum() work.Usage {
	var u work.Usage
	if !t.noIn {
		u.InputTokens = &t.in
	}
	if !t.noOut {
		u.OutputTokens = &t.out
	}
	if !t.noCost {
		u.CostUSD = &t.usd
	}
	return u.Clean()
}
