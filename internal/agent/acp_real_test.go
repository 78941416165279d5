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
	"forge/internal/proc"
	"forge/internal/work"
)

// These tests drive real servers of the Agent Client Protocol, in an empty
// home with a dummy key against a model server of our own.

// realServer is one of them.
type realServer struct {
	variable string // names its program
	command  []string
	tools    realTools
	// settings point the server to the model under url; home is its own.
	settings func(t *testing.T, home, url string) map[string]string
	soon     int  // seconds that it takes to its first tool
	cost     bool // reports money
	tokens   bool // reports the tokens of a whole turn
	lost     bool // cannot always continue its own sessions, though it says so
	blind    bool // does not say what command it asks to run, but in a title
	queues   bool // takes a prompt during a turn
	loops    bool // takes a flood of like words for a loop
}

func realServers() map[string]realServer {
	limit := func(secs int) fakemodel.Fault {
		return fakemodel.Fault{Status: 429, Message: "usage limit reached|" + strconv.FormatInt(time.Now().Unix()+int64(secs), 10),
			Headers: map[string]string{"Retry-After": "1"}}
	}
	return map[string]realServer{
		"claude-agent-acp": {
			variable: "FORGE_REAL_CLAUDE_ACP", soon: 5, cost: true, tokens: true, queues: true,
			tools: realTools{
				shell: bash, outage: limit, refused: writeTool("/etc/forge-refused", "x"),
				write: func(dir, name, content string) fakemodel.Tool { return writeTool(filepath.Join(dir, name), content) },
			},
			settings: func(_ *testing.T, _, url string) map[string]string {
				return map[string]string{
					"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "dummy", "CLAUDE_CODE_MAX_RETRIES": "1", "DISABLE_TELEMETRY": "1",
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
				}
			},
		},
		"opencode": {
			variable: "FORGE_REAL_OPENCODE", command: []string{"acp"}, soon: 8, cost: true, queues: true,
			tools: realTools{
				shell: opencodeShell, outage: limit, refused: opencodeWrite("/etc/forge-refused", "x"),
				write: func(dir, name, content string) fakemodel.Tool {
					return opencodeWrite(filepath.Join(dir, name), content)
				},
			},
			settings: func(t *testing.T, home, url string) map[string]string {
				set := (&realOpencode{}).at(t, url, map[string]float64{"input": 3, "output": 15}).SetEnv
				// Where a sandbox shows it.
				for _, name := range []string{"OPENCODE_CONFIG", "OPENCODE_MODELS_PATH"} {
					text, err := os.ReadFile(set[name])
					if err != nil {
						t.Fatal(err)
					}
					set[name] = filepath.Join(home, name+"-of-"+scriptName(t)+".json")
					write(t, set[name], string(text), 0o600)
				}
				// By itself it asks for next to nothing.
				set["OPENCODE_PERMISSION"] = `{"edit":"ask","bash":"ask","external_directory":"ask"}`
				return set
			},
		},
		"gemini": {
			variable: "FORGE_REAL_GEMINI", command: []string{"--acp", "-m", "gemini-2.5-flash", "--skip-trust"}, soon: 5,
			tokens: true, lost: true, blind: true, loops: true,
			tools: realTools{
				shell: geminiShell, outage: limit, refused: geminiWrite("/etc/forge-refused", "x"),
				write: func(dir, name, content string) fakemodel.Tool { return geminiWrite(filepath.Join(dir, name), content) },
			},
			settings: func(t *testing.T, home, url string) map[string]string {
				if err := os.MkdirAll(filepath.Join(home, ".gemini"), 0o700); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(home, ".gemini", "settings.json"), geminiSettings, 0o600)
				return map[string]string{"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}
			},
		},
	}
}

// realACP is a real server with its own home.
type realACP struct {
	realServer
	program string
	server  *fakemodel.Server
	agents  *Agents
}

func eachRealACP(t *testing.T, test func(*testing.T, *realACP)) {
	found := false
	for name, s := range realServers() {
		program := os.Getenv(s.variable)
		if program == "" {
			continue
		}
		found = true
		t.Run(name, func(t *testing.T) {
			if !strings.HasSuffix(name, "-acp") {
				pace.Soak(t, "its own adapter is played, and this one with a server that does nothing else")
			}
			t.Parallel()
			server, err := fakemodel.Start()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			test(t, &realACP{realServer: s, program: program, server: server, agents: newAgents(t)})
		})
	}
	if !found {
		t.Skip("no variable names a server")
	}
}

// anew is the same server in a home of its own: not every one can start several
// times at once in an empty one.
func (c *realACP) anew(t *testing.T) *realACP {
	another := *c
	another.agents = newAgents(t)
	return &another
}

func (c *realACP) agent(t *testing.T, name string, turns ...fakemodel.Turn) work.AgentSettings {
	set := c.settings(t, c.agents.environ.home, c.server.Script(name, turns...))
	return work.AgentSettings{Name: "served", Kind: "acp", Command: append([]string{c.program}, c.command...), SetEnv: set}
}

