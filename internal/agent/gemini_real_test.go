//go:build real

package agent

import (
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

// These tests drive the real program, which FORGE_REAL_GEMINI names, in an
// empty home with a dummy key against a model server of our own.

type realGemini struct {
	program string
	server  *fakemodel.Server
	agents  *Agents
}

const geminiSettings = `{
  // A comment, which the program allows.
  "security": {"auth": {"selectedType": "gemini-api-key"}},
  "general": {"enableAutoUpdate": false, "maxAttempts": 2},
  "privacy": {"usageStatisticsEnabled": false}
}`

func newRealGemini(t *testing.T) *realGemini {
	t.Helper()
	program := os.Getenv("FORGE_REAL_GEMINI")
	if program == "" {
		t.Skip("FORGE_REAL_GEMINI does not name the program")
	}
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	g := &realGemini{program: program, server: server, agents: newAgents(t)}
	g.configure(t, geminiSettings)
	return g
}

func (g *realGemini) configure(t *testing.T, settings string) {
	t.Helper()
	home := filepath.Join(g.agents.environ.home, ".gemini")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "settings.json"), settings, 0o600)
}

func (g *realGemini) settings(t *testing.T, turns ...fakemodel.Turn) work.AgentSettings {
	return work.AgentSettings{
		Name: "gemini", Kind: "gemini", Command: []string{g.program}, Model: "gemini-2.5-flash",
		SetEnv: map[string]string{"GOOGLE_GEMINI_BASE_URL": g.server.Script(scriptName(t), turns...), "GEMINI_API_KEY": "dummy"},
	}
}

func (g *realGemini) request(t *testing.T, turns ...fakemodel.Turn) work.IterationRequest {
	return work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, Agent: g.settings(t, turns...),
		Permission: work.PermissionStandard, Dir: t.TempDir(), Prompt: "Do the work.",
		Mark: scriptName(t) + strconv.Itoa(os.Getpid()), LogPath: filepath.Join(t.TempDir(), "log"),
		Limits:  agenttest.Patient(),
		Sandbox: work.SandboxSettings{Mode: "off"},
	}
}

func (g *realGemini) run(t *testing.T, req work.IterationRequest) work.IterationReport {
	t.Helper()
	return runReal(t, g.agents, req)
}

// runReal runs an iteration, and shows what came of it when the test fails.
func runReal(t *testing.T, a *Agents, req work.IterationRequest) work.IterationReport {
	t.Helper()
	r, err := a.Iterate(t.Context(), req, nil)
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

func geminiShell(command string) fakemodel.Tool {
	return fakemodel.Tool{Name: "run_shell_command", Input: map[string]string{"command": command, "description": "a step"}}
}

func geminiWrite(path, content string) fakemodel.Tool {
	return fakemodel.Tool{Name: "write_file", Input: map[string]string{"file_path": path, "content": content}}
}

func TestRealGeminiConforms(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	tools := realTools{
		shell:   geminiShell,
		write:   func(_, name, content string) fakemodel.Tool { return geminiWrite(name, content) },
		refused: geminiShell("touch /etc/forge-refused"),
		outage: func(secs int) fakemodel.Fault {
			return fakemodel.Fault{Status: 429, Message: "You exceeded your current quota. Please retry in " + strconv.Itoa(secs) + "s."}
		},
	}
	agenttest.Run(t, agenttest.Harness{
		Agent: g.agents, Soon: 5, Half: 2, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
			settings := g.settings(t, tools.turns(t, dir, steps)...)
			settings.SkipPermission = !slices.ContainsFunc(steps, func(s agenttest.Step) bool { return s.Refused })
			return settings
		},
	})
}

