package agent

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// claudeEnd is what the result event says, and what else bears on the
// judgement.
type claudeEnd struct {
	seen      bool
	subtype   string
	terminal  string // terminal_reason
	apiError  string
	lastError string // of the last message that the program made up
	text      string
	success   bool // is_error is there, and false
	status    int  // of the HTTP answer, 0 = none
	usage     work.Usage
	unknown   bool     // the tokens of a turn are not known
	cost      *float64 // of the whole session
	denied    []string
	resetAt   *time.Time // of a limit that was hit
}

// atResult notes a result. Of several the last one counts, which is the end of
// the last turn.
func (c *claudeStream) atResult() {
	c.endAll()
	e := &c.end
	e.seen = true
	e.subtype = string(c.event[claudeSubtype].text)
	e.terminal = string(c.event[claudeTerminal].text)
	if c.event[claudeTerminal].kind == 'n' {
		e.terminal = ""
	}
	e.apiError = string(c.event[claudeAPIError].text)
	e.success = c.event[claudeIsError].kind == 'f'
	e.text = cmp.Or(string(c.event[claudeResult].text), string(c.event[claudeErrors].text))
	e.status = 0
	if c.event[claudeStatus].kind == '0' {
		// A status that is no number is one that is not known, and not 0.
		n, err := strconv.Atoi(string(c.event[claudeStatus].text))
		if e.status = n; err != nil {
			e.status = -1
		}
	}
	e.cost = nil
	in, known := c.tokens(claudeResultIn, claudeResultCacheWritten, claudeResultCacheRead)
	out, outKnown := c.tokens(claudeResultOut)
	switch {
	case !known || !outKnown:
		e.usage, e.unknown = work.Usage{}, true
	case !e.unknown:
		// Tokens are told of each turn, money of all.
		if was := e.usage; was.InputTokens != nil {
			in, out = in+*was.InputTokens, out+*was.OutputTokens
		}
		e.usage = work.Usage{InputTokens: &in, OutputTokens: &out}
	}
	if usd, err := strconv.ParseFloat(string(c.event[claudeCost].text), 64); err == nil && usd >= 0 {
		e.cost = &usd
	}
	for _, d := range c.denied {
		e.denied = capped(e.denied, []string{oneLine(d.String(), c.red)})
	}
	// What people said and its model was not given yet follows as another turn.
	waits := c.told.close()
	c.input.Close()
	if !waits {
		c.live.gotResult()
	}
}

func (c *claudeStream) finish(e ending) work.IterationReport {
	c.lines.close()
	c.input.Close()
	r := work.IterationReport{Session: c.session, Denied: c.end.denied}
	c.words.report(&r, c.red)
	c.own.report(&r)
	r.Outcome, r.Detail = c.judge(e)
	if r.Outcome == work.OutcomeRateLimited {
		r.ResetAt = c.end.resetAt
		if r.ResetAt == nil {
			r.ResetAt = usageLimitReset(c.end.text)
		}
	}
	if r.Outcome == work.OutcomeAgentFailed && c.req.Session != "" && c.sessionRefused(e) {
		r.SessionLost, r.Session = true, ""
	}
	c.usage(&r)
	return r
}

// judge says how an agent ended that ended by itself, or after its result.
// What is not known to be success is none.
func (c *claudeStream) judge(e ending) (work.Outcome, string) {
	end := c.end
	switch {
	case !end.seen:
		return work.OutcomeAgentFailed, cmp.Or(e.failed(), "the agent ended without a result")
	case end.subtype == "error_max_budget_usd":
		return work.OutcomeCostLimit, end.text
	case !end.success && end.outage():
		return work.OutcomeRateLimited, end.text
	case !end.success || end.subtype != "success" || end.status != 0 || end.apiError != "" ||
		end.terminal != "" && end.terminal != "completed":
		why := "the agent's result is " + cmp.Or(end.subtype, "of no known kind")
		if end.terminal != "" {
			why += ", " + end.terminal
		}
		if end.text != "" {
			why += ": " + end.text
		}
		return work.OutcomeAgentFailed, why
	case e.failed() != "":
		return work.OutcomeAgentFailed, e.failed()
	}
	return work.OutcomeOK, ""
}

// outage says that the model could not be reached, or would not answer: none
// of the agent's doing, and worth another try later.
func (e claudeEnd) outage() bool {
	switch e.status {
	case 401, 403, 407, 408, 429:
		return true
	}
	if e.status >= 500 {
		return true
	}
	switch e.lastError {
	case "rate_limit", "server_error", "overloaded", "authentication_failed", "billing_error":
		return true
	}
	switch e.apiError {
	case "connection_failed", "usage_limit_reached":
		return true
	}
	return usageLimitReset(e.text) != nil
}

// sessionRefused says that the session to continue is not there, or too long
// to be continued.
func (c *claudeStream) sessionRefused(e ending) bool {
	const gone = "No conversation found with session ID"
	return strings.Contains(c.end.text, gone) || strings.Contains(e.stderr, gone) ||
		c.end.terminal == "blocking_limit" || strings.HasPrefix(c.end.text, "Prompt is too long")
}

// usage reports tokens of this run, and money, which the program counts for
// the whole session, with the earlier runs taken out.
func (c *claudeStream) usage(r *work.IterationReport) {
	if !c.end.seen {
		// What was counted by the way is less than was used, but not unknown.
		r.Usage, r.Total = c.spent, c.spent
		return
	}
	r.Usage, r.Total = c.end.usage, c.end.usage
	if c.end.cost == nil {
		return
	}
	total, own := *c.end.cost, *c.end.cost
	if before := c.req.Before.CostUSD; c.req.Session != "" && before != nil && *before >= 0 && *before <= total {
		own = total - *before
	}
	r.Total.CostUSD, r.Usage.CostUSD = &total, &own
}

var limitReached = text.Lazy(`usage limit reached\|([0-9]{9,11})\b`)

// usageLimitReset reads the time in "… usage limit reached|<seconds>".
func usageLimitReset(text string) *time.Time {
	if m := limitReached().FindStringSubmatch(text); m != nil {
		return epoch(m[1])
	}
	return nil
}

// epoch reads seconds since 1970; nil when it is none.
func epoch(s string) *time.Time {
	n, err := strconv.ParseInt(s, 10, 40)
	if err != nil || n <= 0 {
		return nil
	}
	t := time.Unix(n, 0).UTC()
	return &t
}
