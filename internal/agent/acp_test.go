package agent

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/pace"
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
	pace.Slow(t, "limits have to run out")
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
		"a message without end":    {acpScript{Do: []acpAct{done, {Raw: `{"id":5,"method":"session/request_permission","params":{"x":"` + strings.Repeat("y", maxRPCLine) + `"}}`}}}, work.OutcomeAgentFailed, "longer, messages", 0},
		"asks and does not listen": {acpScript{Do: []acpAct{done, {Requests: maxRPCRequests}}}, work.OutcomeAgentFailed, "more, or longer, messages", 0},
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
	pace.Slow(t, "a server that does not go is waited for")
	a := newAgents(t)
	for range 20 {
		if r := iterate(t, a, served(t, acpScript{Do: []acpAct{{Say: "hello"}}, Quits: true})); r.Outcome != work.OutcomeOK {
			t.Fatalf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	}
}

func TestACPServerThatStays(t *testing.T) {
	pace.Slow(t, "a server that does not go is waited for")
	req := served(t, acpScript{Do: []acpAct{{Say: "<promise>DONE</promise>"}}, Stays: true})
	req.Limits.PostResultSecs = 1
	if r := iterate(t, newAgents(t), req); r.Outcome != work.OutcomePostResult || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

// Before it is ended, the server is told that its turn is over.
func TestACPCancel(t *testing.T) {
	pace.Slow(t, "agents that do not stop are waited for")
	state := filepath.Join(t.TempDir(), "state")
	req := served(t, acpScript{Do: []acpAct{{Say: "I think."}, {Hang: true}}, State: state, Deaf: true})
	req.Limits.IdleSecs = 5
	r := iterate(t, newAgents(t), req)
	// A loaded machine may need the signal's grace for the exit alone.
	if r.Outcome != work.OutcomeIdleTimeout || r.ExitCode != nil && *r.ExitCode != 0 {
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

func TestACPInput(t *testing.T) {
	i := newAgentInput()
	big := strings.Repeat("y", maxInput+1)
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
	waiting := newAgentInput()
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
	pace.Slow(t, "limits have to run out")
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