// The exit code is the HTTP status, cut to eight bits.
func TestRealGeminiProviderTrouble(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	for name, c := range map[string]struct {
		fault fakemodel.Fault
		code  int
		want  work.Outcome
	}{
		"429":           {fakemodel.Fault{Status: 429}, 173, work.OutcomeRateLimited},
		"500":           {fakemodel.Fault{Status: 500}, 244, work.OutcomeRateLimited},
		"503":           {fakemodel.Fault{Status: 503}, 247, work.OutcomeRateLimited},
		"401":           {fakemodel.Fault{Status: 401}, 145, work.OutcomeRateLimited},
		"403":           {fakemodel.Fault{Status: 403}, 147, work.OutcomeRateLimited},
		"cut":           {fakemodel.Fault{Cut: true}, 1, work.OutcomeRateLimited},
		"bad request":   {fakemodel.Fault{Status: 400, Message: "429 Too Many Requests, fetch failed"}, 144, work.OutcomeAgentFailed},
		"unknown model": {fakemodel.Fault{Status: 404, Message: "models/none is not found"}, 1, work.OutcomeAgentFailed},
		"no such model": {fakemodel.Fault{Status: 404, Kind: "not_found_error", Message: "The model none does not exist."}, 1, work.OutcomeAgentFailed},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "429" {
				pace.Soak(t, "its limit is played, and the rest with Claude Code")
			}
			t.Parallel()
			r := g.run(t, g.request(t, fakemodel.Turn{Text: "half <promise>DONE</promise>", Repeat: -1, Fault: c.fault}))
			if r.Outcome != c.want || len(r.Claims) > 0 || r.Detail == "" {
				t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
			}
			if r.ExitCode == nil || *r.ExitCode != c.code {
				t.Errorf("exit code %d, want %d: the trap is not there", *r.ExitCode, c.code)
			}
		})
	}
	// What others try again is the end of this one.
	t.Run("cut once", func(t *testing.T) {
		t.Parallel()
		r := g.run(t, g.request(t, fakemodel.Turn{Text: "half <promise>HALF</promise>", Fault: fakemodel.Fault{Cut: true}}, fakemodel.Turn{Text: "<promise>DONE</promise>"}))
		if r.Outcome != work.OutcomeRateLimited || len(r.Claims) > 0 {
			t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
		}
	})
	// It would wait by itself, and print no event.
	t.Run("told to wait", func(t *testing.T) {
		t.Parallel()
		r := g.run(t, g.request(t, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: 429, Message: "Please retry in 200s."}}))
		if r.Outcome != work.OutcomeRateLimited || r.ResetAt == nil || time.Until(*r.ResetAt) < 100*time.Second {
			t.Errorf("outcome %q (%s), reset at %v", r.Outcome, r.Detail, r.ResetAt)
		}
	})
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		req := g.request(t)
		req.Agent.SetEnv["GOOGLE_GEMINI_BASE_URL"] = "http://127.0.0.1:9"
		if r := g.run(t, req); r.Outcome != work.OutcomeRateLimited {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
	t.Run("no key", func(t *testing.T) {
		t.Parallel()
		req := g.request(t)
		delete(req.Agent.SetEnv, "GEMINI_API_KEY")
		if r := g.run(t, req); r.Outcome != work.OutcomeRateLimited || r.ExitCode == nil || *r.ExitCode != geminiNoLogin || !strings.Contains(r.Detail, "GEMINI_API_KEY") {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
}

func TestRealGeminiWithoutSettings(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	g.configure(t, `{}`)
	if r := g.run(t, g.request(t)); r.Outcome != work.OutcomeRateLimited || r.ExitCode == nil || *r.ExitCode != geminiNoLogin {
		t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
	}
}

func TestRealGeminiTurnLimit(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	g.configure(t, `{"security":{"auth":{"selectedType":"gemini-api-key"}},"model":{"maxSessionTurns":1}}`)
	r := g.run(t, g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>", Tools: []fakemodel.Tool{geminiWrite("a", "x")}}))
	if r.Outcome != work.OutcomeAgentFailed || r.ExitCode == nil || *r.ExitCode != 53 || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

// On a signal that is not Forge's the program exits with 0.
func TestRealGeminiKilledFromOutside(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	req := g.request(t,
		fakemodel.Turn{Text: "I run. <promise>DONE</promise>", Tools: []fakemodel.Tool{geminiShell("echo on > ran; kill -TERM $PPID; sleep 60")}})
	req.Agent.SkipPermission = true
	r := g.run(t, req)
	if _, err := os.Stat(filepath.Join(req.Dir, "ran")); err != nil {
		t.Error(err)
	}
	if r.Outcome != work.OutcomeAgentFailed || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
	if r.ExitCode == nil || *r.ExitCode != 0 {
		t.Errorf("exit code %v: the trap is not there", r.ExitCode)
	}
}

// It names no price, and counts each run for itself.
func TestRealGeminiUsageOfASession(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	price := 10.0
	var before work.IterationReport
	for i := range 2 {
		req := g.request(t, fakemodel.Turn{Text: "I write.", Tools: []fakemodel.Tool{geminiWrite("a.txt", strconv.Itoa(i))}}, fakemodel.Turn{Text: "So."})
		req.Agent.USDPerMTokIn, req.Agent.USDPerMTokOut = &price, &price
		req.Dir = g.agents.environ.home + "/phase"
		if err := os.MkdirAll(req.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		req.Session, req.Before, req.Mark = before.Session, before.Total, req.Mark+strconv.Itoa(i)
		r := g.run(t, req)
		if n, ok := r.Usage.Tokens(); r.Outcome != work.OutcomeOK || !ok || n != 220 || r.Usage.CostUSD == nil || *r.Usage.CostUSD < 0.0021 || *r.Usage.CostUSD > 0.0023 {
			t.Errorf("iteration %d: outcome %q (%s), usage %+v", i, r.Outcome, r.Detail, r.Usage)
		}
		if before.Session != "" && r.Session != before.Session {
			t.Errorf("session %q went on as %q", before.Session, r.Session)
		}
		before = r
	}
}

func TestRealGeminiUnknownSession(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "hello"})
	req.Session = "21111111-1111-4111-8111-111111111111"
	if r := g.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
		t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
	}
}

// A session whose agent was killed in the midst of a tool can be continued.
func TestRealGeminiGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "I run.", Tools: []fakemodel.Tool{geminiShell(agenttest.Staying)}})
	req.Agent.SkipPermission = true
	killed := agenttest.Interrupted(t, g.agents, req)
	if killed.Outcome != work.OutcomeInterrupted || killed.Session == "" {
		t.Fatalf("outcome %q (%s), session %q", killed.Outcome, killed.Detail, killed.Session)
	}
	again := g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
	again.Dir, again.Session, again.Mark = req.Dir, killed.Session, again.Mark+"2"
	if r := g.run(t, again); r.Outcome != work.OutcomeOK || r.Session != killed.Session || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), session %q, claims %q", r.Outcome, r.Detail, r.Session, r.Claims)
	}
}

