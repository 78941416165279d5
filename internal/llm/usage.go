package llm

import (
	"encoding/json"
	"strconv"

	"forge/internal/work"
)

// tokens is what exchanges consumed; the zero value is nothing.
type tokens struct {
	in, out               int64
	unknownIn, unknownOut bool
}

var unknownTokens = tokens{unknownIn: true, unknownOut: true}

// plus adds; what is unknown on one side is unknown of both together, and so
// is a sum that overflows.
func (t tokens) plus(o tokens) tokens {
	sum := tokens{in: t.in + o.in, out: t.out + o.out}
	sum.unknownIn = t.unknownIn || o.unknownIn || sum.in < 0
	sum.unknownOut = t.unknownOut || o.unknownOut || sum.out < 0
	return sum
}

// readTokens reads the usage of an answer. What is missing, negative or not a
// whole number is unknown, and so is a question of no tokens: there is none.
func readTokens(raw json.RawMessage) tokens {
	var said struct {
		In  json.RawMessage `json:"prompt_tokens"`
		Out json.RawMessage `json:"completion_tokens"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return unknownTokens
	}
	in, okIn := wholeNumber(said.In)
	out, okOut := wholeNumber(said.Out)
	return tokens{in: in, out: out, unknownIn: !okIn || in == 0, unknownOut: !okOut}
}

// wholeNumber reads a count, which some services write as 12.0.
func wholeNumber(raw json.RawMessage) (int64, bool) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return max(n, 0), n >= 0
	}
	const exact = 1 << 53
	x, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || !(x >= 0 && x < exact) || x != float64(int64(x)) {
		return 0, false
	}
	return int64(x), true
}

// bill is the usage in tokens and, where both prices are known or nothing was
// consumed, in dollars.
func (c *Client) bill(t tokens) work.Usage {
	var u work.Usage
	if !t.unknownIn {
		u.InputTokens = &t.in
	}
	if !t.unknownOut {
		u.OutputTokens = &t.out
	}
	if in, out := c.cfg.USDPerMTokIn, c.cfg.USDPerMTokOut; in != nil && out != nil && u.InputTokens != nil && u.OutputTokens != nil {
		usd := (float64(t.in)**in + float64(t.out)**out) / 1e6
		u.CostUSD = &usd
	}
	if t == (tokens{}) {
		u.CostUSD = new(float64)
	}
	return u.Clean()
}