func (c *realACP) request(t *testing.T, turns ...fakemodel.Turn) work.IterationRequest {
	return work.IterationRequest{
		Run: "r1", Phase: "01", Iteration: 1, Attempt: 1, Agent: c.agent(t, scriptName(t), turns...),
		Permission: work.PermissionStandard, Dir: t.TempDir(), Prompt: "Do the work.",
		Mark: scriptName(t) + strconv.Itoa(os.Getpid()), LogPath: filepath.Join(t.TempDir(), "log"),
		Limits:  agenttest.Patient(),
		Sandbox: work.SandboxSettings{Mode: "off"},
	}
}

// run runs an iteration. A server that is slow to leave is ended, and has done
// its work all the same: its outcome, too, keeps the claim.
func (c *realACP) run(t *testing.T, req work.IterationRequest) work.IterationReport {
	t.Helper()
	return runReal(t, c.agents, req)
}

func TestRealACPConforms(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		if c.lost {
			t.Skip("its sessions cannot be continued, which the suite would have to be told beforehand")
		}
		agenttest.Run(t, agenttest.Harness{
			Agent: c.agents, Soon: c.soon, Alone: true, Lingers: true, Messages: true, Continues: true, Reports: c.tokens, Outages: true, Refuses: true,
			Prepare: func(t *testing.T, dir string, steps ...agenttest.Step) work.AgentSettings {
				settings := c.agent(t, scriptName(t), c.tools.turns(t, dir, steps)...)
				settings.SkipPermission = !slices.ContainsFunc(steps, func(s agenttest.Step) bool { return s.Refused })
				return settings
			},
		})
	})
}

// What is told again of a session does not count.
func TestRealACPGoesOn(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		begin := c.request(t, fakemodel.Turn{Text: "It is <promise>DONE</promise>."})
		first := c.run(t, begin)
		if !first.Outcome.KeepsClaim() || len(first.Claims) != 1 || first.Session == "" {
			t.Fatalf("outcome %q (%s), claims %q, session %q", first.Outcome, first.Detail, first.Claims, first.Session)
		}
		if (first.Usage.CostUSD != nil) != c.cost {
			t.Errorf("usage %s", shownUsage(first.Usage))
		}
		req := c.request(t, fakemodel.Turn{Text: "There is more to do."})
		req.Session, req.Before, req.Mark, req.Dir = first.Session, first.Total, req.Mark+"2", begin.Dir
		second := c.run(t, req)
		if c.lost && second.SessionLost {
			if second.Outcome != work.OutcomeAgentFailed || second.Session != "" {
				t.Errorf("outcome %q (%s), session %q, lost %v", second.Outcome, second.Detail, second.Session, second.SessionLost)
			}
			return
		}
		if !second.Outcome.KeepsClaim() || second.Session != first.Session || len(second.Claims)+len(second.Signals.Promises) > 0 || second.Message != "There is more to do." {
			t.Errorf("outcome %q (%s), session %q, claims %q, message %q", second.Outcome, second.Detail, second.Session, second.Claims, second.Message)
		}
		gone := c.request(t, fakemodel.Turn{Text: "hello"})
		gone.Dir = begin.Dir
		gone.Session, gone.Mark = first.Session[:len(first.Session)-4]+"0000", gone.Mark+"3"
		if r := c.run(t, gone); r.Outcome != work.OutcomeAgentFailed || !r.SessionLost || r.Session != "" {
			t.Errorf("unknown session: outcome %q (%s), lost %v, session %q", r.Outcome, r.Detail, r.SessionLost, r.Session)
		}
	})
}

func TestRealACPProviderTrouble(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		wait := map[string]string{"Retry-After": "1"}
		for name, trouble := range map[string]struct {
			fault fakemodel.Fault
			want  work.Outcome
		}{
			"429": {fakemodel.Fault{Status: 429, Message: "rate limit", Headers: wait}, work.OutcomeRateLimited},
			"401": {fakemodel.Fault{Status: 401, Message: "not authenticated"}, work.OutcomeRateLimited},
			"503": {fakemodel.Fault{Status: 503, Message: "service unavailable", Headers: wait}, work.OutcomeRateLimited},
			"400": {fakemodel.Fault{Status: 400, Message: "no such tool"}, work.OutcomeAgentFailed},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := c.anew(t)
				r := c.run(t, c.request(t, fakemodel.Turn{Text: "half <promise>DONE</promise>", Repeat: -1, Fault: trouble.fault}))
				if r.Outcome != trouble.want || len(r.Claims) > 0 || r.Detail == "" {
					t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
				}
			})
		}
	})
}

// It is told much, and says more than is kept.
func TestRealACPFloods(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		req := c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise> ", Fault: fakemodel.Fault{Flood: 3 << 20}})
		req.Prompt = strings.Repeat("A long tale. ", 20_000) + "THE END OF THE PROMPT"
		r := c.run(t, req)
		if c.loops {
			if r.Outcome != work.OutcomeAgentFailed || len(r.Claims) > 0 || !strings.Contains(r.Detail, "max turn requests") {
				t.Errorf("outcome %q (%s), claims %q", r.Outcome, r.Detail, r.Claims)
			}
		} else if !r.Outcome.KeepsClaim() || len(r.Claims) != 1 || len(r.Message) > messageBytes {
			t.Errorf("outcome %q (%s), claims %q, message of %d bytes", r.Outcome, r.Detail, r.Claims, len(r.Message))
		}
		for _, q := range c.server.Requests(scriptName(t)) {
			if strings.Contains(string(q.Body), "THE END OF THE PROMPT") {
				return
			}
		}
		t.Error("the prompt did not reach the model")
	})
}

