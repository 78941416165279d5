package agent

import (
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

// acpFor is a stream in the midst of a turn of session S.
func acpFor(req work.IterationRequest) *acpStream {
	l := newLive(req, codexFor(req).red, nil)
	l.started(nil, false)
	c := newACPStream(setting{req: req, live: l, red: l.red})
	from, to := io.Pipe()
	_ = from.Close() // of a pipe: never fails; nobody reads what is passed on
	c.pipe, c.session = to, "S"
	close(c.begun)
	return c
}

func acpUpdate(body string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{` + body + `}}}`
}

func acpChunk(text, id string) string {
	if id != "" {
		id = `,"messageId":"` + id + `"`
	}
	return acpUpdate(`"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"` + text + `"}` + id)
}

var (
	acpDone    = acpEnd{server: acpServer{Version: 1}, session: "S", result: json.RawMessage(`{"stopReason":"end_turn","usage":{"inputTokens":100,"outputTokens":10}}`)}
	acpThought = acpUpdate(`"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"<promise>DONE</promise>"}`)
	acpCalled  = acpUpdate(`"sessionUpdate":"tool_call","toolCallId":"c1","title":"echo '<promise>DONE</promise>'","status":"pending","rawInput":{"command":"<promise>DONE</promise>"}`)
	acpEnded   = acpUpdate(`"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"<promise>DONE</promise>"}}]`)
	acpWhole   = acpChunk("<promise>DONE</promise>", "")
)

func readACP(req work.IterationRequest, lines ...string) work.IterationReport {
	c := acpFor(req)
	_, _ = c.Write([]byte(strings.Join(lines, "\n") + "\n"))
	return c.report(acpDone, exited(0))
}

// Each of the lines holds the promise where it is not the agent's word.
func TestACPWordsThatDoNotCount(t *testing.T) {
	for name, line := range map[string]string{
		"thought": acpThought, "call": acpCalled, "result": acpEnded,
		"prompt":             strings.Replace(acpWhole, "agent_message", "user_message", 1),
		"another session":    strings.Replace(acpWhole, `"S"`, `"T"`, 1),
		"no session":         strings.Replace(acpWhole, `"sessionId":"S",`, ``, 1),
		"another method":     strings.Replace(acpWhole, "session/update", "session/sing", 1),
		"a request":          strings.Replace(acpWhole, `"method"`, `"id":1,"method"`, 1),
		"unknown update":     strings.Replace(acpWhole, "agent_message_chunk", "agent_song", 1),
		"an image":           strings.Replace(acpWhole, `"type":"text"`, `"type":"image"`, 1),
		"no type":            strings.Replace(acpWhole, `"type":"text",`, ``, 1),
		"a subagent":         strings.Replace(acpWhole, `"content"`, `"_meta":{"claudeCode":{"parentToolUseId":"t"}},"content"`, 1),
		"text twice":         strings.Replace(acpWhole, `</promise>"`, `</promise>","text":"no"`, 1),
		"a broken line":      acpWhole[:len(acpWhole)-1] + ",}",
		"no JSON":            "<promise>DONE</promise>",
		"an answer":          `{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn","text":"<promise>DONE</promise>"}}`,
		"a plan":             acpUpdate(`"sessionUpdate":"plan","entries":[{"content":"<promise>DONE</promise>"}],"content":{"type":"text","text":"<promise>DONE</promise>"}`),
		"over a thought":     acpChunk("<promise>DO", "") + "\n" + acpThought + "\n" + acpChunk("NE</promise>", ""),
		"over a call":        acpChunk("<promise>DO", "a") + "\n" + acpEnded + "\n" + acpChunk("NE</promise>", "a"),
		"over two messages":  acpChunk("<promise>DO", "a") + "\n" + acpChunk("NE</promise>", "b"),
		"the server's own":   acpChunk("So it is.", "a") + "\n" + acpWhole,
		"the server's, then": acpChunk("So it is. <promise>", "a") + "\n" + acpChunk("DONE</promise>", "") + "\n" + acpChunk("more", "a"),
	} {
		if r := readACP(work.IterationRequest{}, line); len(r.Claims)+len(r.Signals.Promises) > 0 {
			t.Errorf("%s: claims %q, promises %q", name, r.Claims, r.Signals.Promises)
		}
	}
}

func TestACPLastMessage(t *testing.T) {
	half, rest := acpChunk("<promise>DO", ""), acpChunk("NE</promise>", "")
	for name, c := range map[string]struct {
		lines  []string
		claims []string
		said   int
	}{
		"in parts":                 {[]string{half, rest}, []string{"DONE"}, 1},
		"in parts of a message":    {[]string{acpChunk("<promise>DO", "a"), acpChunk("NE</promise>", "a")}, []string{"DONE"}, 1},
		"a call afterwards":        {[]string{acpWhole, acpCalled, acpEnded}, []string{"DONE"}, 1},
		"more after a call":        {[]string{acpWhole, acpCalled, acpEnded, acpChunk("No.", "")}, nil, 1},
		"more after a silent call": {[]string{acpWhole, acpEnded, acpChunk("No.", "")}, nil, 1},
		"another message":          {[]string{acpChunk("<promise>DONE</promise>", "a"), acpChunk("No.", "b")}, nil, 1},
		"more of the message":      {[]string{acpChunk("<promise>DONE</promise>", "a"), acpCalled, acpEnded, acpChunk("So.", "a")}, []string{"DONE"}, 1},
		"a thought in between":     {[]string{acpWhole, acpThought, acpChunk("So.", "")}, []string{"DONE"}, 1},
		"a notice afterwards":      {[]string{acpChunk("<promise>DONE</promise>", "a"), acpChunk("[MODE_UPDATE] yolo", "")}, []string{"DONE"}, 1},
		"keys in another order":    {[]string{`{"params":{"update":{"content":{"text":"<promise>DONE</promise>","type":"text"},"sessionUpdate":"agent_message_chunk"},"sessionId":"S"},"method":"session/update"}`}, []string{"DONE"}, 1},
	} {
		r := readACP(work.IterationRequest{}, c.lines...)
		if !slices.Equal(r.Claims, c.claims) || len(r.Signals.Promises) != c.said || r.Outcome != work.OutcomeOK {
			t.Errorf("%s: claims %q of promises %q, want %q", name, r.Claims, r.Signals.Promises, c.claims)
		}
	}
}

