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
	"forge/internal/proc"
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
		Limits:  work.Limits{StartSecs: 60, IdleSecs: 60, IterationSecs: 180, PostResultSecs: 30, DrainSecs: 10},
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
		Agent: g.agents, Idle: 20, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
			settings := g.settings(t, tools.turns(t, dir, steps)...)
			settings.SkipPermission = !slices.ContainsFunc(steps, func(s agenttest.Step) bool { return s.Refused })
			return settings
		},
	})
}

// The exit code is the HTTP status, cut to eight bits.
func TestRealGeminiProviderTrouble(t *testing.T) {
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
	} {
		t.Run(name, func(t *testing.T) {
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
	g := newRealGemini(t)
	g.configure(t, `{}`)
	if r := g.run(t, g.request(t)); r.Outcome != work.OutcomeRateLimited || r.ExitCode == nil || *r.ExitCode != geminiNoLogin {
		t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
	}
}

func TestRealGeminiTurnLimit(t *testing.T) {
	g := newRealGemini(t)
	g.configure(t, `{"security":{"auth":{"selectedType":"gemini-api-key"}},"model":{"maxSessionTurns":1}}`)
	r := g.run(t, g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>", Tools: []fakemodel.Tool{geminiWrite("a", "x")}}))
	if r.Outcome != work.OutcomeAgentFailed || r.ExitCode == nil || *r.ExitCode != 53 || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
}

// On a signal that is not Forge's the program exits with 0.
func TestRealGeminiKilledFromOutside(t *testing.T) {
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
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "hello"})
	req.Session = "21111111-1111-4111-8111-111111111111"
	if r := g.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
		t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
	}
}

// A session whose agent was killed in the midst of a tool can be continued.
func TestRealGeminiGoesOnAfterAKill(t *testing.T) {
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "I run.", Tools: []fakemodel.Tool{geminiShell("tail -f /dev/null")}})
	req.Agent.SkipPermission = true
	req.Limits.IterationSecs = 15
	killed := g.run(t, req)
	if killed.Outcome != work.OutcomeIterationTimeout || killed.Session == "" {
		t.Fatalf("outcome %q (%s), session %q", killed.Outcome, killed.Detail, killed.Session)
	}
	again := g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
	again.Dir, again.Session, again.Mark = req.Dir, killed.Session, again.Mark+"2"
	if r := g.run(t, again); r.Outcome != work.OutcomeOK || r.Session != killed.Session || len(r.Claims) != 1 {
		t.Errorf("outcome %q (%s), session %q, claims %q", r.Outcome, r.Detail, r.Session, r.Claims)
	}
}

