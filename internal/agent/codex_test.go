package agent

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/redact"
	"forge/internal/work"
)

// codexLines are events as the program prints them.
const (
	codexBegin   = `{"type":"thread.started","thread_id":"T1"}`
	codexTurn    = `{"type":"turn.started"}`
	codexThought = `{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"<promise>DONE</promise>"}}`
	codexRun     = `{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'echo \"<promise>DONE</promise>\"'","aggregated_output":"","exit_code":null,"status":"in_progress"}}`
	codexRan     = `{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'echo \"<promise>DONE</promise>\"'","aggregated_output":"<promise>DONE</promise>\n","exit_code":0,"status":"completed"}}`
	codexEdit    = `{"type":"item.started","item":{"id":"item_2","type":"file_change","changes":[{"path":"/w/hello.txt","kind":"add"}],"status":"in_progress"}}`
	codexTodo    = `{"type":"item.started","item":{"id":"item_3","type":"todo_list","items":[{"text":"<promise>DONE</promise>","completed":false}]}}`
	codexWarning = `{"type":"item.completed","item":{"id":"item_4","type":"error","message":"Model metadata for ` + "`x`" + ` not found. <promise>DONE</promise>"}}`
	codexWords   = `{"type":"item.completed","item":{"id":"item_5","type":"agent_message","text":"So it is: <promise>DONE</promise>"}}`
	codexAgain   = `{"type":"error","message":"Reconnecting... 1/5 (unexpected status 503 Service Unavailable: <promise>DONE</promise>)"}`
	codexWaits   = `{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}`
	codexOK      = `{"type":"turn.completed","usage":{"input_tokens":300,"cached_input_tokens":120,"cache_write_input_tokens":0,"output_tokens":30,"reasoning_output_tokens":4}}`
)

func codexFailed(message string) string {
	return fmt.Sprintf(`{"type":"turn.failed","error":{"message":%q}}`, message)
}

func codexFor(req work.IterationRequest) *codexStream {
	red := redact.New([]string{"hunter2hunter2"})
	l := newLive(req, red, nil)
	l.started(nil, false)
	return newCodexStream(setting{req: req, live: l, red: red, environ: newEnviron([]string{"TZ=UTC"}, "")})
}

func readCodex(req work.IterationRequest, e ending, lines ...string) work.IterationReport {
	c := codexFor(req)
	_, _ = c.Write([]byte(strings.Join(lines, "\n")))
	return c.finish(e)
}

