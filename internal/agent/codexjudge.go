package agent

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// codexEnd is how the last turn ended.
type codexEnd struct {
	seen      bool // a terminal event came
	success   bool
	why       string // of a failure
	lastError string // said outside of a terminal event
	total     work.Usage
}

// atEnd notes the end of a turn. Of several turns the last one counts.
func (c *codexStream) atEnd(end codexEnd) {
	for id := range c.running {
		c.ended(id)
	}
	end.lastError = c.end.lastError
	if end.total = c.tokens(); end.total.InputTokens == nil {
		end.total = c.counted
	}
	c.end = end
	if end.total.InputTokens != nil {
		c.live.spent(c.own())
	}
	c.live.gotResult()
}

// tokens is the usage that the event names.
func (c *codexStream) tokens() (u work.Usage) {
	in, inErr := strconv.ParseInt(c.text(codexInTokens), 10, 48)
	out, outErr := strconv.ParseInt(c.text(codexOutTokens), 10, 48)
	if inErr == nil && outErr == nil && in >= 0 && out >= 0 {
		u = work.Usage{InputTokens: &in, OutputTokens: &out}
	}
	return u
}

// own is the usage of this run: the program counts the whole session's.
func (c *codexStream) own() work.Usage {
	total, before := c.end.total, c.req.Before.Clean()
	if c.req.Session == "" || total.InputTokens == nil || before.InputTokens == nil || before.OutputTokens == nil ||
		*before.InputTokens > *total.InputTokens || *before.OutputTokens > *total.OutputTokens {
		return total
	}
	in, out := *total.InputTokens-*before.InputTokens, *total.OutputTokens-*before.OutputTokens
	return work.Usage{InputTokens: &in, OutputTokens: &out}
}

func (c *codexStream) finish(e ending) work.IterationReport {
	c.lines.close()
	c.answered()
	r := work.IterationReport{Session: c.session, Usage: c.own(), Total: c.end.total, Denied: capped(c.denied, c.refused)}
	c.words.report(&r, c.red)
	r.Outcome, r.Detail = c.judge(e)
	if r.Outcome == work.OutcomeRateLimited {
		r.ResetAt = codexReset(r.Detail, c.now(), c.environ)
	}
	if r.Outcome == work.OutcomeAgentFailed && c.req.Session != "" && c.sessionRefused(e) {
		r.SessionLost, r.Session = true, ""
	}
	return r
}

// judge says how an agent ended that ended by itself, or after its result.
// What is not known to be success is none.
func (c *codexStream) judge(e ending) (work.Outcome, string) {
	end := c.end
	switch why := cmp.Or(end.why, end.lastError); {
	case end.seen && !end.success && codexOutage(why):
		return work.OutcomeRateLimited, why
	case end.seen && !end.success:
		return work.OutcomeAgentFailed, cmp.Or(why, "the agent's turn failed")
	case !end.seen && codexOutage(end.lastError):
		return work.OutcomeRateLimited, end.lastError
	case !end.seen:
		return work.OutcomeAgentFailed, cmp.Or(end.lastError, e.failed(), "the agent ended without a result")
	case e.failed() != "":
		return work.OutcomeAgentFailed, e.failed()
	}
	return work.OutcomeOK, ""
}

var codexStatus = text.Lazy(`^(?:unexpected status|exceeded retry limit, last status:) ([0-9]{3})\b`)

// codexOutages begin what the program says when the model could not be
// reached, or would not answer: none of the agent's doing, and worth another
// try later. "’" is the program's.
var codexOutages = []string{
	"We’re currently experiencing high demand", "Selected model is at capacity", "Policy-restricted capacity is unavailable",
	"rate limit exceeded", "You’ve hit your usage limit", "You've hit your usage limit", "Quota exceeded", "To use Codex with your ChatGPT plan",
	"stream disconnected before completion", "Connection failed", "error sending request", "timeout waiting for",
	"request timed out", "Missing environment variable", "Your authentication session could not be refreshed",
	"Your access token could not be refreshed", "Not logged in",
}

// codexOutage reads the program's message. What the provider said stands in
// its midst, and does not decide.
func codexOutage(message string) bool {
	if m := codexStatus().FindStringSubmatch(message); m != nil {
		switch m[1] {
		case "401", "403", "407", "408", "429":
			return true
		}
		return m[1][0] == '5'
	}
	if strings.Contains(message, "Incomplete response returned") {
		return false // a filter's doing, or the answer's length: it would be so again
	}
	for _, prefix := range codexOutages {
		if strings.HasPrefix(message, prefix) {
			return true
		}
	}
	return false
}

// sessionRefused says that the session to continue is not there, or too long
// to be continued.
func (c *codexStream) sessionRefused(e ending) bool {
	return c.session == "" && strings.Contains(e.stderr, "thread/resume failed") ||
		strings.HasPrefix(c.end.why, "Codex ran out of room in the model's context window")
}

// logged takes a line of standard error, which alone says what was refused to
// the agent.
func (c *codexStream) logged(line []byte) {
	line = codexColours().ReplaceAll(line, nil) // its server's lines have them
	_, what, ok := bytes.Cut(line, []byte(" ERROR codex_core::tools::router: error="))
	if ok && (bytes.Contains(what, []byte("rejected")) || bytes.Contains(what, []byte("reject command"))) {
		c.refused = capped(c.refused, []string{oneLine(string(what), c.red)})
	}
}

var codexColours = text.Lazy(`\x1b\[[0-9;]*m`)

var (
	codexResetIn = text.Lazy(`try again in ((?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+)`)
	codexResetAt = text.Lazy(`try again at (?:([A-Z][a-z]{2}) ([0-9]{1,2})(?:st|nd|rd|th), ([0-9]{4}) )?([0-9]{1,2}:[0-9]{2} [AP]M)`)
)

// codexReset reads the time after which the program may be tried again. It is
// given in local time, cut to the minute, and without a day when that is now's.
func codexReset(message string, now time.Time, e environ) *time.Time {
	if m := codexResetIn().FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(m[1]); err == nil && d > 0 {
			at := now.Add(d).UTC().Round(time.Second)
			return &at
		}
	}
	m := codexResetAt().FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	zone := time.Local
	if name := e.get("TZ"); name != "" {
		if z, err := time.LoadLocation(strings.TrimPrefix(name, ":")); err == nil {
			zone = z
		}
	}
	day := now.In(zone).Format("Jan 2 2006")
	if m[1] != "" {
		day = m[1] + " " + m[2] + " " + m[3]
	}
	at, err := time.ParseInLocation("Jan 2 2006 3:04 PM", day+" "+m[4], zone)
	if err != nil {
		return nil
	}
	if at = at.Add(time.Minute).UTC(); !at.After(now) {
		return nil
	}
	return &at
}
