package llm

import (
	"encoding/json"
	"math"
	"testing"
)

func TestReadTokens(t *testing.T) {
	for _, tc := range []struct {
		raw     string
		in, out int64 // -1 = unknown
	}{
		{`{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}`, 12, 3},
		{`{"prompt_tokens":12.0,"completion_tokens":0}`, 12, 0},
		{`{"prompt_tokens":12}`, 12, -1},
		{`{"prompt_tokens":0,"completion_tokens":0}`, -1, 0},
		{`{"prompt_tokens":-1,"completion_tokens":3}`, -1, 3},
		{`{"prompt_tokens":1.5,"completion_tokens":1e400}`, -1, -1},
		{`{"prompt_tokens":"12","completion_tokens":null}`, -1, -1},
		{`{"prompt_tokens":99999999999999999999,"completion_tokens":{}}`, -1, -1},
		{`{}`, -1, -1}, {`null`, -1, -1}, {`[]`, -1, -1}, {``, -1, -1}, {`7`, -1, -1},
	} {
		got := readTokens(json.RawMessage(tc.raw))
		in, out := got.in, got.out
		if got.unknownIn {
			in = -1
		}
		if got.unknownOut {
			out = -1
		}
		if in != tc.in || out != tc.out {
			t.Errorf("%s: %d in, %d out, want %d and %d", tc.raw, in, out, tc.in, tc.out)
		}
	}
}

func TestBill(t *testing.T) {
	price := 2.5
	c, _ := client(t, Config{BaseURL: "http://service.invalid", USDPerMTokIn: &price, USDPerMTokOut: &price})
	if u := c.bill(tokens{in: 1_000_000, out: 1_000_000}); *u.CostUSD != 5 {
		t.Errorf("cost %v, want 5", *u.CostUSD)
	}
	// What is unknown in one part is unknown of the whole, and has no price.
	u := c.bill(tokens{in: 5, out: 5}.plus(tokens{in: 1, unknownOut: true}))
	if *u.InputTokens != 6 || u.OutputTokens != nil || u.CostUSD != nil {
		t.Errorf("usage %+v", u)
	}
	if u = c.bill(tokens{in: 1, unknownOut: true}.plus(tokens{in: 5, out: 5})); *u.InputTokens != 6 || u.OutputTokens != nil {
		t.Errorf("the other way round: %+v", u)
	}
	most := tokens{in: math.MaxInt64, out: math.MaxInt64}
	if u = c.bill(most.plus(most).plus(tokens{in: 5, out: 5})); u.InputTokens != nil || u.OutputTokens != nil {
		t.Errorf("a sum that overflows twice: %+v", u)
	}
	if u = c.bill(tokens{in: math.MaxInt64}.plus(tokens{in: 1})); u.InputTokens != nil || *u.OutputTokens != 0 || u.CostUSD != nil {
		t.Errorf("a sum that overflows: %+v", u)
	}
	huge := math.MaxFloat64
	c.cfg.USDPerMTokIn, c.cfg.USDPerMTokOut = &huge, &huge
	if u = c.bill(tokens{in: math.MaxInt64}); u.CostUSD != nil {
		t.Errorf("a cost that is not finite: %v", *u.CostUSD)
	}
	c.cfg.USDPerMTokOut = nil
	if u = c.bill(tokens{in: 1}); u.CostUSD != nil {
		t.Error("one price of two gives a cost")
	}
	if u = c.bill(tokens{}); u.CostUSD == nil || *u.CostUSD != 0 {
		t.Error("nothing has no cost")
	}
}

// An answer without usage is unknown, never nothing; one that was refused cost
// nothing.
func TestUsageIsNeverZeroByDefault(t *testing.T) {
	_, rep, trouble := times(t, Config{}, step{status: 200, body: `{"choices":[{"message":{"content":"{\"verdict\":\"pass\",\"findings\":[]}"}}]}`})
	if trouble != nil || rep.Usage.InputTokens != nil || rep.Usage.OutputTokens != nil {
		t.Errorf("usage %+v, %v", rep.Usage, trouble)
	}
	_, rep, _ = times(t, Config{}, step{status: 500}, good())
	if *rep.Usage.InputTokens != 7 || *rep.Usage.OutputTokens != 5 {
		t.Errorf("after a 500: %d and %d", *rep.Usage.InputTokens, *rep.Usage.OutputTokens)
	}
	_, rep, trouble = times(t, Config{}, step{status: 200, body: `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`})
	if trouble == nil || *rep.Usage.InputTokens != 9 {
		t.Errorf("with an error: %+v", rep.Usage)
	}
}