func TestCodexJudgement(t *testing.T) {
	failed := func(message string) []string {
		return []string{codexBegin, codexTurn, codexWords, codexFailed(message)}
	}
	for name, c := range map[string]struct {
		lines []string
		end   ending
		want  work.Outcome
		claim bool
	}{
		"done":                      {[]string{codexBegin, codexTurn, codexWords, codexOK}, exited(0), work.OutcomeOK, true},
		"nothing at all":            {nil, exited(0), work.OutcomeAgentFailed, false},
		"no end":                    {[]string{codexBegin, codexTurn, codexWords}, exited(0), work.OutcomeAgentFailed, false},
		"an end that is cut":        {[]string{codexBegin, codexTurn, codexWords, codexOK[:len(codexOK)-1]}, exited(0), work.OutcomeAgentFailed, false},
		"an unknown end":            {[]string{codexBegin, codexTurn, codexWords, `{"type":"turn.perfected"}`}, exited(0), work.OutcomeAgentFailed, false},
		"the end is another turn's": {[]string{codexBegin, codexTurn, codexOK, codexTurn, codexWords}, exited(0), work.OutcomeAgentFailed, false},
		"failed after all":          {[]string{codexBegin, codexTurn, codexWords, codexOK, codexFailed("no")}, exited(0), work.OutcomeAgentFailed, false},
		"two turns":                 {[]string{codexBegin, codexTurn, codexFailed("no"), codexTurn, codexWords, codexOK}, exited(0), work.OutcomeOK, true},
		"an end, and exit 1":        {[]string{codexBegin, codexTurn, codexWords, codexOK}, exited(1), work.OutcomeAgentFailed, false},
		"an end, and a signal":      {[]string{codexBegin, codexTurn, codexWords, codexOK}, ending{signal: "killed", byItself: true}, work.OutcomeAgentFailed, false},
		"an end, ended by Forge":    {[]string{codexBegin, codexTurn, codexWords, codexOK}, ending{signal: "killed"}, work.OutcomeOK, true},
		"an error item":             {[]string{codexBegin, codexWarning, codexTurn, codexWords, codexOK}, exited(0), work.OutcomeOK, true},
		"tried again":               {[]string{codexBegin, codexTurn, codexAgain, codexWords, codexOK}, exited(0), work.OutcomeOK, true},
		"tried again, then nothing": {[]string{codexBegin, codexTurn, codexAgain}, exited(1), work.OutcomeAgentFailed, false},
		"failed without a word":     {[]string{codexBegin, codexTurn, codexWords, `{"type":"turn.failed"}`}, exited(1), work.OutcomeAgentFailed, false},
		"failed, and exit 0":        {failed("no"), exited(0), work.OutcomeAgentFailed, false},
		"an error, then the end":    {[]string{codexBegin, codexTurn, `{"type":"error","message":"exceeded retry limit, last status: 429 Too Many Requests"}`}, exited(1), work.OutcomeRateLimited, false},
		"429":                       {failed("exceeded retry limit, last status: 429 Too Many Requests"), exited(1), work.OutcomeRateLimited, false},
		"500":                       {failed("We’re currently experiencing high demand, which may cause temporary errors."), exited(1), work.OutcomeRateLimited, false},
		"503":                       {failed("unexpected status 503 Service Unavailable: x, url: http://x"), exited(1), work.OutcomeRateLimited, false},
		"401":                       {failed("unexpected status 401 Unauthorized: x"), exited(1), work.OutcomeRateLimited, false},
		"usage limit":               {failed("You’ve hit your usage limit. Try again later."), exited(1), work.OutcomeRateLimited, false},
		"quota":                     {failed("Quota exceeded. Check your plan and billing details."), exited(1), work.OutcomeRateLimited, false},
		"no key":                    {failed("Missing environment variable: `X`."), exited(1), work.OutcomeRateLimited, false},
		"cut":                       {failed("stream disconnected before completion: Transport error"), exited(1), work.OutcomeRateLimited, false},
		"filtered":                  {failed("stream disconnected before completion: Incomplete response returned, reason: content_filter"), exited(1), work.OutcomeAgentFailed, false},
		"404":                       {failed("unexpected status 404 Not Found: exceeded retry limit, last status: 429"), exited(1), work.OutcomeAgentFailed, false},
		"400":                       {failed(`{"error":{"message":"You’ve hit your usage limit"}}`), exited(1), work.OutcomeAgentFailed, false},
		"context":                   {failed("Codex ran out of room in the model's context window. Start a new thread"), exited(1), work.OutcomeAgentFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := readCodex(work.IterationRequest{}, c.end, c.lines...)
			if r.Outcome != c.want {
				t.Errorf("outcome %q (%s), want %q", r.Outcome, r.Detail, c.want)
			}
			if claim := len(r.Claims) > 0 && r.Outcome.KeepsClaim(); claim != c.claim {
				t.Errorf("claims %q, want one: %v", r.Claims, c.claim)
			}
			if r.Outcome != work.OutcomeOK && r.Detail == "" {
				t.Error("nothing says why")
			}
		})
	}
}

// Each of the lines holds the promise where it is not the agent's word.
func TestCodexWordsThatDoNotCount(t *testing.T) {
	for name, line := range map[string]string{
		"thought": codexThought, "command": codexRun, "output": codexRan, "plan": codexTodo, "warning": codexWarning, "notice": codexAgain,
		"begun only":               strings.Replace(codexWords, "completed", "started", 1),
		"brought up to date only":  strings.Replace(codexWords, "completed", "updated", 1),
		"unknown event":            strings.Replace(codexWords, "item.completed", "item.sung", 1),
		"unknown item":             strings.Replace(codexWords, "agent_message", "song", 1),
		"text of another item":     `{"type":"item.completed","item":{"type":"reasoning","text":"<promise>DONE</promise>"},"item":{"type":"agent_message"}}`,
		"text that is overruled":   `{"type":"item.completed","item":{"type":"agent_message","text":"<promise>DONE</promise>","text":"no"}}`,
		"in two halves":            `{"type":"item.completed","item":{"type":"agent_message","text":"<promise>DO","text":"NE</promise>"}}`,
		"a broken line":            codexWords[:len(codexWords)-1] + ",}",
		"no JSON at all":           `<promise>DONE</promise>`,
		"an item that is a list":   `{"type":"item.completed","item":[{"type":"agent_message","text":"<promise>DONE</promise>"}]}`,
		"an item within the item":  `{"type":"item.completed","item":{"type":"agent_message","item":{"text":"<promise>DONE</promise>"}}}`,
		"a text that is an object": `{"type":"item.completed","item":{"type":"agent_message","text":{"text":"<promise>DONE</promise>"}}}`,
	} {
		r := readCodex(work.IterationRequest{}, exited(0), codexBegin, codexTurn, line, codexOK)
		if len(r.Claims)+len(r.Signals.Promises) > 0 {
			t.Errorf("%s: claims %q, promises %q", name, r.Claims, r.Signals.Promises)
		}
	}
}

