package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"

	"forge/internal/proc"
	"forge/internal/work"
)

// served is a request for an iteration of a server that plays the script.
func served(t *testing.T, s acpScript) work.IterationRequest {
	t.Helper()
	agent := serving(t, s)
	agent.SkipPermission = true
	return work.IterationRequest{
		Run: "r", Phase: "01", Iteration: 1, Attempt: 1, Agent: agent, Permission: work.PermissionStandard,
		Dir: t.TempDir(), Prompt: "Do it.", Mark: scriptMark(t), Sandbox: work.SandboxSettings{Mode: "off"},
		Limits:  work.Limits{StartSecs: 60, IdleSecs: 60, IterationSecs: 120, PostResultSecs: 30, DrainSecs: 10},
		LogPath: filepath.Join(t.TempDir(), "log"),
	}
}

func scriptMark(t *testing.T) string {
	return "acp-" + strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()) + newSessionID()[:8]
}

func told(t *testing.T, state string) string {
	t.Helper()
	b, err := os.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestACPTurns(t *testing.T) {
	a := newAgents(t)
	done := acpAct{Say: "<promise>DONE</promise>"}
	for name, c := range map[string]struct {
		script acpScript
		want   work.Outcome
		detail string
		claims int
	}{
		"done":                     {acpScript{Do: []acpAct{done}}, work.OutcomeOK, "", 1},
		"it greets":                {acpScript{Greeting: "Welcome!\n\n[1,2]\n{\"id\":7}", Do: []acpAct{done}}, work.OutcomeOK, "", 1},
		"too many words":           {acpScript{Do: []acpAct{done}, Stop: "max_tokens"}, work.OutcomeAgentFailed, "the agent's turn ended by max tokens", 0},
		"refused":                  {acpScript{Do: []acpAct{done}, Stop: "refusal"}, work.OutcomeAgentFailed, "refusal", 0},
		"cancelled by itself":      {acpScript{Do: []acpAct{done}, Stop: "cancelled"}, work.OutcomeAgentFailed, "cancelled", 0},
		"an unknown end":           {acpScript{Do: []acpAct{done}, Stop: "perfected"}, work.OutcomeAgentFailed, "perfected", 0},
		"an error":                 {acpScript{Do: []acpAct{done, {Fail: "Internal error", Code: -32603, Data: map[string]string{"details": "it broke"}}}}, work.OutcomeAgentFailed, "cannot ask the agent: Internal error: it broke", 0},
		"no login":                 {acpScript{NoNew: true}, work.OutcomeRateLimited, "Authentication required", 0},
		"it exits":                 {acpScript{Do: []acpAct{done, {Exit: 3}}}, work.OutcomeAgentFailed, "exited with code 3", 0},
		"another protocol":         {acpScript{Version: 2, Do: []acpAct{done}}, work.OutcomeAgentFailed, "version 2", 0},
		"quits at once":            {acpScript{Do: []acpAct{done}, Quits: true}, work.OutcomeOK, "", 1},
		"asks for what is not let": {acpScript{Do: []acpAct{{Ask: "fs/read_text_file"}, {Ask: "terminal/create"}, {Ask: "_own"}, done}}, work.OutcomeOK, "", 1},
		"a message without end":    {acpScript{Do: []acpAct{done, {Raw: `{"id":5,"method":"session/request_permission","params":{"x":"` + strings.Repeat("y", maxACPLine) + `"}}`}}}, work.OutcomeAgentFailed, "longer, messages", 0},
		"asks and does not listen": {acpScript{Do: []acpAct{done, {Requests: maxACPRequests}}}, work.OutcomeAgentFailed, "more, or longer, messages", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := iterate(t, a, served(t, c.script))
			if r.Outcome != c.want || !strings.Contains(r.Detail, c.detail) || len(r.Claims) != c.claims {
				t.Errorf("outcome %q (%s), claims %q; want %q (%s)", r.Outcome, r.Detail, r.Claims, c.want, c.detail)
			}
			if r.Session != "" || r.SessionLost {
				t.Errorf("session %q of a server that keeps none, lost: %v", r.Session, r.SessionLost)
			}
		})
	}
}

