package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"forge/internal/text"
	"forge/internal/work"
)

func (c *acpStream) finish(e ending) work.IterationReport {
	return c.report(c.over(), e)
}

func (c *acpStream) report(end acpEnd, e ending) work.IterationReport {
	c.lines.close()
	c.endCalls()
	if c.message != "" {
		c.next("")
	}
	c.mu.Lock()
	r := work.IterationReport{Denied: c.denied}
	c.mu.Unlock()
	if end.server.continues() && c.keeps() {
		r.Session = end.session
	}
	c.words.report(&r, c.red)
	r.Outcome, r.Detail = end.judge(e)
	if r.Outcome == work.OutcomeRateLimited {
		r.ResetAt = usageLimitReset(r.Detail)
	}
	if r.Outcome == work.OutcomeAgentFailed && c.req.Session != "" && (end.lost || end.tooLong()) {
		r.SessionLost, r.Session = true, ""
	}
	r.Usage, r.Total = c.usage(end)
	return r
}

// keeps says that what the server keeps of its sessions may outlive it: the
// home that a sandbox gives it does not.
func (c *acpStream) keeps() bool { return !c.sandboxed || len(c.req.Sandbox.Write) > 0 }

// judge says how the turn ended. The protocol knows one good end; how the
// server exits afterwards is not part of it.
func (e acpEnd) judge(how ending) (work.Outcome, string) {
	gone := e.err != nil && acpGone(e.err)
	switch {
	case e.err != nil && !gone && acpOutage(e.err) != "":
		return work.OutcomeRateLimited, acpOutage(e.err)
	case e.err != nil && !gone:
		return work.OutcomeAgentFailed, "cannot " + e.step + ": " + acpWhy(e.err)
	case e.result == nil:
		return work.OutcomeAgentFailed, cmp.Or(how.failed(), "the agent ended without an answer to the prompt")
	}
	var result struct {
		Reason string `json:"stopReason"`
	}
	if err := json.Unmarshal(e.result, &result); err != nil || result.Reason == "" {
		return work.OutcomeAgentFailed, "the agent does not say why its turn ended"
	}
	if result.Reason != string(acp.StopReasonEndTurn) {
		return work.OutcomeAgentFailed, "the agent's turn ended by " + strings.ReplaceAll(result.Reason, "_", " ")
	}
	return work.OutcomeOK, ""
}

// acpWhy is what the server says of an error.
func acpWhy(err error) string {
	var refused *acp.RequestError
	if !errors.As(err, &refused) {
		return err.Error()
	}
	var data struct {
		Details string `json:"details"`
		Error   string `json:"error"`
	}
	if raw, err := json.Marshal(refused.Data); err == nil {
		_ = json.Unmarshal(raw, &data) // of another form: not known
	}
	why := refused.Message
	if more := cmp.Or(data.Details, data.Error); more != "" && more != why {
		why += ": " + more
	}
	return why
}

// The status of an HTTP answer as servers name it, and words that they use
// when there is none.
var (
	acpStatus = text.Lazy(`(?i)(?:API error|status(?: code)?|HTTP)\W{0,3}(?:request rejected \()?([1-5][0-9]{2})\b`)
	acpWords  = text.Lazy(`(?i)rate.?limit|too many requests|quota|overloaded|at capacity|unavailable|usage limit|credit balance|billing|` +
		`authenticat|unauthorized|not logged in|log ?in again|sign in again|api key|ECONN|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|unable to connect|network error|` +
		`fetch failed|socket|timed? ?out|server.?side issue|internal server error|bad gateway`)
)