// Ids of items do not tell messages apart: they begin anew with each turn.
func TestCodexLastMessage(t *testing.T) {
	other := strings.Replace(codexWords, "DONE", "OTHER", 1)
	silent := strings.Replace(codexWords, "<promise>DONE</promise>", "and more", 1)
	for name, c := range map[string]struct {
		lines  []string
		claims []string
		said   int
	}{
		"two messages":          {[]string{codexWords, other}, []string{"OTHER"}, 2},
		"another word at last":  {[]string{codexWords, silent}, nil, 1},
		"a command afterwards":  {[]string{codexWords, codexRun, codexRan}, []string{"DONE"}, 1},
		"a thought afterwards":  {[]string{codexWords, codexThought}, []string{"DONE"}, 1},
		"in the turn before it": {[]string{codexWords, codexOK, codexTurn, silent}, nil, 1},
	} {
		r := readCodex(work.IterationRequest{}, exited(0), append(append([]string{codexBegin, codexTurn}, c.lines...), codexOK)...)
		if !slices.Equal(r.Claims, c.claims) || len(r.Signals.Promises) != c.said {
			t.Errorf("%s: claims %q of promises %q, want %q", name, r.Claims, r.Signals.Promises, c.claims)
		}
	}
}

func TestCodexUsage(t *testing.T) {
	before := func(in, out int64) work.Usage { return work.Usage{InputTokens: &in, OutputTokens: &out} }
	type usage struct{ in, out, totalIn, totalOut int64 }
	for name, c := range map[string]struct {
		req  work.IterationRequest
		line string
		want usage
	}{
		"a new session":                  {work.IterationRequest{Before: before(1, 1)}, codexOK, usage{300, 30, 300, 30}},
		"a continued one":                {work.IterationRequest{Session: "T1", Before: before(200, 20)}, codexOK, usage{100, 10, 300, 30}},
		"a continued one, starting at 0": {work.IterationRequest{Session: "T1", Before: before(301, 20)}, codexOK, usage{300, 30, 300, 30}},
		"what it was before is unknown":  {work.IterationRequest{Session: "T1"}, codexOK, usage{300, 30, 300, 30}},
		"no end":                         {work.IterationRequest{}, codexWords, usage{-1, -1, -1, -1}},
		"a failed turn":                  {work.IterationRequest{}, codexFailed("no"), usage{-1, -1, -1, -1}},
		"nonsense":                       {work.IterationRequest{}, strings.Replace(codexOK, "300", "-300", 1), usage{-1, -1, -1, -1}},
		"no number":                      {work.IterationRequest{}, strings.Replace(codexOK, `:30,`, `:1e99,`, 1), usage{-1, -1, -1, -1}},
	} {
		r := readCodex(c.req, exited(0), codexBegin, codexTurn, c.line)
		got := usage{orMinus(r.Usage.InputTokens), orMinus(r.Usage.OutputTokens), orMinus(r.Total.InputTokens), orMinus(r.Total.OutputTokens)}
		if got != c.want || r.Usage.CostUSD != nil {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

// What Forge stops stays stopped, also when the agent is faster to exit.
func TestCodexBeyondItsCap(t *testing.T) {
	tokens := int64(329)
	c := codexFor(work.IterationRequest{Tokens: &tokens})
	_, _ = c.Write([]byte(strings.Join([]string{codexBegin, codexTurn, codexWords, codexOK}, "\n")))
	r := c.finish(exited(0))
	if c.live.judge("exited", &r); r.Outcome != work.OutcomeCostLimit {
		t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
	}
}

func TestCodexResetTimes(t *testing.T) {
	now := time.Date(2026, 11, 21, 6, 20, 30, 0, time.UTC)
	for message, want := range map[string]string{
		"You’ve hit your usage limit. Visit x or try again at 7:10 AM.":                "2026-11-21T07:11:00Z",
		"You’ve hit your usage limit. Visit x or try again at 12:05 PM.":               "2026-11-21T12:06:00Z",
		"You’ve hit your usage limit. Visit x or try again at Nov 24th, 2026 5:40 PM.": "2026-11-24T17:41:00Z",
		"You’ve hit your usage limit. Visit x or try again at Dec 1st, 2026 12:00 AM.": "2026-12-01T00:01:00Z",
		"rate limit exceeded: Please try again in 3.5s.":                               "2026-11-21T06:20:34Z",
		"rate limit exceeded: Please try again in 1h2m3s.":                             "2026-11-21T07:22:33Z",
		"You’ve hit your usage limit. Try again later.":                                "",
		"try again at 6:10 AM.":                "", // over already
		"try again at Xyz 24th, 2026 5:40 PM.": "",
		"try again in 99999999999999h":         "",
	} {
		got := ""
		if at := codexReset(message, now, newEnviron([]string{"TZ=UTC"}, "")); at != nil {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", message, got, want)
		}
	}
	east := newEnviron([]string{"TZ=Asia/Kolkata"}, "")
	if _, err := time.LoadLocation("Asia/Kolkata"); err != nil {
		t.Skip("no time zones here")
	}
	if at := codexReset("try again at 12:40 PM.", now, east); at == nil || at.Format(time.RFC3339) != "2026-11-21T07:11:00Z" {
		t.Errorf("in another zone: %v", at)
	}
}

// It waits for the network for ever, and is not idle meanwhile.
func TestCodexOfflineIsAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		between []string
		want    bool
	}{
		"all the time":         {nil, true},
		"another trouble":      {[]string{codexAgain}, false},
		"back in the meantime": {[]string{codexThought}, false},
	} {
		s := codexFor(work.IterationRequest{})
		now := time.Unix(1_800_000_000, 0)
		s.now = func() time.Time { return now }
		feed := func(lines ...string) { _, _ = s.Write([]byte(strings.Join(append(lines, ""), "\n"))) }
		feed(codexBegin, codexTurn, codexWaits)
		now = now.Add(codexPatience - time.Second)
		feed(codexWaits)
		if s.live.stopped != nil {
			t.Fatalf("%s: stopped too early", name)
		}
		feed(c.between...)
		now = now.Add(time.Second)
		feed(codexWaits)
		if got := s.live.stopped != nil && s.live.stopped.outcome == work.OutcomeRateLimited; got != c.want {
			t.Errorf("%s: stopped with %+v", name, s.live.stopped)
		}
	}
}

func TestCodexLongRetryIsAnOutage(t *testing.T) {
	c := codexFor(work.IterationRequest{})
	retry := `{"type":"error","message":"Reconnecting... 1/5 (rate limit exceeded: Please try again in %s.)"}` + "\n"
	_, _ = fmt.Fprintf(c, retry, "59s")
	if c.live.stopped != nil {
		t.Error("stopped for a short wait")
	}
	_, _ = fmt.Fprintf(c, retry, "59m0s")
	if s := c.live.stopped; s == nil || s.outcome != work.OutcomeRateLimited || s.resetAt == nil || time.Until(*s.resetAt) < 50*time.Minute {
		t.Errorf("stopped with %+v", s)
	}
}

// Put off by the provider it says so once, and nothing for as long as that
// wants: no hung agent. An answer in time, or a retry for another cause, is none.
func TestCodexPutOffIsAnOutage(t *testing.T) {
	const putOff = `{"type":"error","message":"Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}` + "\n"
	for name, tt := range map[string]struct {
		first, then string
		want        bool
	}{
		"429, and silence":         {putOff, "", true},
		"429, and then an answer":  {putOff, codexThought + "\n", false},
		"503, and silence":         {codexAgain + "\n", "", true},
		"a retry of another cause": {`{"type":"error","message":"Reconnecting... 1/5 (the answer makes no sense)"}` + "\n", "", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := codexFor(work.IterationRequest{})
			_, _ = c.Write([]byte(codexBegin + "\n" + codexTurn + "\n" + tt.first))
			time.Sleep(longRetry - time.Second)
			if stopOf(c.live) != nil {
				t.Errorf("%s: stopped too early", name)
			}
			_, _ = c.Write([]byte(tt.then))
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if s := stopOf(c.live); (s != nil && s.outcome == work.OutcomeRateLimited) != tt.want {
				t.Errorf("%s: stopped with %+v", name, s)
			}
			c.finish(ending{})
		})
	}
}

