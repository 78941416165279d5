package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/redact"
	"forge/internal/work"
)

// Events as the program prints them, cut to what bears on their meaning; keys
// stand in its order.
const (
	gInit   = `{"type":"init","timestamp":"x","session_id":"S1","model":"gemini-2.5-flash"}`
	gUser   = `{"type":"message","timestamp":"x","role":"user","content":"<promise>DONE</promise>"}`
	gHalf   = `{"type":"message","timestamp":"x","role":"assistant","content":"So it is: <prom","delta":true}`
	gOther  = `{"type":"message","timestamp":"x","role":"assistant","content":"ise>DONE</promise>","delta":true}`
	gSaid   = gHalf + "\n" + gOther
	gWhole  = `{"type":"message","timestamp":"x","role":"assistant","content":"<promise>DONE</promise>"}`
	gMore   = `{"type":"message","timestamp":"x","role":"assistant","content":"No, there is more.","delta":true}`
	gCall   = `{"type":"tool_use","timestamp":"x","tool_name":"run_shell_command","tool_id":"t1","parameters":{"command":"echo '<promise>DONE</promise>'"}}`
	gTold   = `{"type":"tool_result","timestamp":"x","tool_id":"t1","status":"success","output":"<promise>DONE</promise>"}`
	gWarn   = `{"type":"error","timestamp":"x","severity":"warning","message":"Loop detected, stopping execution"}`
	gFailed = `{"type":"error","timestamp":"x","severity":"error","message":"Maximum session turns exceeded"}`
	gOK     = `{"type":"result","timestamp":"x","status":"success","stats":{"total_tokens":230,"input_tokens":200,"output_tokens":20,"cached":0,"input":200,"duration_ms":1,"tool_calls":1,"models":{"m":{"total_tokens":9,"input_tokens":9,"output_tokens":9}}}}`
)

func gError(message string) string {
	return `{"type":"result","timestamp":"x","status":"error","error":{"type":"unknown","message":"` + message + `"},"stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0}}`
}

func geminiFor(req work.IterationRequest) *geminiStream {
	red := redact.New([]string{"hunter2hunter2"})
	l := newLive(req, red, nil)
	l.started(nil, false)
	return newGeminiStream(setting{req: req, live: l, red: red})
}

func readGemini(req work.IterationRequest, e ending, lines ...string) work.IterationReport {
	g := geminiFor(req)
	_, _ = g.Write([]byte(strings.Join(lines, "\n")))
	return g.finish(e)
}

