//go:build real

package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"forge/internal/agent/agenttest"
	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/work"
)

// These tests drive the real program, which FORGE_REAL_OPENCODE names, in an
// empty home with a dummy key against a model server of our own. It takes
// seconds to start, and most of a gigabyte.

type realOpencode struct {
	program string
	server  *fakemodel.Server
	agents  *Agents
}

func newRealOpencode(t *testing.T) *realOpencode {
	t.Helper()
	program := os.Getenv("FORGE_REAL_OPENCODE")
	if program == "" {
		t.Skip("FORGE_REAL_OPENCODE does not name the program")
	}
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &realOpencode{program: program, server: server, agents: newAgents(t)}
}

// settings make opencode ask the model server, which a settings file names.
func (o *realOpencode) settings(t *testing.T, turns ...fakemodel.Turn) work.AgentSettings {
	t.Helper()
	return o.at(t, o.server.Script(scriptName(t), turns...), map[string]float64{"input": 3, "output": 15})
}

func (o *realOpencode) at(t *testing.T, url string, price map[string]float64) work.AgentSettings {
	t.Helper()
	model := map[string]any{"name": "Fake", "limit": map[string]int{"context": 200_000, "output": 8192}}
	if price != nil {
		model["cost"] = price
	}
	config, err := json.Marshal(map[string]any{
		"model": "fake/fake-model", "small_model": "fake/fake-model",
		"provider": map[string]any{"fake": map[string]any{
			"npm": "@ai-sdk/openai-compatible", "name": "fake",
			"options": map[string]string{"baseURL": url + "/v1", "apiKey": "dummy"},
			"models":  map[string]any{"fake-model": model},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, models := filepath.Join(dir, "opencode.json"), filepath.Join(dir, "models.json")
	write(t, file, string(config), 0o600)
	write(t, models, "{}", 0o600)
	return work.AgentSettings{
		Name: "opencode", Kind: "opencode", Command: []string{o.program},
		SetEnv: map[string]string{
			"OPENCODE_CONFIG": file,
			// Of all other models it would have to read a list of megabytes.
			"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_MODELS_PATH": models,
			// In each new home it fetches 95 MB for plugins, which there are none of.
			"npm_config_offline": "true",
		},
	}
}

func (o *realOpencode) request(t *testing.T, turns ...fakemodel.Turn) work.IterationRequest {
	t.Helper()
	return work.IterationRequest{
		Run: "r1", Phase: "01", PhaseName: "first", Iteration: 1, Attempt: 1, Agent: o.settings(t, turns...),
		Permission: work.PermissionStandard, Dir: t.TempDir(), Prompt: "Do the work.",
		Mark: scriptName(t) + strconv.Itoa(os.Getpid()), LogPath: filepath.Join(t.TempDir(), "log"),
		Limits:  agenttest.Patient(),
		Sandbox: work.SandboxSettings{Mode: "off"},
	}
}

func (o *realOpencode) run(t *testing.T, req work.IterationRequest) work.IterationReport {
	t.Helper()
	return runReal(t, o.agents, req)
}

func opencodeShell(command string) fakemodel.Tool {
	return fakemodel.Tool{Name: "bash", Input: map[string]any{"command": command, "description": "a step", "timeout": 600_000}}
}

func opencodeWrite(path, content string) fakemodel.Tool {
	return fakemodel.Tool{Name: "write", Input: map[string]string{"filePath": path, "content": content}}
}

func TestRealOpencodeConforms(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	tools := realTools{
		shell: opencodeShell,
		write: func(dir, name, content string) fakemodel.Tool {
			return opencodeWrite(filepath.Join(dir, name), content)
		},
		refused: opencodeShell("touch /etc/forge-refused"),
		outage: func(secs int) fakemodel.Fault {
			return fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": strconv.Itoa(secs)}}
		},
	}
	agenttest.Run(t, agenttest.Harness{
		Agent: o.agents, Soon: 8, Half: 1, Alone: true, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
			turns := tools.turns(t, dir, steps)
			if last := len(turns) - 1; steps[len(steps)-1].Outage > 0 {
				// It says how long it is to wait only when it has given up.
				soon := fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "0"}}
				turns = slices.Insert(turns, last, fakemodel.Turn{Fault: soon, Repeat: 4})
			}
			settings := o.settings(t, turns...)
			settings.SkipPermission = !slices.ContainsFunc(steps, func(s agenttest.Step) bool { return s.Refused })
			return settings
		},
	})
}

func TestRealOpencodeProviderTrouble(t *testing.T) {
	t.Parallel()
	soon := map[string]string{"Retry-After": "1"}
	for name, c := range map[string]struct {
		fault fakemodel.Fault
		want  work.Outcome
		left  bool // another one of this outcome is played
	}{
		"500":           {fakemodel.Fault{Status: 500, Headers: soon}, work.OutcomeRateLimited, false},
		"401":           {fakemodel.Fault{Status: 401}, work.OutcomeRateLimited, true},
		"no credit":     {fakemodel.Fault{Status: 402}, work.OutcomeRateLimited, true},
		"bad request":   {fakemodel.Fault{Status: 400, Message: "no, and connection refused", Headers: soon}, work.OutcomeAgentFailed, false},
		"unknown model": {fakemodel.Fault{Status: 404}, work.OutcomeAgentFailed, true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.left {
				pace.Soak(t, "another fault of this outcome is played")
			}
			t.Parallel()
			opencodeTrouble(t, c.fault, c.want)
		})
	}
	t.Run("cut once", func(t *testing.T) {
		t.Parallel()
		o := newRealOpencode(t)
		r := o.run(t, o.request(t, fakemodel.Turn{Text: "half <promise>HALF</promise>", Fault: fakemodel.Fault{Cut: true}}, fakemodel.Turn{Text: "<promise>DONE</promise>"}))
		if r.Outcome != work.OutcomeOK || !slices.Equal(r.Claims, []string{"DONE"}) {
			t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
		}
	})
	t.Run("no such model", func(t *testing.T) {
		pace.Soak(t, "a bad request is played")
		t.Parallel()
		o := newRealOpencode(t)
		req := o.request(t)
		req.Model = "fake/none"
		if r := o.run(t, req); r.Outcome != work.OutcomeAgentFailed || !strings.Contains(r.Detail, "fake/none") {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
}

func opencodeTrouble(t *testing.T, fault fakemodel.Fault, want work.Outcome) {
	t.Helper()
	// Several that start at once in an empty home are in each other's way.
	o := newRealOpencode(t)
	r := o.run(t, o.request(t, fakemodel.Turn{Text: "half <promise>DONE</promise>", Repeat: -1, Fault: fault}))
	if r.Outcome != want || len(r.Claims) > 0 || r.Detail == "" {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

// It tries five times more, with pauses of a minute in all, in which it prints
// nothing. This and the next one wait, and begin before the tests that are
// parts of others.
func TestRealOpencodeProviderHangsUp(t *testing.T) {
	pace.Soak(t, "TestRealOpencodeProviderTrouble is cut once, and goes on")
	t.Parallel()
	opencodeTrouble(t, fakemodel.Fault{Cut: true}, work.OutcomeRateLimited)
}

// It would wait by itself, and print nothing.
func TestRealOpencodeToldToWaitLong(t *testing.T) {
	pace.Soak(t, "TestRealOpencodeWaitingIsNotIdle is told to wait")
	t.Parallel()
	opencodeTrouble(t, fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": "3000"}}, work.OutcomeRateLimited)
}

// While it waits to try again it prints nothing, which is not what the idle
// limit is for; nor does it when a tool has begun.
func TestRealOpencodeWaitingIsNotIdle(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	// Each wait is longer than the limit. A machine on which the program is
	// silent for that long elsewhere gets a longer one, up to what Forge lets
	// the program wait for its provider.
	for limit := 8; ; limit = min(2*limit, 50) {
		wait := strconv.Itoa(limit + 6)
		req := o.request(t,
			fakemodel.Turn{Fault: fakemodel.Fault{Status: 429, Headers: map[string]string{"Retry-After": wait}}},
			fakemodel.Turn{Tools: []fakemodel.Tool{opencodeShell("touch begun; sleep " + wait + "; touch over")}},
			fakemodel.Turn{Text: "<promise>DONE</promise>"})
		req.Agent.SkipPermission = true
		req.Mark += wait
		req.Limits.IdleSecs = limit
		asked := len(o.server.Requests(scriptName(t)))
		r := o.run(t, req)
		asked = len(o.server.Requests(scriptName(t))) - asked
		has := func(name string) bool {
			_, err := os.Stat(filepath.Join(req.Dir, name))
			return err == nil
		}
		waits := asked == 1 || has("begun") && !has("over")
		if r.Outcome == work.OutcomeIdleTimeout && !waits && limit < 50 {
			continue
		}
		if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || !has("over") {
			t.Errorf("outcome %q (%s), claims %q, asked %d times, the tool has begun: %v, is over: %v", r.Outcome, r.Detail, r.Claims, asked, has("begun"), has("over"))
		}
		return
	}
}

// Each step tells its own usage, and a session that goes on begins at zero.
func TestRealOpencodeUsageOfASession(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	var before work.IterationReport
	dir := t.TempDir()
	for i := range 2 {
		req := o.request(t, fakemodel.Turn{Text: "I run.", Tools: []fakemodel.Tool{opencodeWrite("a.txt", strconv.Itoa(i))}, Input: 1000}, fakemodel.Turn{Text: "So."})
		req.Dir = dir
		req.Session, req.Before, req.Mark = before.Session, before.Total, req.Mark+strconv.Itoa(i)
		r := o.run(t, req)
		if n, ok := r.Usage.Tokens(); r.Outcome != work.OutcomeOK || !ok || n != 1120 || r.Usage.CostUSD == nil || *r.Usage.CostUSD < 0.0035 || *r.Usage.CostUSD > 0.0037 {
			t.Errorf("iteration %d: outcome %q (%s), usage %+v", i, r.Outcome, r.Detail, r.Usage)
		}
		if before.Session != "" && r.Session != before.Session {
			t.Errorf("session %q went on as %q", before.Session, r.Session)
		}
		before = r
	}
	for _, q := range o.server.Requests(scriptName(t)) {
		if q.Side {
			t.Errorf("a request beside the conversation: %s", q.Body)
		}
	}
}

// For a model whose price it does not know it reports a cost of 0.
func TestRealOpencodeUnknownPrice(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	req := o.request(t)
	req.Agent = o.at(t, o.server.Script(scriptName(t), fakemodel.Turn{Text: "So."}), nil)
	r := o.run(t, req)
	if _, ok := r.Usage.Tokens(); r.Outcome != work.OutcomeOK || !ok || r.Usage.CostUSD != nil {
		t.Errorf("outcome %q (%s), usage %+v", r.Outcome, r.Detail, r.Usage)
	}
	if log, err := os.ReadFile(req.LogPath); err != nil || !strings.Contains(string(log), `"cost":0}`) {
		t.Errorf("the trap is not there: %v", err)
	}
}

func TestRealOpencodeSessionLost(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	begun := o.request(t, fakemodel.Turn{Text: "hello"})
	first := o.run(t, begun)
	t.Run("unknown", func(t *testing.T) {
		req := o.request(t, fakemodel.Turn{Text: "hello"})
		req.Session = "ses_e033f3e6affeBXxgrM7Z6Mf4pX"
		if r := o.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
			t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
		}
	})
	// In another folder it goes on where nobody hears it, and never leaves.
	t.Run("another folder", func(t *testing.T) {
		req := o.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
		req.Session, req.Before, req.Limits.PostResultSecs = first.Session, first.Total, 5
		if r := o.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" || len(r.Claims) > 0 {
			t.Errorf("outcome %q (%s), lost %v, session %q, claims %q", r.Outcome, r.Detail, r.SessionLost, r.Session, r.Claims)
		}
	})
	// It shortens a conversation that is too long, and goes on with it: for
	// ever when that does not help.
	t.Run("too long", func(t *testing.T) {
		const tooLong = "This model's maximum context length is 8192 tokens. However, your messages resulted in 10000 tokens."
		req := o.request(t, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: 400, Message: tooLong}})
		req.Dir, req.Session, req.Before = begun.Dir, first.Session, first.Total
		r := o.run(t, req)
		if r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" || !strings.Contains(r.Detail, "too long") {
			t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
		}
		if log, err := os.ReadFile(req.LogPath); err != nil || !strings.Contains(string(log), `"synthetic":true`) {
			t.Errorf("the trap is not there: %v", err)
		}
	})
}

// A session whose agent was killed in the midst of a tool can be continued,
// also when no event has named it yet.
func TestRealOpencodeGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	req := o.request(t, fakemodel.Turn{Text: "I run.", Tools: []fakemodel.Tool{opencodeShell(agenttest.Staying)}})
	req.Agent.SkipPermission = true
	killed := agenttest.Interrupted(t, o.agents, req)
	if killed.Outcome != work.OutcomeInterrupted || killed.Session == "" {
		t.Fatalf("outcome %q (%s), session %q", killed.Outcome, killed.Detail, killed.Session)
	}
	again := o.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
	again.Dir, again.Session, again.Mark = req.Dir, killed.Session, again.Mark+"2"
	if r := o.run(t, again); r.Outcome != work.OutcomeOK || r.Session != killed.Session || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), session %q, claims %q", r.Outcome, r.Detail, r.Session, r.Claims)
	}
}