// stopOf is why l is being stopped, nil while it is not.
func stopOf(l *live) *stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stopped
}

func TestCodexToolsRunUntilTheyEnd(t *testing.T) {
	c := codexFor(work.IterationRequest{})
	for i, step := range []struct {
		line string
		want int
	}{
		{codexRun, 1}, {codexRun, 1}, {codexEdit, 2}, {codexTodo, 2}, {codexWords, 2}, {codexRan, 1}, {codexRan, 1}, {codexOK, 0}, {codexRun, 1}, {codexFailed("x"), 0},
	} {
		if _, _ = c.Write([]byte(step.line + "\n")); len(c.running) != step.want {
			t.Errorf("after line %d %d tools run, want %d", i, len(c.running), step.want)
		}
	}
}

func TestCodexSessionLost(t *testing.T) {
	gone := ending{code: exited(1).code, byItself: true, stderr: "WARNING: x\nError: thread/resume: thread/resume failed: no rollout found for thread id T9 (code -32600)"}
	long := codexFailed("Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.")
	for name, c := range map[string]struct {
		session string
		end     ending
		lines   []string
		lost    bool
	}{
		"unknown":              {"T9", gone, nil, true},
		"too long":             {"T1", exited(1), []string{codexBegin, codexTurn, long}, true},
		"too long, but new":    {"", exited(1), []string{codexBegin, codexTurn, long}, false},
		"an error of its own":  {"T1", exited(1), []string{codexBegin, codexTurn, codexFailed("no")}, false},
		"a tool that says so":  {"T1", gone, []string{codexBegin, codexTurn, codexFailed("no")}, false},
		"all in best of order": {"T1", exited(0), []string{codexBegin, codexTurn, codexWords, codexOK}, false},
	} {
		r := readCodex(work.IterationRequest{Session: c.session}, c.end, c.lines...)
		if r.SessionLost != c.lost || (r.Session == "") != c.lost {
			t.Errorf("%s: lost %v, session %q", name, r.SessionLost, r.Session)
		}
	}
}