func TestRealACPPermissions(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		try := func(t *testing.T, change func(*work.IterationRequest)) (work.IterationReport, func(string) bool) {
			t.Parallel()
			c := c.anew(t)
			req := c.request(t)
			req.Agent = c.agent(t, scriptName(t),
				fakemodel.Turn{Text: "I try.", Tools: []fakemodel.Tool{c.tools.write(req.Dir, "written", "x")}},
				fakemodel.Turn{Tools: []fakemodel.Tool{c.tools.shell("sh -c 'touch shell'")}},
				fakemodel.Turn{Tools: []fakemodel.Tool{c.tools.shell("go version > ran")}},
				fakemodel.Turn{Text: "I have tried."})
			change(&req)
			r := c.run(t, req)
			if !r.Outcome.KeepsClaim() {
				t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
			}
			return r, func(name string) bool {
				_, err := os.Stat(filepath.Join(req.Dir, name))
				return err == nil
			}
		}
		t.Run("readonly", func(t *testing.T) {
			r, exists := try(t, func(req *work.IterationRequest) { req.Permission = work.PermissionReadonly })
			if exists("written") || exists("shell") || exists("ran") || len(r.Denied) == 0 {
				t.Errorf("something was written; denied: %q", r.Denied)
			}
		})
		t.Run("standard", func(t *testing.T) {
			r, exists := try(t, func(req *work.IterationRequest) { req.Verify = []string{"sh -c 'touch shell'"} })
			if !exists("written") || exists("ran") || exists("shell") == c.blind || len(r.Denied) == 0 {
				t.Errorf("written %v, ran %v, verify command %v, denied %q", exists("written"), exists("ran"), exists("shell"), r.Denied)
			}
		})
		t.Run("skip", func(t *testing.T) {
			r, exists := try(t, func(req *work.IterationRequest) { req.Agent.SkipPermission = true })
			if !exists("written") || !exists("shell") || !exists("ran") || len(r.Denied) > 0 {
				t.Errorf("denied %q", r.Denied)
			}
		})
	})
}

func TestRealACPSandboxed(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		for name, caps := range map[string]proc.Capabilities{
			"bubblewrap": {Bubblewrap: c.agents.config.Caps.Bubblewrap},
			"landlock":   {Landlock: c.agents.config.Caps.Landlock},
		} {
			t.Run(name, func(t *testing.T) {
				if !caps.Bubblewrap && !caps.Landlock {
					t.Skip("not on this machine")
				}
				t.Parallel()
				c := c.anew(t)
				c.agents = New(Config{Environ: c.agents.config.Environ, Caps: caps})
				outside := t.TempDir()
				for permission, allowed := range map[work.PermissionMode]bool{work.PermissionStandard: true, work.PermissionReadonly: false} {
					req := c.request(t)
					req.Agent = c.agent(t, scriptName(t), fakemodel.Turn{Text: "I work.", Tools: []fakemodel.Tool{c.tools.write(req.Dir, "a.txt", "hello")}},
						fakemodel.Turn{Tools: []fakemodel.Tool{c.tools.shell("touch b.txt; touch " + outside + "/c.txt")}},
						fakemodel.Turn{Text: "<promise>DONE</promise>"})
					req.Permission, req.Mark = permission, req.Mark+string(permission)
					req.Sandbox = work.SandboxSettings{Mode: "required", Network: true, Write: []string{c.agents.environ.home}}
					r := c.run(t, req)
					if !r.Outcome.KeepsClaim() || r.Sandbox != name || allowed && len(r.Claims) != 1 || r.Session == "" {
						t.Errorf("%s: outcome %q (%s), sandbox %q, claims %q, session %q", permission, r.Outcome, r.Detail, r.Sandbox, r.Claims, r.Session)
					}
					for _, f := range []string{"a.txt", "b.txt"} {
						if _, err := os.Stat(filepath.Join(req.Dir, f)); (err == nil) != allowed {
							t.Errorf("%s: %s: %v", permission, f, err)
						}
					}
				}
				if _, err := os.Stat(filepath.Join(outside, "c.txt")); err == nil {
					t.Error("the agent wrote outside of its folder")
				}
			})
		}
	})
}

func TestRealACPDetected(t *testing.T) {
	t.Parallel()
	eachRealACP(t, func(t *testing.T, c *realACP) {
		d := Detect(t.Context(), c.agent(t, scriptName(t)), c.agents.config.Environ)
		if !d.Usable() || d.Version == "" || d.LoggedIn != LoginUnknown {
			t.Errorf("%+v", d)
		}
	})
}