func TestRealOpencodeKilledFromOutside(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	req := o.request(t, fakemodel.Turn{Text: "I run. <promise>DONE</promise>", Tools: []fakemodel.Tool{opencodeShell("kill -TERM $PPID; sleep 60")}})
	req.Agent.SkipPermission = true
	if r := o.run(t, req); r.Outcome != work.OutcomeAgentFailed || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

// A prompt as an argument would be too long, and arrive in quotes; and what
// the model says is too long to be kept. It is less than a pipe takes: what opencode has
// not written when it ends, on a machine where many are at work, is lost.
func TestRealOpencodeFloods(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	req := o.request(t, fakemodel.Turn{Text: "<promise>DONE</promise> ", Fault: fakemodel.Fault{Flood: 900 << 10}})
	req.Prompt = `Do "the work". ` + strings.Repeat("A long tale. ", 40_000) + "THE END OF THE PROMPT"
	r := o.run(t, req)
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || len(r.Message) > messageBytes {
		t.Errorf("outcome %q (%s), claims %q, message of %d bytes", r.Outcome, r.Detail, r.Claims, len(r.Message))
	}
	want, _ := json.Marshal(req.Prompt)
	if !slices.ContainsFunc(o.server.Requests(scriptName(t)), func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), string(want)) }) {
		t.Error("the prompt did not reach the model as it is")
	}
}
