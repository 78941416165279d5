package agent

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// geminiEnd is what the result event says, and what else bears on the
// judgement.
type geminiEnd struct {
	seen   bool
	status string
	why    string
	usage  work.Usage
	failed string // an error among the events
}

// atResult notes a result. Of several the last one counts.
func (g *geminiStream) atResult() {
	for id := range g.running {
		delete(g.running, id)
		g.live.busy(-1)
	}
	e := &g.end
	e.seen, e.status, e.usage = true, g.text(geminiStatus), work.Usage{}
	e.why = cmp.Or(g.text(geminiErrorMessage), g.text(geminiErrorType))
	total, totalErr := strconv.ParseInt(g.text(geminiTotal), 10, 48)
	in, inErr := strconv.ParseInt(g.text(geminiIn), 10, 48)
	out, outErr := strconv.ParseInt(g.text(geminiOut), 10, 48)
	// A request that failed is not counted, so that nothing is unknown then.
	counted := in > 0 || out > 0 || e.status == "success"
	if inErr == nil && outErr == nil && in >= 0 && out >= 0 && counted {
		if totalErr == nil {
			out = max(out, total-in) // thoughts are paid for, and stand in the total only
		}
		e.usage = work.Usage{InputTokens: &in, OutputTokens: &out}
		g.live.spent(e.usage)
	}
	g.live.gotResult()
}

func (g *geminiStream) finish(e ending) work.IterationReport {
	g.lines.close()
	g.ended()
	r := work.IterationReport{Session: g.session, Usage: g.end.usage, Total: g.end.usage, Denied: g.denied}
	g.words.report(&r, g.red)
	r.Outcome, r.Detail = g.judge(e)
	switch r.Outcome {
	case work.OutcomeRateLimited:
		r.ResetAt = geminiReset(g.end.why, g.now())
	case work.OutcomeAgentFailed:
		if g.req.Session != "" && (g.session == "" && strings.Contains(e.stderr, "Error resuming session") || geminiTooLong().MatchString(g.end.why)) {
			r.SessionLost, r.Session = true, ""
		}
	}
	return r
}

// judge says how an agent ended that ended by itself, or after its result. On
// a signal the program exits with 0, and gives no result. What is not known to
// be success is none.
func (g *geminiStream) judge(e ending) (work.Outcome, string) {
	end, code := g.end, 0
	if e.byItself && e.code != nil {
		code = *e.code
	}
	switch {
	case !end.seen && code == geminiNoLogin:
		return work.OutcomeRateLimited, withLastLine("gemini is not logged in", geminiLoginError(e.stderr))
	case !end.seen && geminiOutage(code):
		return work.OutcomeRateLimited, e.failed()
	case !end.seen:
		return work.OutcomeAgentFailed, cmp.Or(e.failed(), "the agent ended without a result")
	case end.status == "error" && (geminiOutage(code) || code <= 1 && geminiNetwork().MatchString(end.why)):
		return work.OutcomeRateLimited, cmp.Or(end.why, e.failed())
	case end.status != "success":
		return work.OutcomeAgentFailed, cmp.Or(end.why, end.failed, "the agent's result is "+cmp.Or(end.status, "of no known kind"))
	case end.failed != "":
		return work.OutcomeAgentFailed, end.failed
	case e.failed() != "":
		return work.OutcomeAgentFailed, e.failed()
	}
	return work.OutcomeOK, ""
}

// geminiNoLogin is the exit code of a program that cannot log in. 42 is one
// for bad input, 52 for bad settings, 53 for too many turns, 55 for a folder
// that is not trusted.
const geminiNoLogin = 41

// geminiOutage says that an exit code is an HTTP status, of which it is the
// last eight bits, that says: not now.
func geminiOutage(code int) bool {
	switch code {
	case 401 - 256, 403 - 256, 407 - 256, 408 - 256, 429 - 256, 499 - 256:
		return true
	case 529 - 512:
		return true
	}
	return code >= 500-256 && code <= 255
}

// geminiNetwork is what the program says of an error that has no HTTP status,
// since there was no answer, or half of one.
var geminiNetwork = text.Lazy(`(?i)^\[API Error: .*(?:terminated|fetch failed|premature close|other side closed|incomplete json|econnre(?:fused|set)|enotfound|eai_again|etimedout|epipe|socket hang up|\bund_err_|network|timed? ?out)`)

var geminiTooLong = text.Lazy(`(?i)input token count.* exceeds the maximum|context window`)

// geminiLoginError is the part of standard error that says what is missing.
func geminiLoginError(stderr string) string {
	for line := range strings.SplitSeq(stderr, "\n") {
		if lower := strings.ToLower(line); strings.Contains(lower, "auth") || strings.Contains(lower, "must specify") {
			return line
		}
	}
	return stderr
}

var geminiResetIn = text.Lazy(`(?i)(?:retry in|reset after|try again in) ((?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+)`)

// geminiReset reads when the provider may be asked again.
func geminiReset(message string, now time.Time) *time.Time {
	m := geminiResetIn().FindStringSubmatch(message)
	if m == nil {
		return nil
	}
	d, err := time.ParseDuration(m[1])
	if err != nil || d <= 0 {
		return nil
	}
	at := now.Add(d).UTC().Round(time.Second)
	return &at
}