func TestGeminiJudgement(t *testing.T) {
	stderr := func(code int, text string) ending { return ending{code: &code, byItself: true, stderr: text} }
	for name, c := range map[string]struct {
		lines []string
		end   ending
		want  work.Outcome
		claim bool
	}{
		"done":                       {[]string{gInit, gUser, gSaid, gOK}, exited(0), work.OutcomeOK, true},
		"a signal, exit 0":           {[]string{gInit, gSaid}, exited(0), work.OutcomeAgentFailed, false},
		"nothing at all":             {nil, exited(0), work.OutcomeAgentFailed, false},
		"a result that is cut":       {[]string{gInit, gSaid, gOK[:len(gOK)-1]}, exited(0), work.OutcomeAgentFailed, false},
		"a result, and exit 1":       {[]string{gSaid, gOK}, exited(1), work.OutcomeAgentFailed, false},
		"a result, and a signal":     {[]string{gSaid, gOK}, ending{signal: "killed", byItself: true}, work.OutcomeAgentFailed, false},
		"a result, ended by Forge":   {[]string{gSaid, gOK}, ending{signal: "killed"}, work.OutcomeOK, true},
		"unknown status":             {[]string{gSaid, strings.Replace(gOK, `"success"`, `"splendid"`, 1)}, exited(0), work.OutcomeAgentFailed, false},
		"no status":                  {[]string{gSaid, strings.Replace(gOK, `"status":"success",`, "", 1)}, exited(0), work.OutcomeAgentFailed, false},
		"status of another kind":     {[]string{gSaid, strings.Replace(gOK, `"success"`, `true`, 1)}, exited(0), work.OutcomeAgentFailed, false},
		"an error, exit 0":           {[]string{gSaid, gError("[API Error: blocked]")}, exited(0), work.OutcomeAgentFailed, false},
		"an error before success":    {[]string{gFailed, gSaid, gOK}, exited(0), work.OutcomeAgentFailed, false},
		"an unknown severity":        {[]string{strings.Replace(gFailed, `"severity":"error"`, `"severity":"mild"`, 1), gSaid, gOK}, exited(0), work.OutcomeAgentFailed, false},
		"a warning":                  {[]string{gWarn, gSaid, gOK}, exited(0), work.OutcomeOK, true},
		"a result, then another":     {[]string{gError("x"), gSaid, gOK}, exited(0), work.OutcomeOK, true},
		"429":                        {[]string{gError("[API Error: x]")}, exited(173), work.OutcomeRateLimited, false},
		"500":                        {[]string{gError("[API Error: x]")}, exited(244), work.OutcomeRateLimited, false},
		"503":                        {[]string{gError("[API Error: x]")}, exited(247), work.OutcomeRateLimited, false},
		"529":                        {[]string{gError("[API Error: x]")}, exited(17), work.OutcomeRateLimited, false},
		"401":                        {[]string{gError("[API Error: x]")}, exited(145), work.OutcomeRateLimited, false},
		"403, no result":             {[]string{gInit}, exited(147), work.OutcomeRateLimited, false},
		"400":                        {[]string{gError("[API Error: fetch failed]")}, exited(144), work.OutcomeAgentFailed, false},
		"404":                        {[]string{gError("[API Error: x]")}, exited(148), work.OutcomeAgentFailed, false},
		"too many turns":             {[]string{gSaid, gError("Reached max session turns")}, exited(53), work.OutcomeAgentFailed, false},
		"folder not trusted":         {nil, stderr(55, "not running in a trusted directory"), work.OutcomeAgentFailed, false},
		"not logged in":              {nil, stderr(41, "Invalid auth method selected."), work.OutcomeRateLimited, false},
		"cut off":                    {[]string{gSaid, gError("[API Error: terminated]")}, exited(1), work.OutcomeRateLimited, false},
		"no server":                  {[]string{gError("[API Error: exception TypeError: fetch failed sending request]")}, exited(1), work.OutcomeRateLimited, false},
		"no such model":              {[]string{gError("[API Error: The model none does not exist. (not_found_error)]")}, exited(1), work.OutcomeAgentFailed, false},
		"words of another error":     {[]string{gError("the tool was terminated")}, exited(1), work.OutcomeAgentFailed, false},
		"an error of an unknown API": {[]string{gError("[API Error: something]")}, exited(1), work.OutcomeAgentFailed, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := readGemini(work.IterationRequest{}, c.end, c.lines...)
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
func TestGeminiWordsThatDoNotCount(t *testing.T) {
	big := strings.Repeat("x", 2*contentBytes)
	for name, line := range map[string]string{
		"prompt": gUser, "tool input": gCall, "tool result": gTold,
		"unknown event":         `{"type":"oracle","role":"assistant","content":"<promise>DONE</promise>"}`,
		"unknown role":          `{"type":"message","role":"oracle","content":"<promise>DONE</promise>"}`,
		"no role":               `{"type":"message","content":"<promise>DONE</promise>"}`,
		"a thought":             `{"type":"thought","role":"assistant","content":"<promise>DONE</promise>"}`,
		"a broken line":         `{"type":"message","role":"assistant","content":"<promise>DONE</promise>",}`,
		"a long broken line":    `{"type":"message","role":"assistant","delta":true,"content":"<promise>DONE</promise>` + big + `",}`,
		"long, and whose is it": `{"content":"<promise>DONE</promise>` + big + `","type":"message","role":"user"}`,
		"no JSON at all":        `<promise>DONE</promise>`,
		"an error":              `{"type":"error","severity":"warning","message":"<promise>DONE</promise>"}`,
		"across a tool":         gHalf + "\n" + gCall + "\n" + gTold + "\n" + gOther,
		"across the prompt":     gHalf + "\n" + gUser + "\n" + gOther,
		"whole messages":        strings.Replace(gHalf, `,"delta":true`, "", 1) + "\n" + strings.Replace(gOther, `,"delta":true`, "", 1),
		"two contents":          `{"type":"message","role":"assistant","content":"<promise>DONE</promise>","content":"no"}`,
	} {
		r := readGemini(work.IterationRequest{}, exited(0), gInit, line, gOK)
		if len(r.Claims)+len(r.Signals.Promises) > 0 || r.Outcome != work.OutcomeOK {
			t.Errorf("%s: outcome %q, claims %q, promises %q", name, r.Outcome, r.Claims, r.Signals.Promises)
		}
	}
}

func TestGeminiLastMessage(t *testing.T) {
	long := `{"type":"message","role":"assistant","content":"<promise>DONE</promise>` + strings.Repeat("x", 2*contentBytes) + `","delta":true}`
	for name, c := range map[string]struct {
		lines  []string
		claims []string
		said   int
	}{
		"in parts":                {[]string{gSaid}, []string{"DONE"}, 1},
		"one message":             {[]string{gSaid, gMore}, []string{"DONE"}, 1},
		"a whole one":             {[]string{gWhole}, []string{"DONE"}, 1},
		"two whole ones":          {[]string{gWhole, strings.Replace(gMore, `,"delta":true`, "", 1)}, nil, 1},
		"a tool between":          {[]string{gSaid, gCall, gTold, gMore}, nil, 1},
		"a tool before":           {[]string{gCall, gTold, gSaid}, []string{"DONE"}, 1},
		"a tool, and not a word":  {[]string{gSaid, gCall, gTold}, nil, 1},
		"a tool that never ended": {[]string{gSaid, gCall}, nil, 1},
		"a warning afterwards":    {[]string{gSaid, gWarn}, []string{"DONE"}, 1},
		"an unknown event":        {[]string{gHalf, `{"type":"oracle"}`, gOther}, []string{"DONE"}, 1},
		"a long one":              {[]string{long}, []string{"DONE"}, 1},
	} {
		r := readGemini(work.IterationRequest{}, exited(0), append(c.lines, gOK)...)
		if !slices.Equal(r.Claims, c.claims) || len(r.Signals.Promises) != c.said {
			t.Errorf("%s: claims %q of promises %q, want %q", name, r.Claims, r.Signals.Promises, c.claims)
		}
	}
	if r := readGemini(work.IterationRequest{}, exited(0), gSaid, gCall, gTold, gMore, gOK); r.Message != "No, there is more." {
		t.Errorf("message %q", r.Message)
	}
}

func TestGeminiUsage(t *testing.T) {
	in, out := 10.0, 100.0
	prices := work.IterationRequest{Agent: work.AgentSettings{USDPerMTokIn: &in, USDPerMTokOut: &out}}
	type usage struct{ in, out int64 }
	for name, c := range map[string]struct {
		line string
		want usage
	}{
		"with thoughts":     {gOK, usage{200, 30}},
		"without":           {strings.Replace(gOK, `"total_tokens":230`, `"total_tokens":220`, 1), usage{200, 20}},
		"no total":          {strings.Replace(gOK, `"total_tokens":230,`, ``, 1), usage{200, 20}},
		"nonsense":          {strings.Replace(gOK, `"input_tokens":200`, `"input_tokens":-1`, 1), usage{-1, -1}},
		"no number":         {strings.Replace(gOK, `"output_tokens":20`, `"output_tokens":1e400`, 1), usage{-1, -1}},
		"nothing is known":  {strings.Replace(gOK, `"input_tokens":200,`, ``, 1), usage{-1, -1}},
		"a request in vain": {gError("x"), usage{-1, -1}},
	} {
		r := readGemini(prices, exited(0), gInit, c.line)
		if got := (usage{orMinus(r.Usage.InputTokens), orMinus(r.Usage.OutputTokens)}); got != c.want || r.Usage.CostUSD != nil {
			t.Errorf("%s: %+v, want %+v, cost %v", name, got, c.want, orMinus(r.Usage.CostUSD))
		}
	}
	g := geminiFor(prices)
	if u := g.live.priced(readGemini(prices, exited(0), gOK).Usage); orMinus(u.CostUSD) != 0.005 {
		t.Errorf("priced %v", orMinus(u.CostUSD))
	}
}

func TestGeminiCallsRunUntilTheyEnd(t *testing.T) {
	g := geminiFor(work.IterationRequest{})
	other := strings.Replace(gCall, `"t1"`, `"t2"`, 1)
	for i, step := range []struct {
		line string
		want int
	}{{gCall, 1}, {gCall, 1}, {other, 2}, {gTold, 1}, {gTold, 1}, {gOK, 0}} {
		_, _ = g.Write([]byte(step.line + "\n"))
		if got := len(g.running); got != step.want {
			t.Errorf("after line %d %d calls run, want %d", i, got, step.want)
		}
	}
}

func TestGeminiDenied(t *testing.T) {
	told := func(kind, message string) string {
		return `{"type":"tool_result","tool_id":"t1","status":"error","error":{"type":"` + kind + `","message":"` + message + `"}}`
	}
	for line, want := range map[string]int{
		told("policy_violation", "Tool execution denied by policy."):         1,
		told("tool_not_registered", "not found"):                             1,
		told("invalid_tool_params", "Path not in workspace: Attempted x"):    1,
		told("invalid_tool_params", "missing"):                               0,
		strings.Replace(told("policy_violation", ""), "error", "success", 1): 0,
	} {
		r := readGemini(work.IterationRequest{}, exited(0), strings.Replace(gCall, "echo", "curl -H hunter2hunter2", 1), line, gOK)
		if len(r.Denied) != want || want > 0 && (!strings.HasPrefix(r.Denied[0], "run_shell_command: curl") || strings.Contains(r.Denied[0], "hunter2")) {
			t.Errorf("%s: denied %q", line, r.Denied)
		}
	}
}

func TestGeminiSessionLost(t *testing.T) {
	code := 42
	gone := ending{code: &code, byItself: true, stderr: `Error resuming session: Invalid session identifier "S9".`}
	for name, c := range map[string]struct {
		session string
		end     ending
		lines   []string
		lost    bool
	}{
		"unknown":             {"S9", gone, nil, true},
		"new":                 {"", gone, nil, false},
		"too long":            {"S1", exited(144), []string{gInit, gError("[API Error: The input token count (9) exceeds the maximum number of tokens allowed (8).]")}, true},
		"an error of its own": {"S1", exited(144), []string{gInit, gError("[API Error: no]")}, false},
		"all is well":         {"S1", exited(0), []string{gInit, gOK}, false},
	} {
		r := readGemini(work.IterationRequest{Session: c.session}, c.end, c.lines...)
		if r.SessionLost != c.lost || c.lost && r.Session != "" {
			t.Errorf("%s: lost %v, session %q", name, r.SessionLost, r.Session)
		}
	}
}

func TestGeminiResetTimes(t *testing.T) {
	now := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"Quota exceeded. Please retry in 34.4s.":                34 * time.Second,
		"[API Error: your quota will reset after 3h20m15s.]":    3*time.Hour + 20*time.Minute + 15*time.Second,
		"Please retry in 500ms":                                 time.Second,
		"Please retry in soon":                                  0,
		"Please retry in 99999999999999999999h":                 0,
		"[API Error: nothing of the sort]":                      0,
		"Attempt 1 failed: x. Retrying after 5000ms (in 5s)...": 0,
	} {
		at := geminiReset(text, now)
		if want == 0 && at != nil || want > 0 && (at == nil || at.Sub(now) != want) {
			t.Errorf("%q: %v, want %v", text, at, want)
		}
	}
}

// A program that is to wait longer than a minute is not waited for.
func TestGeminiLongRetryIsAnOutage(t *testing.T) {
	g := geminiFor(work.IterationRequest{})
	w := &logLines{to: g.log}
	_, _ = w.Write([]byte("Attempt 1 failed with status 429. Retrying with backoff... _ApiError: x\nAttempt 2 failed: no. Retrying after 59000ms...\nwords: Attempt 3 failed. Retrying after 990000ms...\n"))
	if g.live.stopped != nil {
		t.Errorf("stopped with %+v", g.live.stopped)
	}
	_, _ = w.Write([]byte("Attempt 3 failed: Please retry in 20"))
	_, _ = w.Write([]byte("0s. Retrying after 212000ms...\n"))
	s := g.live.stopped
	if s == nil || s.outcome != work.OutcomeRateLimited || s.resetAt == nil || time.Until(*s.resetAt) < 200*time.Second {
		t.Errorf("stopped with %+v", s)
	}
}
