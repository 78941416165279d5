package agent

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// opencodeEnd is what bears on the judgement. There is no result event: the
// last step has to say that the model was done, and nothing may have failed.
type opencodeEnd struct {
	reason   string // of the last step; "" while one runs
	steps    int    // that have ended in order
	failed   bool   // an error came
	name     string // of the last error
	why      string
	status   int // of the HTTP answer, 0 = none
	retry    bool
	resetAt  *time.Time
	overflow int // errors in a row that say the conversation is too long
	last     int // steps when the last of them came

	logged string // the last error in the log
	vague  bool   // the error names the log, which may come after it
	left   bool   // the log says that it is done

	in, out int64
	cost    float64
	known   int  // steps that told their tokens
	priced  int  // steps that told their price
	all     int  // steps in all
	hidden  bool // something was spent that no step tells
}

// add counts the usage of a step.
func (e *opencodeEnd) add(step work.Usage) {
	e.all++
	if step.InputTokens != nil {
		e.in, e.out, e.known = e.in+*step.InputTokens, e.out+*step.OutputTokens, e.known+1
	}
	if step.CostUSD != nil {
		e.cost, e.priced = e.cost+*step.CostUSD, e.priced+1
	}
}

// usage is the sum of the steps; what one of them does not tell is unknown.
func (e *opencodeEnd) usage() work.Usage {
	var u work.Usage
	if e.all == 0 || e.hidden {
		return u
	}
	if e.known == e.all {
		in, out := e.in, e.out
		u.InputTokens, u.OutputTokens = &in, &out
	}
	if e.priced == e.all {
		usd := e.cost
		u.CostUSD = &usd
	}
	return u
}

// maxOverflows is how often in a row the conversation may be too long: the
// program makes it shorter and tries again, for ever when the prompt alone is
// too long.
const maxOverflows = 3

// atError notes an error. Also one that the program gets over makes it exit
// with 1, so that none is ever forgotten.
func (o *opencodeStream) atError() {
	e := &o.end
	e.failed = true
	e.name = o.text(opencodeErrorName)
	e.why = cmp.Or(o.text(opencodeErrorMessage), o.text(opencodeErrorSaid), o.text(opencodeErrorText), e.name, "unknown error")
	e.vague = strings.HasPrefix(e.why, "Unexpected server error")
	if e.vague {
		e.why = cmp.Or(e.logged, e.why) // its own server's, which says more in the log
	}
	e.retry = o.event[opencodeRetryable].kind == 't'
	e.status, e.resetAt = 0, nil
	if o.event[opencodeErrorStatus].kind == '0' {
		n, err := strconv.Atoi(o.text(opencodeErrorStatus))
		if e.status = n; err != nil {
			e.status = -1
		}
	}
	if wait := o.retryAfter(); wait > 0 {
		at := o.now().Add(wait).UTC().Round(time.Second)
		e.resetAt = &at
	}
	if e.name != "ContextOverflowError" {
		return
	}
	// Between two of them there is one step, which makes it shorter.
	if e.steps > e.last+1 {
		e.overflow = 0
	}
	e.overflow, e.last = e.overflow+1, e.steps
	if e.overflow >= maxOverflows {
		o.live.stop(stop{outcome: work.OutcomeAgentFailed, detail: "the conversation is too long for the model: " + e.why})
	}
}

// retryAfter is how long the provider asks to wait, 0 = it does not say.
func (o *opencodeStream) retryAfter() time.Duration {
	const most = 366 * 24 * time.Hour
	for _, c := range []struct {
		f    field
		unit time.Duration
	}{{opencodeRetryAfterMS, time.Millisecond}, {opencodeRetryAfter, time.Second}} {
		n, err := strconv.ParseFloat(o.text(c.f), 64)
		if err == nil && n > 0 && n <= float64(most/c.unit) {
			return time.Duration(n * float64(c.unit))
		}
	}
	if at, err := time.Parse(time.RFC1123, o.text(opencodeRetryAfter)); err == nil {
		return min(at.Sub(o.now()), most)
	}
	return 0
}

func (o *opencodeStream) finish(e ending) work.IterationReport {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lines.close()
	o.answered()
	o.toolsEnded()
	usage := o.end.usage()
	r := work.IterationReport{Session: cmp.Or(o.session, o.req.Session), Usage: usage, Total: usage, Denied: o.denied}
	o.words.report(&r, o.red)
	r.Outcome, r.Detail = o.judge(e)
	switch r.Outcome {
	case work.OutcomeRateLimited:
		r.ResetAt = o.end.resetAt
	case work.OutcomeAgentFailed:
		if o.req.Session != "" && o.sessionRefused(e) {
			r.SessionLost, r.Session = true, ""
		}
	}
	return r
}

// sessionRefused says that the session to continue is not there, or too long
// to be continued, or of another folder: then the program goes on with it, and
// hears nothing of that.
func (o *opencodeStream) sessionRefused(e ending) bool {
	return o.end.name == "ContextOverflowError" || o.session == "" && strings.Contains(e.stderr, "Session not found") ||
		o.end.left && o.session == "" && o.end.all == 0
}

// judge says how an agent ended that ended by itself, or after its last step.
// What is not known to be success is none.
func (o *opencodeStream) judge(e ending) (work.Outcome, string) {
	switch end := &o.end; {
	case end.failed && end.outage():
		return work.OutcomeRateLimited, end.why
	case end.failed:
		return work.OutcomeAgentFailed, end.why
	case e.failed() != "":
		return work.OutcomeAgentFailed, e.failed()
	case end.all == 0:
		return work.OutcomeAgentFailed, "the agent ended without an answer"
	case end.reason == "":
		return work.OutcomeAgentFailed, "the agent ended within a step"
	case end.reason != "stop":
		return work.OutcomeAgentFailed, "the agent's last step ended with " + end.reason
	}
	return work.OutcomeOK, ""
}

// opencodeNetwork is what errors say that have no HTTP status because there
// was no answer.
var opencodeNetwork = text.Lazy(`(?i)socket connection was closed|unable to connect|cannot connect|fetch failed|failed to fetch|connection (?:refused|reset|closed|lost|error)|econnre(?:fused|set)|enotfound|eai_again|etimedout|socket hang up|network[ _-]error|timed? ?out`)

// outage says that the model could not be reached, or would not answer: none
// of the agent's doing, and worth another try later.
func (e *opencodeEnd) outage() bool {
	switch {
	case e.name == "ContextOverflowError":
		return false
	case e.name == "ProviderAuthError":
		return true
	case e.status > 0:
		switch e.status {
		case 401, 402, 403, 407, 408, 429:
			return true
		}
		return e.status >= 500
	case e.status < 0:
		return false
	}
	return e.retry || opencodeNetwork().MatchString(e.why)
}