func TestRealGeminiFloods(t *testing.T) {
	g := newRealGemini(t)
	r := g.run(t, g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise> ", Fault: fakemodel.Fault{Flood: 10 << 20}}))
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || len(r.Message) > messageBytes {
		t.Errorf("outcome %q (%s), claims %q, message of %d bytes", r.Outcome, r.Detail, r.Claims, len(r.Message))
	}
}

// A prompt that begins like a command of the program is none.
func TestRealGeminiPrompts(t *testing.T) {
	g := newRealGemini(t)
	for name, prompt := range map[string]string{
		"long":    strings.Repeat("A long tale. ", 40_000) + "THE END OF THE PROMPT",
		"command": "/memory show\nTHE END OF THE PROMPT",
	} {
		t.Run(name, func(t *testing.T) {
			req := g.request(t, fakemodel.Turn{Text: "read"})
			req.Prompt = prompt
			if r := g.run(t, req); r.Outcome != work.OutcomeOK {
				t.Fatalf("outcome %q (%s)", r.Outcome, r.Detail)
			}
			if log, _ := os.ReadFile(req.LogPath); strings.Contains(string(log), "Memory is") {
				t.Errorf("the prompt was run as a command: %s", log)
			}
			if !slices.ContainsFunc(g.server.Requests(scriptName(t)), func(q fakemodel.Request) bool { return strings.Contains(string(q.Body), "THE END OF THE PROMPT") }) {
				t.Error("the prompt did not reach the model")
			}
		})
	}
}

func TestRealGeminiPermissions(t *testing.T) {
	g := newRealGemini(t)
	try := func(t *testing.T, change func(*work.IterationRequest)) (work.IterationReport, func(string) bool) {
		req := g.request(t,
			fakemodel.Turn{Text: "I try.", Tools: []fakemodel.Tool{
				geminiWrite("written", "x"), geminiShell("go version > ran"), geminiShell("touch shell"), geminiShell("touch shell; touch more"),
				geminiWrite("/etc/forge-refused", "x"),
			}},
			fakemodel.Turn{Text: "I have tried."})
		req.Verify = []string{"touch shell"}
		// What the agent writes of this sort does not count in its next
		// iteration.
		if err := os.MkdirAll(filepath.Join(req.Dir, ".gemini", "policies"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(req.Dir, ".gemini", "settings.json"), `{"tools":{"allowed":["run_shell_command","write_file"]}}`, 0o644)
		write(t, filepath.Join(req.Dir, ".gemini", "policies", "all.toml"), "[[rule]]\ntoolName = \"*\"\ndecision = \"allow\"\npriority = 999\n", 0o644)
		change(&req)
		r := g.run(t, req)
		if r.Outcome != work.OutcomeOK {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
		return r, func(name string) bool {
			_, err := os.Stat(filepath.Join(req.Dir, name))
			return err == nil
		}
	}
	t.Run("readonly", func(t *testing.T) {
		r, exists := try(t, func(req *work.IterationRequest) { req.Permission = work.PermissionReadonly })
		if exists("written") || exists("ran") || exists("shell") || exists("more") || len(r.Denied) != 5 {
			t.Errorf("something was written; denied: %q", r.Denied)
		}
		for _, q := range g.server.Requests(scriptName(t)) {
			if strings.Contains(string(q.Body), `"name":"write_file","description"`) {
				t.Error("a write tool was offered")
			}
		}
	})
	t.Run("standard", func(t *testing.T) {
		r, exists := try(t, func(*work.IterationRequest) {})
		if !exists("written") || exists("ran") || !exists("shell") || exists("more") || len(r.Denied) != 3 {
			t.Errorf("written %v, ran %v, verify command %v, more %v, denied %q", exists("written"), exists("ran"), exists("shell"), exists("more"), r.Denied)
		}
	})
	t.Run("skip", func(t *testing.T) {
		r, exists := try(t, func(req *work.IterationRequest) { req.Agent.SkipPermission = true })
		if !exists("written") || !exists("ran") || !exists("shell") || !exists("more") || len(r.Denied) > 1 {
			t.Errorf("denied %q", r.Denied)
		}
	})
}

func TestRealGeminiSandboxed(t *testing.T) {
	g := newRealGemini(t)
	for name, caps := range map[string]proc.Capabilities{
		"bubblewrap": {Bubblewrap: g.agents.config.Caps.Bubblewrap},
		"landlock":   {Landlock: g.agents.config.Caps.Landlock},
	} {
		t.Run(name, func(t *testing.T) {
			if !caps.Bubblewrap && !caps.Landlock {
				t.Skip("not on this machine")
			}
			a := New(Config{Environ: g.agents.config.Environ, Caps: caps})
			home := filepath.Join(a.environ.home, ".gemini")
			write(t, filepath.Join(home, "another"), "of the user's", 0o600)
			outside, dir := t.TempDir(), t.TempDir()
			iterate := func(mark string, permission work.PermissionMode, from work.IterationReport, turns ...fakemodel.Turn) work.IterationReport {
				req := g.request(t, turns...)
				req.Sandbox = work.SandboxSettings{Mode: "required", Network: true}
				req.Session, req.Before, req.Permission, req.Dir = from.Session, from.Total, permission, dir
				req.Mark += mark
				r := runReal(t, a, req)
				if r.Outcome != work.OutcomeOK || r.Sandbox != name {
					t.Fatalf("outcome %q (%s), sandbox %q", r.Outcome, r.Detail, r.Sandbox)
				}
				return r
			}
			first := iterate("1", work.PermissionStandard, work.IterationReport{},
				fakemodel.Turn{Text: "I work.", Tools: []fakemodel.Tool{geminiWrite("a.txt", "hello"),
					geminiShell("touch b.txt; touch " + outside + "/c.txt; cat " + home + "/another > seen; echo x > " + home + "/settings.json")}},
				fakemodel.Turn{Text: "More to do."})
			for _, f := range []string{"a.txt", "b.txt"} {
				if _, err := os.Stat(filepath.Join(dir, f)); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(filepath.Join(outside, "c.txt")); err == nil {
				t.Error("the agent wrote outside of its folder")
			}
			if b, _ := os.ReadFile(filepath.Join(dir, "seen")); len(b) > 0 {
				t.Error("the agent sees what else is in the user's folder")
			}
			if b, _ := os.ReadFile(filepath.Join(home, "settings.json")); string(b) != geminiSettings {
				t.Errorf("the user's settings are now %q", b)
			}
			second := iterate("2", work.PermissionStandard, first, fakemodel.Turn{Text: "<promise>DONE</promise>"})
			if second.Session != first.Session || len(second.Claims) != 1 {
				t.Errorf("session not continued: %+v", second)
			}
			third := iterate("3", work.PermissionReadonly, work.IterationReport{},
				fakemodel.Turn{Text: "I look.", Tools: []fakemodel.Tool{geminiWrite("d.txt", "hello"), geminiShell("touch e.txt")}}, fakemodel.Turn{Text: "So."})
			for _, f := range []string{"d.txt", "e.txt"} {
				if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
					t.Errorf("%s was written in a readonly phase", f)
				}
			}
			if len(third.Denied) != 2 {
				t.Errorf("denied %q", third.Denied)
			}
		})
	}
}

func TestRealGeminiCaps(t *testing.T) {
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>", Input: 100_000, Output: 1000})
	tokens := int64(50_000)
	req.Tokens = &tokens
	if r := g.run(t, req); r.Outcome != work.OutcomeCostLimit || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), usage %+v", r.Outcome, r.Detail, r.Usage)
	}
}

func TestRealGeminiDetected(t *testing.T) {
	g := newRealGemini(t)
	a := work.AgentSettings{Kind: "gemini", Command: []string{g.program}}
	environ := g.agents.config.Environ
	if d := Detect(t.Context(), a, append([]string{"GEMINI_API_KEY=dummy"}, environ...)); !d.Usable() || d.LoggedIn != LoginYes || !strings.HasPrefix(d.Version, "0.") {
		t.Errorf("with a key: %+v", d)
	}
	g.configure(t, `{}`)
	if d := Detect(t.Context(), a, environ); !d.Found || d.LoggedIn != LoginNo || d.Usable() {
		t.Errorf("without: %+v", d)
	}
}