// It is told much, and says more than is kept.
func TestRealGeminiFloods(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise> ", Fault: fakemodel.Fault{Flood: 10 << 20}})
	req.Prompt = strings.Repeat("A long tale. ", 40_000) + "THE END OF THE PROMPT"
	r := g.run(t, req)
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || len(r.Message) > messageBytes {
		t.Errorf("outcome %q (%s), claims %q, message of %d bytes", r.Outcome, r.Detail, r.Claims, len(r.Message))
	}
	g.wasAsked(t, "THE END OF THE PROMPT")
}

// wasAsked fails unless words have reached the model.
func (g *realGemini) wasAsked(t *testing.T, words string) {
	t.Helper()
	if !slices.ContainsFunc(g.server.Requests(scriptName(t)), func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), words) }) {
		t.Error("the prompt did not reach the model")
	}
}

// A prompt that begins like a command of the program is none.
func TestRealGeminiPromptLikeACommand(t *testing.T) {
	t.Parallel()
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "read"})
	req.Prompt = "/memory show\nTHE END OF THE PROMPT"
	if r := g.run(t, req); r.Outcome != work.OutcomeOK {
		t.Fatalf("outcome %q (%s)", r.Outcome, r.Detail)
	}
	if log, _ := os.ReadFile(req.LogPath); strings.Contains(string(log), "Memory is") {
		t.Errorf("the prompt was run as a command: %s", log)
	}
	g.wasAsked(t, "THE END OF THE PROMPT")
}
