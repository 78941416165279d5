package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/redact"
	"forge/internal/work"
)

// claudeLines are events as the program prints them, cut to what bears on
// their meaning; keys stand in its order.
const (
	lineInit  = `{"type":"system","subtype":"init","cwd":"/w","session_id":"S1","tools":["Task","Bash"],"permissionMode":"acceptEdits"}`
	lineThink = `{"type":"assistant","message":{"content":[{"signature":"x","thinking":"<promise>DONE</promise>","type":"thinking"}],"id":"m1","model":"x","usage":{"input_tokens":100,"output_tokens":10}},"parent_tool_use_id":null}`
	lineCall  = `{"type":"assistant","message":{"content":[{"id":"t1","input":{"command":"echo '<promise>DONE</promise>'"},"name":"Bash","type":"tool_use"}],"id":"m1","model":"x","usage":{"input_tokens":100,"output_tokens":10}},"parent_tool_use_id":null}`
	lineTold  = `{"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"<promise>DONE</promise>"}]},"parent_tool_use_id":null,"tool_use_result":{"stdout":"<promise>DONE</promise>"}}`
	lineEcho  = `{"type":"user","message":{"role":"user","content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null}`
	lineSub   = `{"type":"assistant","message":{"content":[{"text":"<promise>DONE</promise>","type":"text"}],"id":"m8","model":"x"},"parent_tool_use_id":"t1"}`
	lineNoMsg = `{"type":"assistant","message":{"content":[{"text":"<promise>DONE</promise>","type":"text"}],"id":"m8","model":"x"}}`
	lineWords = `{"type":"assistant","message":{"content":[{"text":"So it is: <promise>DONE</promise>","type":"text"}],"id":"m2","model":"x","usage":{"input_tokens":200,"cache_read_input_tokens":50,"output_tokens":20}},"parent_tool_use_id":null}`
	lineOK    = `{"session_id":"S1","total_cost_usd":0.75,"usage":{"input_tokens":300,"cache_creation_input_tokens":5,"cache_read_input_tokens":50,"output_tokens":30},"permission_denials":[],"terminal_reason":"completed","is_error":false,"subtype":"success","api_error_status":null,"result":"<promise>DONE</promise>","type":"result"}`
)

func claudeFor(req work.IterationRequest) *claudeStream {
	red := redact.New([]string{"hunter2hunter2"})
	l := newLive(req, red, nil)
	l.started(nil, false)
	return newClaudeStream(setting{req: req, live: l, red: red, told: newHearing()})
}

func readClaude(req work.IterationRequest, e ending, lines ...string) work.IterationReport {
	c := claudeFor(req)
	_, _ = c.Write([]byte(strings.Join(lines, "\n")))
	return c.finish(e)
}

func exited(code int) ending { return ending{code: &code, byItself: true} }

func result(change ...string) string {
	line := lineOK
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(line, change[i]) {
			panic(change[i])
		}
		line = strings.Replace(line, change[i], change[i+1], 1)
	}
	return line
}

