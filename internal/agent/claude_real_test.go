//go:build real

package agent

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/agent/agenttest"
	"forge/internal/fakemodel"
	"forge/internal/proc"
	"forge/internal/work"
)

// These tests drive the real program, which FORGE_REAL_CLAUDE names, in an
// empty home with a dummy key against a model server of our own.

type realClaude struct {
	program string
	server  *fakemodel.Server
	agents  *Agents
}

func newRealClaude(t *testing.T) *realClaude {
	t.Helper()
	program := os.Getenv("FORGE_REAL_CLAUDE")
	if program == "" {
		t.Skip("FORGE_REAL_CLAUDE does not name the program")
	}
	server, err := fakemodel.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return &realClaude{program: program, server: server, agents: newAgents(t)}
}

func (c *realClaude) settings(t *testing.T, turns ...fakemodel.Turn) work.AgentSettings {
	url := c.server.Script(scriptName(t), turns...)
	return work.AgentSettings{
		Name: "claude", Kind: "claude", Command: []string{c.program},
		SetEnv: map[string]string{"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CODE_MAX_RETRIES": "1"},
	}
}

func scriptName(t *testing.T) string {
	return strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())
}

func (c *realClaude) request(t *testing.T, turns ...fakemodel.Turn) work.IterationRequest {
	return work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, Agent: c.settings(t, turns...),
		Permission: work.PermissionStandard, Dir: t.TempDir(), Prompt: "Do the work.",
		Mark: scriptName(t) + strconv.Itoa(os.Getpid()), LogPath: filepath.Join(t.TempDir(), "log"),
		Limits:  agenttest.Patient(),
		Sandbox: work.SandboxSettings{Mode: "off"},
	}
}

func (c *realClaude) run(t *testing.T, req work.IterationRequest) work.IterationReport {
	t.Helper()
	r, err := c.agents.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	if t.Failed() || testing.Verbose() {
		t.Logf("report: %+v", r)
	}
	return r
}

func bash(command string) fakemodel.Tool {
	return fakemodel.Tool{Name: "Bash", Input: map[string]string{"command": command, "description": "a step"}}
}

func writeTool(path, content string) fakemodel.Tool {
	return fakemodel.Tool{Name: "Write", Input: map[string]string{"file_path": path, "content": content}}
}

func TestRealClaudeConforms(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	agenttest.Run(t, agenttest.Harness{
		Agent: c.agents, Soon: 3, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
			var turns []fakemodel.Turn
			var now fakemodel.Turn
			skip, login := true, false
			for i, s := range steps {
				last := i == len(steps)-1
				call := func(tool fakemodel.Tool) {
					now.Tools = append(now.Tools, tool)
					turns, now = append(turns, now), fakemodel.Turn{}
				}
				end := func(f fakemodel.Fault) {
					if now.Text != "" {
						call(bash("true"))
					}
					turns = append(turns, fakemodel.Turn{Repeat: -1, Fault: f})
				}
				switch {
				case s.Say != "":
					if now.Text = s.Say; last {
						turns = append(turns, now)
					} else if steps[i+1].Say != "" {
						call(bash("true"))
					}
				case s.Echo:
					turns = append(turns, fakemodel.Turn{Text: agenttest.Prompt, Thinking: agenttest.Prompt})
				case s.Write != "":
					call(writeTool(filepath.Join(dir, s.Write), s.Content))
				case s.Tool != "":
					call(bash(s.Tool))
				case s.Refused:
					skip = false
					call(writeTool("/etc/forge-refused", "x"))
				case s.Hang:
					end(fakemodel.Fault{Hang: true})
				case s.Fail:
					end(fakemodel.Fault{Status: 400})
				case s.Outage > 0:
					login = true
					end(fakemodel.Fault{Status: 429, Headers: map[string]string{
						"anthropic-ratelimit-unified-status":               "rejected",
						"anthropic-ratelimit-unified-reset":                strconv.FormatInt(time.Now().Unix()+int64(s.Outage), 10),
						"anthropic-ratelimit-unified-representative-claim": "five_hour",
					}})
				}
			}
			settings := c.settings(t, turns...)
			settings.SkipPermission = skip
			if login {
				// Only a login, not a key, is told when the limit ends.
				delete(settings.SetEnv, "ANTHROPIC_API_KEY")
				settings.SetEnv["CLAUDE_CODE_OAUTH_TOKEN"] = "sk-ant-oat01-dummy"
			}
			return settings
		},
	})
}