// acpOutage says why the model could not be reached, or would not answer: none
// of the agent's doing, and worth another try later. "" when that is not so.
// The protocol has a code for a missing login only; some servers put the HTTP
// status into the code, some a word into the data, some neither.
func acpOutage(err error) string {
	var refused *acp.RequestError
	if !errors.As(err, &refused) {
		return ""
	}
	why := acpWhy(err)
	status := refused.Code
	if m := acpStatus().FindStringSubmatch(why); m != nil && (status < 100 || status > 599) {
		status, _ = strconv.Atoi(m[1]) // three digits
	}
	var data struct {
		Kind string `json:"errorKind"`
	}
	if raw, err := json.Marshal(refused.Data); err == nil {
		_ = json.Unmarshal(raw, &data) // of another form: not known
	}
	outage := false
	switch {
	case refused.Code == acpAuthRequired:
		outage = true
	case data.Kind != "" && data.Kind != "unknown":
		outage = (claudeEnd{lastError: data.Kind}).outage()
	case status >= 100 && status <= 599:
		outage = (claudeEnd{status: status}).outage()
	case refused.Code == acpInvalidParams || refused.Code == acpNotFound:
	default:
		outage = acpWords().MatchString(why)
	}
	if !outage {
		return ""
	}
	return cmp.Or(why, fmt.Sprintf("error %d", refused.Code))
}

const (
	acpAuthRequired  = -32000
	acpNotFound      = -32002
	acpInvalidParams = -32602
)

var acpTooLong = text.Lazy(`(?i)prompt is too long|context.?(?:length|window|overflow)|maximum context|input is too long`)

// tooLong says that the session is too long to be continued.
func (e acpEnd) tooLong() bool {
	var refused *acp.RequestError
	return errors.As(e.err, &refused) && acpTooLong().MatchString(acpWhy(e.err))
}

// Servers whose numbers are not what they seem. opencode reports the tokens of
// the turn's last request as the turn's. Whether claude-agent-acp reports the
// cost of the session or of its own process depends on the program behind it.
const (
	acpOpencode = "OpenCode"
	acpClaude   = "@agentclientprotocol/claude-agent-acp"
)

// spent is what the turn has cost so far. The protocol counts cost by session,
// and nothing else while a turn lasts.
func (c *acpStream) spent() (u work.Usage) {
	if c.cost == nil || c.req.Session != "" && c.server.Agent.Name == acpClaude {
		return u
	}
	own := *c.cost
	if before := c.req.Before.CostUSD; c.req.Session != "" && before != nil && *before >= 0 && *before <= own {
		own -= *before
	}
	u.CostUSD = &own
	return u
}

// usage sums the tokens of all turns. They are known when those of each are.
func (c *acpStream) usage(end acpEnd) (own, total work.Usage) {
	own = c.spent()
	total.CostUSD = c.cost
	if end.server.Agent.Name == acpOpencode || end.result == nil {
		return own, total
	}
	var in, out int64
	for _, result := range append(slices.Clip(end.earlier), end.result) {
		i, o := acpTokens(result)
		if i == nil || o == nil {
			return own, total
		}
		in, out = in+*i, out+*o
	}
	own.InputTokens, own.OutputTokens = &in, &out
	total.InputTokens, total.OutputTokens = own.InputTokens, own.OutputTokens
	return own, total
}

// acpTokens reads the tokens of a turn, for which there are two places; nil = they
// are not known.
func acpTokens(answer json.RawMessage) (in, out *int64) {
	type count struct {
		In     *int64 `json:"inputTokens"`
		Out    *int64 `json:"outputTokens"`
		Read   int64  `json:"cachedReadTokens"`
		Writes int64  `json:"cachedWriteTokens"`
	}
	var result struct {
		Usage count `json:"usage"`
	}
	var meta struct {
		Meta struct {
			Quota struct {
				Count struct {
					In  *int64 `json:"input_tokens"`
					Out *int64 `json:"output_tokens"`
				} `json:"token_count"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	switch u := &result.Usage; {
	case json.Unmarshal(answer, &result) == nil && u.In != nil && u.Out != nil && *u.In >= 0 && *u.Out >= 0 && u.Read >= 0 && u.Writes >= 0:
		all := *u.In + u.Read + u.Writes
		return &all, u.Out
	case json.Unmarshal(answer, &meta) == nil && meta.Meta.Quota.Count.In != nil && meta.Meta.Quota.Count.Out != nil:
		return meta.Meta.Quota.Count.In, meta.Meta.Quota.Count.Out
	}
	return nil, nil
}