// An answer is not lost when the server exits right behind it.
func TestACPAnswersAndExits(t *testing.T) {
	a := newAgents(t)
	for range 20 {
		if r := iterate(t, a, served(t, acpScript{Do: []acpAct{{Say: "hello"}}, Quits: true})); r.Outcome != work.OutcomeOK {
			t.Fatalf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	}
}

func TestACPServerThatStays(t *testing.T) {
	req := served(t, acpScript{Do: []acpAct{{Say: "<promise>DONE</promise>"}}, Stays: true})
	req.Limits.PostResultSecs = 1
	if r := iterate(t, newAgents(t), req); r.Outcome != work.OutcomePostResult || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

// Before it is ended, the server is told that its turn is over.
func TestACPCancel(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	req := served(t, acpScript{Do: []acpAct{{Say: "I think."}, {Hang: true}}, State: state})
	req.Limits.IdleSecs = 1
	r := iterate(t, newAgents(t), req)
	if r.Outcome != work.OutcomeIdleTimeout || r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("outcome %q (%s), exit code %v", r.Outcome, r.Detail, r.ExitCode)
	}
	if !strings.Contains(told(t, state), "session/cancel\n") {
		t.Errorf("the server was told %s", told(t, state))
	}
}

func TestACPSessions(t *testing.T) {
	a := newAgents(t)
	for name, how := range map[string]acpScript{"loaded": {Loads: true}, "resumed": {Loads: true, Resumes: true}} {
		t.Run(name, func(t *testing.T) {
			how.State = filepath.Join(t.TempDir(), "state")
			how.Do = []acpAct{{Say: "There is more to do."}, {Cost: 0.5}}
			first := iterate(t, a, served(t, how))
			if first.Outcome != work.OutcomeOK || first.Session == "" || orMinus(first.Usage.CostUSD) != 0.5 || orMinus(first.Total.CostUSD) != 0.5 {
				t.Fatalf("%+v", first)
			}
			how.Do = []acpAct{{Say: "There still is."}, {Cost: 0.75}}
			req := served(t, how)
			req.Session, req.Before = first.Session, first.Total
			second := iterate(t, a, req)
			if second.Outcome != work.OutcomeOK || second.Session != first.Session || len(second.Signals.Promises)+len(second.Signals.Progress) > 0 ||
				second.Message != "There still is." || orMinus(second.Usage.CostUSD) != 0.25 || orMinus(second.Total.CostUSD) != 0.75 {
				t.Errorf("%+v", second)
			}
			if n, _ := second.Usage.Tokens(); n != 115 {
				t.Errorf("%d tokens", n)
			}
			if got := strings.Contains(told(t, how.State), "session/resume"); got != how.Resumes {
				t.Errorf("the server was told %s", told(t, how.State))
			}
			req.Session = "another"
			if r := iterate(t, a, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
				t.Errorf("unknown session: %+v", r)
			}
		})
	}
	t.Run("kept nowhere", func(t *testing.T) {
		req := served(t, acpScript{Do: []acpAct{{Say: "hello"}}})
		req.Session = "any"
		if r := iterate(t, a, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost {
			t.Errorf("%+v", r)
		}
	})
	t.Run("too long", func(t *testing.T) {
		how := acpScript{Loads: true, State: filepath.Join(t.TempDir(), "state"), Do: []acpAct{{Fail: "Prompt is too long", Code: -32603}}}
		first := iterate(t, a, served(t, how))
		if first.Outcome != work.OutcomeAgentFailed || first.SessionLost || first.Session == "" {
			t.Errorf("a new session: %+v", first)
		}
		req := served(t, how)
		req.Session = first.Session
		if r := iterate(t, a, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost {
			t.Errorf("%+v", r)
		}
	})
	// What a sandbox keeps of a home is gone with it.
	t.Run("in a sandbox", func(t *testing.T) {
		if !a.config.Caps.Bubblewrap {
			t.Skip("no bubblewrap on this machine")
		}
		req := served(t, acpScript{Loads: true, State: "state", Do: []acpAct{{Say: "hello"}}})
		req.Sandbox.Mode = "required"
		req.Sandbox.Read = []string{filepath.Dir(req.Agent.Command[2])}
		if r := iterate(t, a, req); r.Outcome != work.OutcomeOK || r.Session != "" {
			t.Errorf("%+v", r)
		}
	})
}

func TestACPModesAndModels(t *testing.T) {
	a := newAgents(t)
	state := filepath.Join(t.TempDir(), "state")
	req := served(t, acpScript{Modes: []string{"default", "yolo"}, Models: []string{"small", "large"}, State: state, Do: []acpAct{{Say: "hello"}}})
	req.Model = "large"
	if r := iterate(t, a, req); r.Outcome != work.OutcomeOK {
		t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
	}
	for _, want := range []string{`session/set_mode {"modeId":"yolo"`, `session/set_config_option {"configId":"m"`, `"value":"large"`} {
		if !strings.Contains(told(t, state), want) {
			t.Errorf("no %s among what the server was told: %s", want, told(t, state))
		}
	}
	req = served(t, acpScript{Do: []acpAct{{Say: "<promise>DONE</promise>"}}})
	req.Model = "large"
	if r := iterate(t, a, req); r.Outcome != work.OutcomeAgentFailed || !strings.Contains(r.Detail, `"large"`) {
		t.Errorf("a model that cannot be chosen: outcome %q (%s)", r.Outcome, r.Detail)
	}
}

func TestACPMode(t *testing.T) {
	claude := []string{"auto", "default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"}
	gemini := []string{"default", "autoEdit", "yolo", "plan"}
	codex := []string{"read-only", "auto", "full-access"}
	opencode := []string{"build", "plan"}
	for _, c := range []struct {
		offered                 []string
		all, standard, readOnly string
	}{
		{claude, "bypassPermissions", "acceptEdits", "default"},
		{gemini, "yolo", "autoEdit", "default"},
		{codex, "full-access", "auto", "read-only"},
		{opencode, "", "", "plan"},
		{[]string{"architect", "code", "ask"}, "", "ask", "ask"},
		{[]string{"splendid"}, "", "", ""},
		{nil, "", "", ""},
	} {
		current := ""
		if len(c.offered) > 0 {
			current = c.offered[0]
		}
		for want, p := range map[*string]acpPolicy{&c.all: {all: true}, &c.standard: {}, &c.readOnly: {readOnly: true, all: true}} {
			if got := acpMode(p, current, c.offered); got != *want {
				t.Errorf("%q, %+v: %q, want %q", c.offered, p, got, *want)
			}
		}
	}
}

func TestACPPolicy(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	all, standard := acpPolicy{all: true, dir: dir}, acpPolicy{dir: dir, verify: []string{" make test ", "sh -c 'a b'"}}
	readOnly := acpPolicy{all: true, readOnly: true, dir: dir}
	in, out := `,"locations":[{"path":"`+dir+`/sub/new"}]`, `,"locations":[{"path":"`+dir+`/a"},{"path":"`+dir+`/../x"}]`
	for _, c := range []struct {
		call                    string
		all, standard, readOnly bool
	}{
		{`"kind":"edit"` + in, true, true, false},
		{`"kind":"edit","content":[{"type":"diff","path":"relative"}]`, true, true, false},
		{`"kind":"delete"` + in, true, true, false},
		{`"kind":"edit"` + out, true, false, false},
		{`"kind":"edit","locations":[{"path":"` + dir + `/a"}],"content":[{"type":"diff","path":"/etc/passwd"}]`, true, false, false},
		{`"kind":"edit","locations":[{"path":"` + dir + `/etc/passwd"}]`, true, false, false},
		{`"kind":"edit","locations":[{"path":"` + dir + `/etc/new/one"}]`, true, false, false},
		{`"kind":"edit"`, true, false, false},
		{`"kind":"execute","rawInput":{"command":"make test"}`, true, true, false},
		{`"kind":"execute","rawInput":{"command":"make test; rm -rf /"}`, true, false, false},
		{`"kind":"execute","rawInput":{"command":["bash","-lc","make test"]}`, true, true, false},
		{`"kind":"execute","rawInput":{"command":["/bin/sh","-c","sh -c 'a b'"]}`, true, true, false},
		{`"kind":"execute","rawInput":{"command":["python","-c","make test"]}`, true, false, false},
		{`"kind":"execute","rawInput":{"command":["bash","-lc","make test","x"]}`, true, false, false},
		{`"kind":"execute","rawInput":"make test"`, true, false, false},
		{`"kind":"execute","title":"make test"`, true, false, false},
		{`"kind":"read"` + in, true, true, true},
		{`"kind":"read"` + out, true, false, true},
		{`"kind":"search"`, true, true, true},
		{`"kind":"think"`, true, true, true},
		{`"kind":"fetch"`, true, false, false},
		{`"kind":"switch_mode"`, true, false, false},
		{`"kind":"sing"`, true, false, false},
		{`"title":"x"`, true, false, false},
	} {
		var ask acpAsk
		if err := json.Unmarshal([]byte(`{"toolCall":{`+c.call+`},"options":[{"optionId":"A","kind":"allow_always"},{"optionId":"a","kind":"allow_once"},{"optionId":"r","kind":"reject_once"}]}`), &ask); err != nil {
			t.Fatal(err)
		}
		for want, p := range map[*bool]acpPolicy{&c.all: all, &c.standard: standard, &c.readOnly: readOnly} {
			allowed, option := p.decide(ask)
			if word := map[bool]string{true: "a", false: "r"}[*want]; allowed != *want || option != word {
				t.Errorf("%s, %+v: %v by %q, want %v", c.call, p, allowed, option, *want)
			}
		}
	}
	// Where no option says it, the call is called off.
	var ask acpAsk
	if err := json.Unmarshal([]byte(`{"toolCall":{"kind":"edit"},"options":[{"optionId":"x","kind":"splendid"},{"optionId":"","kind":"allow_once"}]}`), &ask); err != nil {
		t.Fatal(err)
	}
	if allowed, option := all.decide(ask); allowed || option != "" {
		t.Errorf("allowed %v by %q", allowed, option)
	}
}

func TestACPDenied(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	req := served(t, acpScript{State: state, Do: []acpAct{{Write: "/etc/forge-refused"}, {Tool: "touch ran"}, {Write: "allowed"}, {Say: "<promise>DONE</promise>"}}})
	req.Agent.SkipPermission = false
	r := iterate(t, newAgents(t), req)
	if want := []string{"edit: Write /etc/forge-refused", "execute: touch ran"}; r.Outcome != work.OutcomeOK || !slices.Equal(r.Denied, want) || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), denied %q", r.Outcome, r.Detail, r.Denied)
	}
	if _, err := os.Stat(filepath.Join(req.Dir, "ran")); err == nil {
		t.Error("a command that was refused ran")
	}
	for _, want := range []string{`{"outcome":{"optionId":"no","outcome":"selected"}}`, `{"outcome":{"optionId":"once","outcome":"selected"}}`} {
		if !strings.Contains(told(t, state), "permission "+want) {
			t.Errorf("no answer %s: %s", want, told(t, state))
		}
	}
}

func TestACPOutages(t *testing.T) {
	refused := func(code int, message string, data any) error {
		return &acp.RequestError{Code: code, Message: message, Data: data}
	}
	kind := func(k string) map[string]string { return map[string]string{"errorKind": k} }
	for _, c := range []struct {
		err  error
		want bool
	}{
		{refused(-32000, "Authentication required", nil), true},
		{refused(429, "You exceeded your quota", nil), true},
		{refused(503, "{}", nil), true},
		{refused(401, "x", nil), true},
		{refused(400, `{"error":{"code":400,"message":"rate limit"}}`, nil), false},
		{refused(404, "model unavailable", nil), false},
		{refused(-32603, "Internal error: API Error: 400 scripted: quota", kind("unknown")), false},
		{refused(-32603, "Internal error: API Error: Request rejected (429) · x", kind("rate_limit")), true},
		{refused(-32603, "Internal error: API Error: Request rejected (429) · x", nil), true},
		{refused(-32603, "Internal error: API Error: 529 x", kind("server_error")), true},
		{refused(-32603, "Internal error: Failed to authenticate", kind("authentication_failed")), true},
		{refused(-32603, "Internal error: API Error: Unable to connect to API (ECONNRESET)", kind("unknown")), true},
		{refused(-32603, "Internal error: the API key", kind("invalid_request")), false},
		{refused(-32603, "Internal error", map[string]string{"details": "Rate limit exceeded"}), true},
		{refused(-32603, "Internal error: Incorrect API key provided", map[string]string{"errorName": "APIError"}), true},
		{refused(-32603, "Internal error: no such tool", "not an object"), false},
		{refused(-32602, "Session not found: quota", nil), false},
		{refused(-32002, "Resource not found: 429", nil), false},
		{errors.New("rate limit"), false},
	} {
		if got := acpOutage(c.err) != ""; got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}

// acpFor is a stream in the midst of a turn of session S.
func acpFor(req work.IterationRequest) *acpStream {
	l := newLive(req, codexFor(req).red, nil)
	l.started(nil, false)
	c := newACPStream(setting{req: req, live: l, red: l.red})
	from, to := io.Pipe()
	_ = from.Close() // of a pipe: never fails; nobody reads what is passed on
	c.rpc, c.session = to, "S"
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
	long := strings.Repeat("x", maxACPLine+1)
	_, _ = c.Write([]byte(strings.Replace(acpEnded, "<promise>", long, 1) + "\n" + acpWhole + "\n"))
	if c.live.stopped != nil || cap(c.raw) > 2*maxACPLine {
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

func TestACPInput(t *testing.T) {
	i := newACPInput()
	big := strings.Repeat("y", maxACPInput+1)
	for _, s := range []string{"x", big} {
		if n, err := i.Write([]byte(s)); n != len(s) || err != nil {
			t.Fatal(n, err)
		}
	}
	if n, err := i.Write([]byte("z")); n != 0 || !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("more than fits: %d, %v", n, err)
	}
	i.Close()
	if _, err := i.Write([]byte("z")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after the end: %v", err)
	}
	if b, err := io.ReadAll(i); err != nil || string(b) != "x"+big {
		t.Errorf("read %d bytes, %v", len(b), err)
	}
	waiting := newACPInput()
	read := make(chan error, 1)
	go func() {
		_, err := waiting.Read(make([]byte, 1))
		read <- err
	}()
	waiting.Close()
	if err := <-read; !errors.Is(err, io.EOF) {
		t.Errorf("a reader that waits gets %v", err)
	}
}

func TestACPLaunch(t *testing.T) {
	program := filepath.Join(t.TempDir(), "served")
	write(t, program, "#!/bin/sh\n", 0o755)
	req := work.IterationRequest{Permission: work.PermissionReadonly, Agent: work.AgentSettings{Command: []string{program, "acp"}, Args: []string{"-x"}}}
	for sandboxed := range map[bool]bool{true: true, false: false} {
		l, err := launchACP(setting{req: req, sandboxed: sandboxed})
		if err != nil || l.readOnly != sandboxed || !slices.Equal(l.args, []string{"acp", "-x"}) || l.path != program {
			t.Errorf("%+v, %v", l, err)
		}
	}
	for _, change := range []func(*work.IterationRequest){
		func(r *work.IterationRequest) { r.Permission = "strict" },
		func(r *work.IterationRequest) { r.Agent.Command = nil },
		func(r *work.IterationRequest) { r.Agent.Command = []string{"/no/such"} },
	} {
		bad := req
		if change(&bad); true {
			if _, err := launchACP(setting{req: bad}); err == nil {
				t.Errorf("%+v", bad)
			}
		}
	}
}

func TestACPDetected(t *testing.T) {
	bin := t.TempDir()
	program := func(name, text string) []string {
		path := filepath.Join(bin, name)
		write(t, path, text, 0o755)
		return []string{path}
	}
	for name, c := range map[string]struct {
		command []string
		version string
	}{
		"a server":          {serving(t, acpScript{Name: "fake"}).Command, "fake 1.2.3"},
		"one that stays":    {serving(t, acpScript{Name: "fake", Stays: true, Greeting: "Welcome!"}).Command, "fake 1.2.3"},
		"another protocol":  {serving(t, acpScript{Version: 7}).Command, ""},
		"no server":         {program("silent", "#!/bin/sh\ncat >/dev/null\n"), ""},
		"an error":          {program("refuses", "#!/bin/sh\necho '{\"id\":1,\"error\":{\"code\":1}}'\nsleep 600\n"), ""},
		"not what is asked": {program("echoes", "#!/bin/sh\ncat\n"), ""},
		"no program":        {[]string{filepath.Join(bin, "missing")}, ""},
		"no command":        {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if c.version == "" {
				patience = time.Second // for what never comes
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			d := Detect(ctx, work.AgentSettings{Kind: "acp", Command: c.command}, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + bin})
			if d.Usable() != (c.version != "") || d.Version != c.version || d.LoggedIn != LoginUnknown || !d.Usable() && d.Why == "" {
				t.Errorf("%+v", d)
			}
		})
	}
}

// A server that could not be started leaves nothing behind.
func TestACPNotStarted(t *testing.T) {
	a := New(Config{Environ: newAgents(t).config.Environ, Caps: proc.Capabilities{}})
	req := served(t, acpScript{})
	req.Dir = filepath.Join(req.Dir, "missing")
	if r, err := a.Iterate(t.Context(), req, nil); err == nil {
		t.Errorf("%+v", r)
	}
}