func TestClaudeJudgement(t *testing.T) {
	failure := []string{`"is_error":false`, `"is_error":true`, `"terminal_reason":"completed"`, `"terminal_reason":"api_error"`}
	apiError := func(word string, change ...string) []string {
		synthetic := `{"type":"assistant","message":{"id":"e1","model":"<synthetic>","content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null,"error":"` + word + `","is_api_error_message":true}`
		return []string{lineInit, lineWords, synthetic, result(append(slices.Clone(failure), change...)...)}
	}
	status := func(n int) []string {
		return []string{`"api_error_status":null`, fmt.Sprintf(`"api_error_status":%d`, n)}
	}
	for name, c := range map[string]struct {
		lines []string
		end   ending
		want  work.Outcome
		claim bool
	}{
		"done":                     {[]string{lineInit, lineWords, lineOK}, exited(0), work.OutcomeOK, true},
		"no result":                {[]string{lineInit, lineWords}, exited(0), work.OutcomeAgentFailed, false},
		"nothing at all":           {nil, exited(0), work.OutcomeAgentFailed, false},
		"a result that is cut":     {[]string{lineInit, lineWords, lineOK[:len(lineOK)-1]}, exited(0), work.OutcomeAgentFailed, false},
		"a result, and exit 1":     {[]string{lineInit, lineWords, lineOK}, exited(1), work.OutcomeAgentFailed, false},
		"a result, and a signal":   {[]string{lineInit, lineWords, lineOK}, ending{signal: "killed", byItself: true}, work.OutcomeAgentFailed, false},
		"a result, ended by Forge": {[]string{lineInit, lineWords, lineOK}, ending{signal: "killed"}, work.OutcomeOK, true},
		"unknown subtype":          {[]string{lineWords, result(`"subtype":"success"`, `"subtype":"splendid"`)}, exited(0), work.OutcomeAgentFailed, false},
		"unknown terminal reason":  {[]string{lineWords, result(`:"completed"`, `:"perfected"`)}, exited(0), work.OutcomeAgentFailed, false},
		"is_error is missing":      {[]string{lineWords, result(`"is_error":false,`, "")}, exited(0), work.OutcomeAgentFailed, false},
		"is_error is no boolean":   {[]string{lineWords, result(`"is_error":false`, `"is_error":"false"`)}, exited(0), work.OutcomeAgentFailed, false},
		"an older version":         {[]string{lineWords, result(`"terminal_reason":"completed",`, "", `"api_error_status":null,`, "")}, exited(0), work.OutcomeOK, true},
		"interrupted":              {[]string{lineWords, result(`"is_error":false`, `"is_error":true`, `:"completed"`, `:"aborted_tools"`, `"subtype":"success"`, `"subtype":"error_during_execution"`)}, exited(0), work.OutcomeAgentFailed, false},
		"too many turns":           {[]string{lineWords, result(`"is_error":false`, `"is_error":true`, `:"completed"`, `:"max_turns"`, `"subtype":"success"`, `"subtype":"error_max_turns"`)}, exited(1), work.OutcomeAgentFailed, false},
		"too much money":           {[]string{lineWords, result(`"is_error":false`, `"is_error":true`, `"subtype":"success"`, `"subtype":"error_max_budget_usd"`)}, exited(1), work.OutcomeCostLimit, false},
		"429":                      {apiError("rate_limit", status(429)...), exited(1), work.OutcomeRateLimited, false},
		"500":                      {apiError("server_error", status(500)...), exited(1), work.OutcomeRateLimited, false},
		"529":                      {apiError("", status(529)...), exited(1), work.OutcomeRateLimited, false},
		"login":                    {apiError("authentication_failed"), exited(1), work.OutcomeRateLimited, false},
		"credit":                   {apiError("billing_error", status(400)...), exited(1), work.OutcomeRateLimited, false},
		"connection":               {apiError("unknown", `"api_error_status":null`, `"api_error_status":null,"api_error":"connection_failed"`), exited(1), work.OutcomeRateLimited, false},
		"unknown model":            {apiError("model_not_found", status(404)...), exited(1), work.OutcomeAgentFailed, false},
		"bad request":              {apiError("invalid_request", status(400)...), exited(1), work.OutcomeAgentFailed, false},
		"error, then another turn": {[]string{lineInit, result(failure...), lineWords, lineOK}, exited(0), work.OutcomeOK, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := readClaude(work.IterationRequest{}, c.end, c.lines...)
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
func TestClaudeWordsThatDoNotCount(t *testing.T) {
	for name, line := range map[string]string{
		"thinking": lineThink, "tool input": lineCall, "tool result": lineTold, "echo": lineEcho, "subagent": lineSub,
		"whose it is does not stand there": lineNoMsg, "result": lineOK,
		"unknown event":               `{"type":"oracle","message":{"id":"m9","content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null}`,
		"unknown block":               `{"type":"assistant","message":{"id":"m9","content":[{"type":"song","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null}`,
		"no message id":               `{"type":"assistant","message":{"content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null}`,
		"a broken line":               `{"type":"assistant","message":{"id":"m9","content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null,}`,
		"no JSON at all":              `<promise>DONE</promise>`,
		"api error":                   `{"type":"assistant","message":{"id":"m9","model":"<synthetic>","content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null}`,
		"type is split over two keys": `{"type":"assis","type":"tant","message":{"id":"m9","content":[{"type":"text","text":"<promise>DONE</promise>"}]},"parent_tool_use_id":null}`,
	} {
		r := readClaude(work.IterationRequest{}, exited(0), lineInit, line, strings.Replace(lineOK, "<promise>DONE</promise>", "", 1))
		if len(r.Claims)+len(r.Signals.Promises) > 0 {
			t.Errorf("%s: claims %q, promises %q", name, r.Claims, r.Signals.Promises)
		}
	}
}

func TestClaudeLastMessage(t *testing.T) {
	first := strings.Replace(lineWords, `"m2"`, `"m1"`, 1)
	silent := strings.Replace(lineCall, `"m1"`, `"m3"`, 1)
	second := strings.Replace(strings.Replace(lineWords, `"m2"`, `"m2"`, 1), "DONE", "OTHER", 1)
	for name, c := range map[string]struct {
		lines  []string
		claims []string
		said   int
	}{
		"two blocks of one message": {[]string{lineWords, second}, []string{"DONE", "OTHER"}, 2},
		"two messages":              {[]string{first, second}, []string{"OTHER"}, 2},
		"a call afterwards":         {[]string{lineWords, silent, lineTold}, nil, 1},
		"a call in it":              {[]string{lineWords, strings.Replace(lineCall, `"m1"`, `"m2"`, 1), lineTold}, []string{"DONE"}, 1},
		"a subagent's afterwards":   {[]string{lineWords, lineSub}, []string{"DONE"}, 1},
		"an error afterwards":       {[]string{lineWords, `{"type":"assistant","message":{"id":"e","model":"<synthetic>","content":[]},"parent_tool_use_id":null}`}, nil, 1},
	} {
		r := readClaude(work.IterationRequest{}, exited(0), append(c.lines, lineOK)...)
		if !slices.Equal(r.Claims, c.claims) || len(r.Signals.Promises) != c.said {
			t.Errorf("%s: claims %q of promises %q, want %q", name, r.Claims, r.Signals.Promises, c.claims)
		}
	}
}

func TestClaudeUsage(t *testing.T) {
	half := 0.5
	type usage struct {
		in, out    int64
		own, total float64
	}
	for name, c := range map[string]struct {
		req   work.IterationRequest
		lines []string
		want  usage
	}{
		"a new session":                  {work.IterationRequest{}, []string{lineWords, lineOK}, usage{355, 30, 0.75, 0.75}},
		"a continued one":                {work.IterationRequest{Session: "S1", Before: work.Usage{CostUSD: &half}}, []string{lineOK}, usage{355, 30, 0.25, 0.75}},
		"a continued one, starting at 0": {work.IterationRequest{Session: "S1", Before: work.Usage{CostUSD: &half}}, []string{result("0.75", "0.4")}, usage{355, 30, 0.4, 0.4}},
		"what it was before is unknown":  {work.IterationRequest{Session: "S1"}, []string{lineOK}, usage{355, 30, 0.75, 0.75}},
		"no result":                      {work.IterationRequest{}, []string{lineThink, lineCall, lineWords}, usage{350, 30, -1, -1}},
		"nonsense":                       {work.IterationRequest{}, []string{result("0.75", "-3", `"input_tokens":300`, `"input_tokens":-1`)}, usage{-1, -1, -1, -1}},
		"no number":                      {work.IterationRequest{}, []string{result("0.75", `"NaN"`, `"output_tokens":30`, `"output_tokens":1e400`)}, usage{-1, -1, -1, -1}},
	} {
		r := readClaude(c.req, exited(0), c.lines...)
		got := usage{orMinus(r.Usage.InputTokens), orMinus(r.Usage.OutputTokens), orMinus(r.Usage.CostUSD), orMinus(r.Total.CostUSD)}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func orMinus[T int64 | float64](p *T) T {
	if p == nil {
		return -1
	}
	return *p
}

func TestClaudeResetTimes(t *testing.T) {
	limited := []string{`"is_error":false`, `"is_error":true`, `"api_error_status":null`, `"api_error_status":429`}
	event := `{"type":"rate_limit_event","rate_limit_info":{"status":"%s","resetsAt":1900000000,"rateLimitType":"five_hour"}}`
	for name, c := range map[string]struct {
		lines []string
		want  int64
	}{
		"event":              {[]string{fmt.Sprintf(event, "rejected"), result(limited...)}, 1900000000},
		"event of no matter": {[]string{fmt.Sprintf(event, "allowed"), result(limited...)}, 0},
		"text":               {[]string{result(`"is_error":false`, `"is_error":true`, `"result":"<promise>DONE</promise>"`, `"result":"Claude AI usage limit reached|1800000000"`)}, 1800000000},
		"unknown":            {[]string{result(limited...)}, 0},
	} {
		r := readClaude(work.IterationRequest{}, exited(1), c.lines...)
		var got int64
		if r.ResetAt != nil {
			got = r.ResetAt.Unix()
		}
		if r.Outcome != work.OutcomeRateLimited || got != c.want {
			t.Errorf("%s: outcome %q (%s), reset at %d, want %d", name, r.Outcome, r.Detail, got, c.want)
		}
	}
}

// A program that is to wait longer than a minute is not waited for.
func TestClaudeLongRetryIsAnOutage(t *testing.T) {
	retry := `{"type":"system","subtype":"api_retry","attempt":1,"retry_delay_ms":%d,"error_status":429,"error":"rate_limit"}`
	c := claudeFor(work.IterationRequest{})
	_, _ = fmt.Fprintf(c, retry+"\n", 59_000)
	if c.live.stopped != nil {
		t.Error("stopped for a short wait")
	}
	_, _ = fmt.Fprintf(c, retry+"\n", 3_600_000)
	s := c.live.stopped
	if s == nil || s.outcome != work.OutcomeRateLimited || s.resetAt == nil || time.Until(*s.resetAt) < 50*time.Minute {
		t.Errorf("stopped with %+v", s)
	}
}

func TestClaudeCallsRunUntilTheyEnd(t *testing.T) {
	c := claudeFor(work.IterationRequest{})
	feed := func(line string) int {
		_, _ = c.Write([]byte(line + "\n"))
		return len(c.running)
	}
	other := strings.Replace(lineCall, `"t1"`, `"t2"`, 1)
	for i, step := range []struct {
		line string
		want int
	}{
		{lineCall, 1}, {lineCall, 1}, {other, 2}, {lineTold, 1}, {lineTold, 1},
		{lineSub, 1}, {lineWords, 0}, {other, 1}, {lineOK, 0},
	} {
		if got := feed(step.line); got != step.want {
			t.Errorf("after line %d %d calls run, want %d", i, got, step.want)
		}
	}
}

func TestClaudeSessionLost(t *testing.T) {
	gone := `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: S9"]}`
	long := result(`"is_error":false`, `"is_error":true`, `:"completed"`, `:"blocking_limit"`, `"result":"<promise>DONE</promise>"`, `"result":"Prompt is too long"`)
	for name, c := range map[string]struct {
		session, line string
		lost          bool
	}{
		"unknown":               {"S9", gone, true},
		"too long":              {"S9", long, true},
		"too long, but new":     {"", long, false},
		"an error of its own":   {"S9", result(`"is_error":false`, `"is_error":true`), false},
		"all in the best order": {"S9", lineOK, false},
	} {
		r := readClaude(work.IterationRequest{Session: c.session}, exited(1), lineInit, c.line)
		if r.SessionLost != c.lost || (r.Session == "") != c.lost {
			t.Errorf("%s: lost %v, session %q", name, r.SessionLost, r.Session)
		}
	}
}

func TestClaudeDenied(t *testing.T) {
	denied := result(`"permission_denials":[]`, `"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"curl -H hunter2hunter2\nx"}},{"tool_input":{"file_path":"/etc/x"},"tool_name":"Write"}]`)
	r := readClaude(work.IterationRequest{}, exited(0), denied)
	if len(r.Denied) != 2 || !strings.HasPrefix(r.Denied[0], "Bash: curl -H ") || strings.Contains(r.Denied[0], "hunter2") || r.Denied[1] != "Write: /etc/x" {
		t.Errorf("denied %q", r.Denied)
	}
}

func TestClaudeArgs(t *testing.T) {
	usd := 2.5
	for name, c := range map[string]struct {
		s             setting
		has, hasNot   []string
		root          bool
		wantArgsError bool
	}{
		"standard": {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Verify: []string{"go test ./...", "rm *", "a\nb", "echo (x)", "make:"}}},
			has: []string{"--permission-mode acceptEdits", `{"permissions":{"allow":["Bash(go test ./...)"]}}`, "--session-id "}, hasNot: []string{"Write", "--resume", "--model", "--max-budget"}},
		"sandboxed":  {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionAutonomous, Verify: []string{"x"}}}, has: []string{"--permission-mode bypassPermissions"}, hasNot: []string{"--settings"}, root: true},
		"skip":       {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Agent: work.AgentSettings{SkipPermission: true}}}, has: []string{"--permission-mode bypassPermissions"}, root: true},
		"readonly":   {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionReadonly, Agent: work.AgentSettings{SkipPermission: true}}}, has: []string{"--permission-mode default", "Write,Edit,MultiEdit,NotebookEdit"}},
		"continued":  {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Session: "S1", Model: "opus", CostUSD: &usd, Agent: work.AgentSettings{Model: "haiku", Args: []string{"--bare"}}}}, has: []string{"--resume S1", "--model opus", "--max-budget-usd 2.5", "--bare"}, hasNot: []string{"--session-id"}},
		"no mode":    {s: setting{}, wantArgsError: true},
		"wrong mode": {s: setting{req: work.IterationRequest{Permission: "strict"}}, wantArgsError: true},
	} {
		args, set, err := claudeArgs(c.s)
		if (err != nil) != c.wantArgsError {
			t.Errorf("%s: %v", name, err)
		}
		line := strings.Join(args, " ")
		for _, want := range c.has {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %q in %s", name, want, line)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(line, not) {
				t.Errorf("%s: %q in %s", name, not, line)
			}
		}
		if slices.Contains(set, "IS_SANDBOX=1") != c.root {
			t.Errorf("%s: sets %q", name, set)
		}
	}
}

// In a sandbox the session folder is the only thing beside the phase folder
// that can be written, and the login the only thing of the home that is shown.
func TestClaudeStore(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	login := filepath.Join(home, ".claude", ".credentials.json")
	write(t, login, "{}", 0o600)
	write(t, filepath.Join(home, ".claude", "settings.json"), "{}", 0o600)
	program := filepath.Join(home, "claude")
	write(t, program, "#!/bin/sh\n", 0o755)
	l, err := launchClaude(setting{sandboxed: true, environ: newEnviron(nil, home), req: work.IterationRequest{
		Dir: dir, Permission: work.PermissionStandard, Agent: work.AgentSettings{Command: []string{program}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.write) != 1 || filepath.Dir(l.write[0]) != filepath.Join(home, ".claude", "projects") {
		t.Errorf("writable: %q", l.write)
	}
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		t.Fatal(err)
	}
	for path := range l.readFiles {
		if path != login && path != program && path != real {
			t.Errorf("%s is shown", path)
		}
	}
	if l.readFiles[login] == "" {
		t.Error("the login is not shown")
	}
}
