package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"forge/internal/agent/agenttest"
	"forge/internal/pace"
	"forge/internal/proc"
	"forge/internal/work"
)

func TestMain(m *testing.M) {
	proc.SandboxChild()
	Child()
	acpServerChild()
	goleak.VerifyTestMain(m)
}

func newAgents(t *testing.T) *Agents {
	t.Helper()
	return New(Config{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, Caps: proc.Detect(context.Background())})
}

func TestExecConforms(t *testing.T) {
	pace.Slow(t, "limits have to run out")
	agenttest.Run(t, execHarness(newAgents(t)))
}

func TestACPConforms(t *testing.T) {
	pace.Slow(t, "limits have to run out")
	agenttest.Run(t, acpHarness(newAgents(t)))
}

func TestScriptConforms(t *testing.T) {
	pace.Slow(t, "limits have to run out")
	agenttest.Run(t, scriptHarness(newAgents(t)))
}

// In a sandbox processes have other numbers, so that only what needs none is
// run there.
func TestInASandbox(t *testing.T) {
	agents := newAgents(t)
	for name, caps := range map[string]proc.Capabilities{
		"bubblewrap": {Bubblewrap: agents.config.Caps.Bubblewrap},
		"landlock":   {Landlock: agents.config.Caps.Landlock},
	} {
		t.Run(name, func(t *testing.T) {
			if !caps.Bubblewrap && !caps.Landlock {
				t.Skip("not on this machine")
			}
			for kind, h := range map[string]agenttest.Harness{"exec": execHarness(agents), "script": scriptHarness(agents)} {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					dir, outside := t.TempDir(), t.TempDir()
					a := New(Config{Environ: agents.config.Environ, Caps: caps})
					settings := h.Prepare(t, dir, agenttest.Step{Write: "a.txt", Content: "in"},
						agenttest.Step{Tool: "echo out > '" + outside + "/b.txt'; true"}, agenttest.Step{Say: "<promise>DONE</promise>"})
					r, err := a.Iterate(t.Context(), work.IterationRequest{
						Run: "r", Phase: "01", Iteration: 1, Attempt: 1, Agent: settings, Permission: work.PermissionStandard,
						Dir: dir, Mark: "sandbox-" + name + kind, Sandbox: work.SandboxSettings{Mode: "required"},
					}, nil)
					if err != nil {
						t.Fatal(err)
					}
					if r.Outcome != work.OutcomeOK || len(r.Claims) != 1 || r.Sandbox != name {
						t.Errorf("outcome %q (%s), claims %q, sandbox %q", r.Outcome, r.Detail, r.Claims, r.Sandbox)
					}
					if got, _ := os.ReadFile(filepath.Join(dir, "a.txt")); string(got) != "in" {
						t.Errorf("the file in the folder holds %q", got)
					}
					if _, err := os.Stat(filepath.Join(outside, "b.txt")); err == nil {
						t.Error("the agent wrote outside of its folder")
					}
				})
			}
		})
	}
}

func execHarness(a *Agents) agenttest.Harness {
	return agenttest.Harness{Agent: a, Soon: 1, Prepare: func(t *testing.T, _ string, steps ...agenttest.Step) work.AgentSettings {
		var sh strings.Builder
		sh.WriteString("#!/bin/sh\nprompt=$(cat)\n")
		for _, s := range steps {
			switch {
			case s.Say != "":
				sh.WriteString("printf '%s\\n' " + quoted(s.Say) + "\n")
			case s.Echo:
				sh.WriteString("printf '%s\\n' \"$prompt\"\n")
			case s.Write != "":
				fmt.Fprintf(&sh, "printf '%%s' '%s' > '%s'\n", s.Content, s.Write)
			case s.Tool != "":
				sh.WriteString("sh -c " + quoted(s.Tool) + " 2>&1\n")
			case s.Hang:
				sh.WriteString("exec tail -f /dev/null\n")
			case s.Fail:
				sh.WriteString("echo 'it does not work' >&2; exit 3\n")
			}
		}
		checkout := t.TempDir()
		write(t, filepath.Join(checkout, "agent.sh"), sh.String(), 0o755)
		return work.AgentSettings{Name: "mine", Kind: "exec", Command: []string{"./agent.sh"}, Checkout: checkout}
	}}
}

func scriptHarness(a *Agents) agenttest.Harness {
	return agenttest.Harness{
		Agent: a, Soon: 1, Messages: true, Continues: true, Reports: true, Outages: true, Refuses: true,
		Prepare: func(t *testing.T, _ string, steps ...agenttest.Step) work.AgentSettings {
			var toml strings.Builder
			toml.WriteString("[[step]]\n")
			do := func(verb string, value any) {
				b, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&toml, "[[step.do]]\n%s = %s\n", verb, b)
			}
			for _, s := range steps {
				switch {
				case s.Say != "":
					do("print", s.Say)
				case s.Echo:
					do("echo_prompt", true)
				case s.Write != "":
					do("write", s.Write)
					fmt.Fprintf(&toml, "content = %q\n", s.Content)
				case s.Tool != "":
					do("run", s.Tool)
				case s.Hang:
					do("hang", true)
				case s.Fail:
					do("fail", "it does not work")
				case s.Outage > 0:
					do("rate_limit", s.Outage)
				case s.Refused:
					do("deny", "Write: /etc/passwd")
				}
			}
			toml.WriteString("[[step.do]]\nusage = {input_tokens = 100, output_tokens = 10, cost_usd = 0.25}\n")
			file := filepath.Join(t.TempDir(), "script.toml")
			write(t, file, toml.String(), 0o644)
			return work.AgentSettings{Name: "dry", Kind: "script", File: file}
		},
	}
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
