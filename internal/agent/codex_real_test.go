//go:build real

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/agent/agenttest"
	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/work"
)

// These tests drive the real program, which FORGE_REAL_CODEX names, in an
// empty home with a dummy key against a model server of our own.

type realCodex struct {
	program string
	server  *fakemodel.Server
	agents  *Agents
}

func newRealCodex(t *testing.T) *realCodex {
	t.Helper()
	program := os.Getenv("FORGE_REAL_CODEX")
	if program == "" {
		t.Skip("FORGE_REAL_CODEX does not name the program")
	}
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &realCodex{program: program, server: server, agents: newAgents(t)}
}

// settings make codex ask a model server under url, and try once more.
func (c *realCodex) settings(t *testing.T, url string) work.AgentSettings {
	provider := fmt.Sprintf(`{name="fake",base_url=%q,env_key="FAKE_API_KEY",wire_api="responses",request_max_retries=1,stream_max_retries=1,supports_websockets=false}`, url+"/v1")
	return work.AgentSettings{
		Name: "codex", Kind: "codex", Command: []string{c.program}, Model: "gpt-5.5",
		Args: []string{"-c", `model_provider="fake"`, "-c", "model_providers.fake=" + provider},
		// Below the folder for temporary files it does not use its home for
		// programs, without which its own sandbox does not work.
		SetEnv: map[string]string{"FAKE_API_KEY": "dummy", "TMPDIR": t.TempDir()},
	}
}

func (c *realCodex) request(t *testing.T, turns ...fakemodel.Turn) work.IterationRequest {
	return work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, Agent: c.settings(t, c.server.Script(scriptName(t), turns...)),
		Permission: work.PermissionStandard, Dir: t.TempDir(), Prompt: "Do the work.",
		Mark: scriptName(t) + strconv.Itoa(os.Getpid()), LogPath: filepath.Join(t.TempDir(), "log"),
		Limits:  agenttest.Patient(),
		Sandbox: work.SandboxSettings{Mode: "off"},
	}
}

func (c *realCodex) run(t *testing.T, req work.IterationRequest) work.IterationReport {
	t.Helper()
	r, err := c.agents.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(req.LogPath)
			t.Logf("report: %+v\nlog: %s", r, log)
		}
	})
	return r
}

func codexShell(command string) fakemodel.Tool {
	return fakemodel.Tool{Name: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 30_000}}
}

func codexPatch(path, content string) fakemodel.Tool {
	var patch strings.Builder
	patch.WriteString("*** Begin Patch\n*** Add File: " + path + "\n")
	for line := range strings.Lines(content) {
		patch.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	return fakemodel.Tool{Name: "apply_patch", Input: patch.String() + "*** End Patch\n"}
}

func TestRealCodexConforms(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	tools := realTools{
		shell:   codexShell,
		write:   func(_, name, content string) fakemodel.Tool { return codexPatch(name, content) },
		refused: codexPatch("/etc/forge-refused", "x"),
		outage: func(secs int) fakemodel.Fault {
			return fakemodel.Fault{Status: 429, Kind: "usage_limit_reached", Detail: map[string]any{"plan_type": "pro", "resets_at": time.Now().Unix() + int64(secs)}}
		},
	}
	agenttest.Run(t, agenttest.Harness{
		Agent: c.agents, Soon: 2, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
			settings := c.settings(t, c.server.Script(scriptName(t), tools.turns(t, dir, steps)...))
			settings.SkipPermission = !slices.ContainsFunc(steps, func(s agenttest.Step) bool { return s.Refused })
			return settings
		},
	})
}

// What it counts is the whole session's.
func TestRealCodexUsageOfASession(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	price := 10.0
	var before work.IterationReport
	for i := range 3 {
		req := c.request(t, fakemodel.Turn{Text: "I run.", Tools: []fakemodel.Tool{codexShell("true")}}, fakemodel.Turn{Text: "So."})
		req.Agent.USDPerMTokIn, req.Agent.USDPerMTokOut = &price, &price
		req.Session, req.Before, req.Mark = before.Session, before.Total, req.Mark+strconv.Itoa(i)
		req.Dir = t.TempDir() // another folder does not keep it from going on
		r := c.run(t, req)
		if n, ok := r.Usage.Tokens(); r.Outcome != work.OutcomeOK || !ok || n != 220 || r.Usage.CostUSD == nil || *r.Usage.CostUSD < 0.0021 || *r.Usage.CostUSD > 0.0023 {
			t.Errorf("iteration %d: outcome %q (%s), usage %s", i, r.Outcome, r.Detail, shownUsage(r.Usage))
		}
		if n, ok := r.Total.Tokens(); !ok || n != int64(220*(i+1)) {
			t.Errorf("iteration %d: %d tokens in all", i, n)
		}
		if before.Session != "" && r.Session != before.Session {
			t.Errorf("session %q went on as %q", before.Session, r.Session)
		}
		before = r
	}
}

func shownUsage(u work.Usage) string {
	return fmt.Sprint(orMinus(u.InputTokens), orMinus(u.OutputTokens), orMinus(u.CostUSD))
}