func TestACPCallsRunUntilTheyEnd(t *testing.T) {
	c := acpFor(work.IterationRequest{})
	other := strings.Replace(acpCalled, "c1", "c2", 1)
	for i, step := range []struct {
		line string
		want int
	}{
		{acpCalled, 1}, {acpCalled, 1}, {other, 2}, {acpEnded, 1}, {acpEnded, 1}, {acpWhole, 0}, {strings.Replace(acpCalled, "tool_call", "tool_call_update", 1), 1}, {acpThought, 0},
	} {
		if _, _ = c.Write([]byte(step.line + "\n")); len(c.running) != step.want {
			t.Errorf("after line %d %d calls run, want %d", i, len(c.running), step.want)
		}
	}
}

func TestACPUsage(t *testing.T) {
	half := 0.5
	continued := work.IterationRequest{Session: "S", Before: work.Usage{CostUSD: &half}}
	cost := func(amount, currency string) string {
		return acpUpdate(`"sessionUpdate":"usage_update","used":1,"size":2,"cost":{"amount":` + amount + `,"currency":"` + currency + `"}`)
	}
	type usage struct {
		in, out    int64
		own, total float64
	}
	for name, c := range map[string]struct {
		req    work.IterationRequest
		server string
		result string
		line   string
		want   usage
	}{
		"a new session":            {work.IterationRequest{}, "", `{"usage":{"inputTokens":1,"outputTokens":2,"cachedReadTokens":3,"cachedWriteTokens":4}}`, cost("0.75", "USD"), usage{8, 2, 0.75, 0.75}},
		"a continued one":          {continued, "", `{"usage":{"inputTokens":1,"outputTokens":2}}`, cost("0.75", "USD"), usage{1, 2, 0.25, 0.75}},
		"one that begins anew":     {continued, "", `{}`, cost("0.25", "USD"), usage{-1, -1, 0.25, 0.25}},
		"the other place":          {work.IterationRequest{}, "", `{"_meta":{"quota":{"token_count":{"input_tokens":5,"output_tokens":6}}}}`, "", usage{5, 6, -1, -1}},
		"of the last request only": {work.IterationRequest{}, acpOpencode, `{"usage":{"inputTokens":1,"outputTokens":2}}`, cost("0.75", "USD"), usage{-1, -1, 0.75, 0.75}},
		"of nobody knows what":     {continued, acpClaude, `{"usage":{"inputTokens":1,"outputTokens":2}}`, cost("0.75", "USD"), usage{1, 2, -1, 0.75}},
		"new, of nobody knows":     {work.IterationRequest{}, acpClaude, `{}`, cost("0.75", "USD"), usage{-1, -1, 0.75, 0.75}},
		"nonsense":                 {work.IterationRequest{}, "", `{"usage":{"inputTokens":-1,"outputTokens":2}}`, cost("-1", "USD"), usage{-1, -1, -1, -1}},
		"other money":              {work.IterationRequest{}, "", `{"usage":"much"}`, cost("0.75", "EUR"), usage{-1, -1, -1, -1}},
	} {
		s := acpFor(c.req)
		s.server.Agent.Name = c.server
		_, _ = s.Write([]byte(c.line + "\n"))
		end := acpDone
		end.result, end.server.Agent.Name = json.RawMessage(c.result), c.server
		r := s.report(end, exited(0))
		got := usage{orMinus(r.Usage.InputTokens), orMinus(r.Usage.OutputTokens), orMinus(r.Usage.CostUSD), orMinus(r.Total.CostUSD)}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	capped := acpFor(work.IterationRequest{CostUSD: &half})
	_, _ = capped.Write([]byte(cost("0.75", "USD") + "\n"))
	if s := capped.live.stopped; s == nil || s.outcome != work.OutcomeCostLimit {
		t.Errorf("beyond its cap: %+v", s)
	}
}

// The result of a tool may be of any length; a message may not.
func TestACPLongLines(t *testing.T) {
	c := acpFor(work.IterationRequest{})
	long := strings.Repeat("x", maxRPCLine+1)
	_, _ = c.Write([]byte(strings.Replace(acpEnded, "<promise>", long, 1) + "\n" + acpWhole + "\n"))
	if c.live.stopped != nil || cap(c.raw) > 2*maxRPCLine {
		t.Errorf("stopped with %+v, %d bytes kept", c.live.stopped, cap(c.raw))
	}
	_, _ = c.Write([]byte(acpChunk(long, "") + "\n"))
	if s := c.live.stopped; s == nil || s.outcome != work.OutcomeAgentFailed {
		t.Errorf("stopped with %+v", s)
	}
	if r := c.report(acpDone, exited(0)); len(r.Claims) != 1 {
		t.Errorf("claims %q", r.Claims)
	}
}