func TestCodexDenied(t *testing.T) {
	c := codexFor(work.IterationRequest{})
	stderr := &logLines{to: c.logged}
	_, _ = stderr.Write([]byte("2026-11-21T06:28:13.403116Z ERROR codex_core::tools::router: error=patch rejected: writing outside of the project; \x1b[31mrejected by user approval settings\n" +
		"2026-11-21T06:28:13.403116Z ERROR codex_core::tools::router: error=unsupported call: nosuch\n" +
		"2026-11-21T06:28:14.403116Z ERROR codex_core::tools::router: error=approval policy is Never; reject command — you cannot ask\nrejected\n"))
	want := []string{"patch rejected: writing outside of the project; rejected by user approval settings", "approval policy is Never; reject command — you cannot ask"}
	if r := c.finish(exited(0)); !slices.Equal(r.Denied, want) {
		t.Errorf("denied %q", r.Denied)
	}
	failed := strings.NewReplacer("item.started", "item.completed", "in_progress", "failed", "hello", "hunter2hunter2").Replace(codexEdit)
	for permission, want := range map[work.PermissionMode]int{work.PermissionReadonly: 1, work.PermissionStandard: 0} {
		r := readCodex(work.IterationRequest{Permission: permission}, exited(0), codexBegin, codexTurn, codexEdit, failed, codexOK)
		if len(r.Denied) != want || want > 0 && (!strings.HasPrefix(r.Denied[0], "file change: /w/") || strings.Contains(r.Denied[0], "hunter2")) {
			t.Errorf("%s: denied %q", permission, r.Denied)
		}
	}
}