func TestRealCodexProviderTrouble(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	for name, fault := range map[string]fakemodel.Fault{
		"429":         {Status: 429},
		"500":         {Status: 500},
		"503":         {Status: 503},
		"401":         {Status: 401},
		"no quota":    {Status: 429, Kind: "insufficient_quota"},
		"usage limit": {Status: 429, Kind: "usage_limit_reached"},
		"no plan":     {Status: 429, Kind: "usage_not_included"},
		"overloaded":  {Kind: "server_is_overloaded", Message: "busy"},
		"too fast":    {Kind: "rate_limit_exceeded", Message: "Please try again in 1s."},
		"cut":         {Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "429" {
				pace.Soak(t, "its limit is played, and the rest with Claude Code")
			}
			t.Parallel()
			r := c.run(t, c.request(t, fakemodel.Turn{Text: "half <promise>DONE</promise>", Repeat: -1, Fault: fault}))
			if r.Outcome != work.OutcomeRateLimited || len(r.Claims) > 0 || r.Detail == "" {
				t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
			}
		})
	}
	t.Run("cut once", func(t *testing.T) {
		t.Parallel()
		r := c.run(t, c.request(t, fakemodel.Turn{Text: "half <promise>HALF</promise>", Fault: fakemodel.Fault{Cut: true}}, fakemodel.Turn{Text: "<promise>DONE</promise>"}))
		if r.Outcome != work.OutcomeOK || !slices.Equal(r.Claims, []string{"DONE"}) || !slices.Equal(r.Signals.Promises, []string{"DONE"}) {
			t.Errorf("outcome %q (%s), claims %q, promises %q", r.Outcome, r.Detail, r.Claims, r.Signals.Promises)
		}
	})
	// It would wait by itself, and say nothing.
	t.Run("told to wait long", func(t *testing.T) {
		t.Parallel()
		r := c.run(t, c.request(t, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Kind: "rate_limit_exceeded", Message: "Please try again in 50m."}}))
		if r.Outcome != work.OutcomeRateLimited || r.ResetAt == nil || time.Until(*r.ResetAt) < 40*time.Minute {
			t.Errorf("outcome %q (%s), reset at %v", r.Outcome, r.Detail, r.ResetAt)
		}
	})
	// It would wait for ever, and say so from time to time, so that it never
	// looks idle.
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		req := c.request(t)
		req.Agent = c.settings(t, "http://127.0.0.1:9")
		if r := c.run(t, req); r.Outcome != work.OutcomeRateLimited {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
	t.Run("no key", func(t *testing.T) {
		t.Parallel()
		req := c.request(t)
		delete(req.Agent.SetEnv, "FAKE_API_KEY")
		if r := c.run(t, req); r.Outcome != work.OutcomeRateLimited || !strings.Contains(r.Detail, "FAKE_API_KEY") {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
	for name, fault := range map[string]fakemodel.Fault{
		"bad request":   {Status: 400, Message: "unexpected status 429: You’ve hit your usage limit"},
		"unknown model": {Status: 404, Message: "429 Too Many Requests"},
		"refused words": {Kind: "invalid_prompt", Message: "no"},
		"too long":      {Kind: "context_length_exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := c.run(t, c.request(t, fakemodel.Turn{Repeat: -1, Fault: fault})); r.Outcome != work.OutcomeAgentFailed || r.SessionLost {
				t.Errorf("outcome %q (%s), lost %v", r.Outcome, r.Detail, r.SessionLost)
			}
		})
	}
}

// An error among the items is none of the turn's: this one is about a model
// that the program does not know.
func TestRealCodexErrorItemIsNoFailure(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	req := c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
	req.Model = "no-such-model"
	r := c.run(t, req)
	if log, err := os.ReadFile(req.LogPath); err != nil || !strings.Contains(string(log), "Model metadata") {
		t.Errorf("the trap is not there: %v", err)
	}
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

func TestRealCodexSessionLost(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	t.Run("unknown", func(t *testing.T) {
		req := c.request(t, fakemodel.Turn{Text: "hello"})
		req.Session = "21111111-1111-4111-8111-111111111111"
		if r := c.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
			t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
		}
	})
	t.Run("too long", func(t *testing.T) {
		first := c.run(t, c.request(t, fakemodel.Turn{Text: "hello"}))
		req := c.request(t, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Kind: "context_length_exceeded"}})
		req.Session, req.Before = first.Session, first.Total
		if r := c.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
			t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
		}
	})
}

// A session whose agent was killed in the midst of a tool can be continued.
func TestRealCodexGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	req := c.request(t, fakemodel.Turn{Text: "I run.", Tools: []fakemodel.Tool{codexShell(agenttest.Staying)}})
	req.Agent.SkipPermission = true
	killed := agenttest.Interrupted(t, c.agents, req)
	if killed.Outcome != work.OutcomeInterrupted || killed.Session == "" {
		t.Fatalf("outcome %q (%s), session %q", killed.Outcome, killed.Detail, killed.Session)
	}
	again := c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
	again.Dir, again.Session, again.Mark = req.Dir, killed.Session, again.Mark+"2"
	if r := c.run(t, again); r.Outcome != work.OutcomeOK || r.Session != killed.Session || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), session %q, claims %q", r.Outcome, r.Detail, r.Session, r.Claims)
	}
}

func TestRealCodexFloods(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	r := c.run(t, c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise> ", Fault: fakemodel.Fault{Flood: 2 << 20}}))
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || len(r.Message) > messageBytes {
		t.Errorf("outcome %q (%s), claims %q, message of %d bytes", r.Outcome, r.Detail, r.Claims, len(r.Message))
	}
}

func TestRealCodexLongPrompt(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	req := c.request(t, fakemodel.Turn{Text: "read"})
	req.Prompt = strings.Repeat("A long tale. ", 40_000) + "THE END OF THE PROMPT"
	if r := c.run(t, req); r.Outcome != work.OutcomeOK {
		t.Fatalf("outcome %q (%s)", r.Outcome, r.Detail)
	}
	for _, q := range c.server.Requests(scriptName(t)) {
		if strings.Contains(string(q.Body), "THE END OF THE PROMPT") {
			return
		}
	}
	t.Error("the prompt did not reach the model")
}