func TestRealClaudeProviderTrouble(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	for name, fault := range map[string]fakemodel.Fault{
		"429":        {Status: 429, Headers: map[string]string{"Retry-After": "1"}},
		"500":        {Status: 500},
		"overloaded": {Status: 529},
		"401":        {Status: 401},
		"no credit":  {Status: 400, Message: "Your credit balance is too low to access the Anthropic API."},
		"cut":        {Cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.run(t, c.request(t, fakemodel.Turn{Text: "half <promise>DONE</promise>", Repeat: -1, Fault: fault}))
			if r.Outcome != work.OutcomeRateLimited || len(r.Claims) > 0 || r.Detail == "" {
				t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
			}
		})
	}
	t.Run("cut once", func(t *testing.T) {
		t.Parallel()
		r := c.run(t, c.request(t, fakemodel.Turn{Text: "half", Fault: fakemodel.Fault{Cut: true}}, fakemodel.Turn{Text: "<promise>DONE</promise>"}))
		if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 {
			t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
		}
	})
	t.Run("no server", func(t *testing.T) {
		t.Parallel()
		req := c.request(t)
		req.Agent.SetEnv["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
		if r := c.run(t, req); r.Outcome != work.OutcomeRateLimited {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
	t.Run("not logged in", func(t *testing.T) {
		t.Parallel()
		req := c.request(t)
		delete(req.Agent.SetEnv, "ANTHROPIC_API_KEY")
		if r := c.run(t, req); r.Outcome != work.OutcomeRateLimited || !strings.Contains(r.Detail, "login") {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
	t.Run("unknown model", func(t *testing.T) {
		t.Parallel()
		if r := c.run(t, c.request(t, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{Status: 404}})); r.Outcome != work.OutcomeAgentFailed {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
	})
}

func TestRealClaudeUnknownSession(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	req := c.request(t, fakemodel.Turn{Text: "hello"})
	req.Session = "21111111-1111-4111-8111-111111111111"
	if r := c.run(t, req); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
		t.Errorf("outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
	}
}

func TestRealClaudeFloods(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	r := c.run(t, c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise> ", Fault: fakemodel.Fault{Flood: 10 << 20}}))
	if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || len(r.Message) > messageBytes {
		t.Errorf("outcome %q (%s), claims %q, message of %d bytes", r.Outcome, r.Detail, r.Claims, len(r.Message))
	}
}

func TestRealClaudeLongPrompt(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
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

func TestRealClaudeSubagentsWordsDoNotCount(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	req := c.request(t,
		fakemodel.Turn{Text: "I ask another.", Tools: []fakemodel.Tool{{Name: "Agent", Input: map[string]string{
			"description": "d", "prompt": "do it", "subagent_type": "general-purpose"}}}},
		fakemodel.Turn{Text: "<promise>DONE</promise>", Thinking: "<promise>DONE</promise>"},
		fakemodel.Turn{Text: "It is over.", Thinking: "<promise>DONE</promise>"})
	req.Agent.Args = []string{"--forward-subagent-text"}
	if r := c.run(t, req); r.Outcome != work.OutcomeOK || len(r.Claims)+len(r.Signals.Promises) > 0 || r.Message != "It is over." {
		t.Errorf("outcome %q (%s), claims %q, promises %q, message %q", r.Outcome, r.Detail, r.Claims, r.Signals.Promises, r.Message)
	}
}

func TestRealClaudePermissions(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	try := func(t *testing.T, change func(*work.IterationRequest)) (work.IterationReport, func(string) bool) {
		req := c.request(t)
		req.Agent = c.settings(t,
			fakemodel.Turn{Text: "I try.", Tools: []fakemodel.Tool{
				writeTool(filepath.Join(req.Dir, "written"), "x"), bash("go version > ran"), bash("sh -c 'touch shell'"), bash("echo '1'; echo 2 > verify"),
			}},
			fakemodel.Turn{Text: "I have tried."})
		change(&req)
		r := c.run(t, req)
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
		if exists("written") || exists("ran") || exists("shell") || exists("verify") || len(r.Denied) == 0 {
			t.Errorf("something was written; denied: %q", r.Denied)
		}
	})
	t.Run("standard", func(t *testing.T) {
		r, exists := try(t, func(req *work.IterationRequest) { req.Verify = []string{"sh -c 'touch shell'"} })
		if !exists("written") || exists("ran") || !exists("shell") || len(r.Denied) == 0 {
			t.Errorf("written %v, ran %v, verify command %v, denied %q", exists("written"), exists("ran"), exists("shell"), r.Denied)
		}
	})
	t.Run("skip", func(t *testing.T) {
		r, exists := try(t, func(req *work.IterationRequest) { req.Agent.SkipPermission = true })
		if !exists("written") || !exists("shell") || len(r.Denied) > 0 {
			t.Errorf("denied %q", r.Denied)
		}
	})
}

func TestRealClaudeSandboxed(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	for name, caps := range map[string]proc.Capabilities{
		"bubblewrap": {Bubblewrap: c.agents.config.Caps.Bubblewrap},
		"landlock":   {Landlock: c.agents.config.Caps.Landlock},
	} {
		t.Run(name, func(t *testing.T) {
			if !caps.Bubblewrap && !caps.Landlock {
				t.Skip("not on this machine")
			}
			a := New(Config{Environ: c.agents.config.Environ, Caps: caps})
			outside := t.TempDir()
			// What is shown read-only must not keep it from working.
			write(t, filepath.Join(a.environ.home, ".claude.json"), `{"numStartups":3}`, 0o600)
			req := c.request(t)
			req.Agent = c.settings(t, fakemodel.Turn{Text: "I work.", Tools: []fakemodel.Tool{
				writeTool(filepath.Join(req.Dir, "a.txt"), "hello"), bash("touch b.txt; touch " + outside + "/c.txt")}},
				fakemodel.Turn{Text: "More to do."})
			req.Sandbox = work.SandboxSettings{Mode: "required", Network: true}
			first, err := a.Iterate(t.Context(), req, nil)
			if err != nil || first.Outcome != work.OutcomeOK || first.Sandbox != name {
				log, _ := os.ReadFile(req.LogPath)
				t.Fatalf("%+v, %v, log %s", first, err, log)
			}
			for _, f := range []string{"a.txt", "b.txt"} {
				if _, err := os.Stat(filepath.Join(req.Dir, f)); err != nil {
					t.Error(err)
				}
			}
			if _, err := os.Stat(filepath.Join(outside, "c.txt")); err == nil {
				t.Error("the agent wrote outside of its folder")
			}
			req.Agent = c.settings(t, fakemodel.Turn{Text: "<promise>DONE</promise>"})
			req.Session, req.Before, req.Mark = first.Session, first.Total, req.Mark+"2"
			second, err := a.Iterate(t.Context(), req, nil)
			if err != nil || second.Outcome != work.OutcomeOK || second.Session != first.Session || len(second.Claims) != 1 {
				log, _ := os.ReadFile(req.LogPath)
				t.Errorf("session not continued: %+v, %v, log %s", second, err, log)
			}
		})
	}
}

func TestRealClaudeCaps(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	turn := fakemodel.Turn{Text: "on", Tools: []fakemodel.Tool{bash("true")}, Input: 100_000, Output: 1000, Repeat: -1}
	t.Run("money", func(t *testing.T) {
		req := c.request(t, turn)
		usd := 0.5
		req.CostUSD = &usd
		if r := c.run(t, req); r.Outcome != work.OutcomeCostLimit || r.Usage.CostUSD == nil {
			t.Errorf("outcome %q (%s), usage %+v", r.Outcome, r.Detail, r.Usage)
		}
	})
	t.Run("tokens", func(t *testing.T) {
		req := c.request(t, turn)
		tokens := int64(350_000)
		req.Tokens = &tokens
		r := c.run(t, req)
		if n, ok := r.Usage.Tokens(); r.Outcome != work.OutcomeCostLimit || !ok || n < tokens {
			t.Errorf("outcome %q (%s), tokens %d", r.Outcome, r.Detail, n)
		}
	})
}

func TestRealClaudeDetected(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	a := work.AgentSettings{Kind: "claude", Command: []string{c.program}}
	if d := Detect(t.Context(), a, c.agents.config.Environ); !d.Found || d.LoggedIn != LoginNo || d.Version == "" || d.Usable() {
		t.Errorf("without a key: %+v", d)
	}
	env := append([]string{"ANTHROPIC_API_KEY=dummy"}, c.agents.config.Environ...)
	if d := Detect(t.Context(), a, env); !d.Usable() || d.LoggedIn != LoginYes {
		t.Errorf("with a key: %+v", d)
	}
}

// What forge agents says of the limit on turns holds.
func TestRealClaudeTurnLimit(t *testing.T) {
	t.Parallel()
	c := newRealClaude(t)
	req := c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>", Tools: []fakemodel.Tool{bash("true")}, Repeat: -1})
	req.Agent.Args = []string{"--max-turns", "2"}
	if r := c.run(t, req); r.Outcome != work.OutcomeAgentFailed || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
	}
	if n := len(c.server.Requests(scriptName(t))); n > 3 {
		t.Errorf("the model was asked %d times", n)
	}
}
