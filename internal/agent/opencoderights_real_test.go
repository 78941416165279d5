//go:build real

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/proc"
	"forge/internal/work"
)

func TestRealOpencodePermissions(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	try := func(t *testing.T, change func(*work.IterationRequest)) (work.IterationReport, func(string) bool) {
		req := o.request(t)
		req.Agent = o.settings(t,
			fakemodel.Turn{Text: "I try.", Tools: []fakemodel.Tool{
				opencodeWrite(filepath.Join(req.Dir, "written"), "x"), opencodeShell("go version > ran"), opencodeShell("sh -c 'touch shell'"),
				opencodeShell("sh -c 'touch shell'; touch more"), opencodeShell("sh -c 'touch shell' > verify"),
				{Name: "task", Input: map[string]string{"description": "d", "prompt": "do it", "subagent_type": "general"}},
			}},
			fakemodel.Turn{Text: "I have tried."})
		req.Verify = []string{"sh -c 'touch shell'"}
		// What the agent writes of this sort does not count in its next
		// iteration; what the project says to every agent does.
		write(t, filepath.Join(req.Dir, "opencode.json"), `{"permission":"allow","agent":{"forge":{"permission":{"bash":"allow","edit":"allow"}}}}`, 0o644)
		write(t, filepath.Join(req.Dir, "AGENTS.md"), "THE RULES OF THE PROJECT", 0o644)
		change(&req)
		r := o.run(t, req)
		if r.Outcome != work.OutcomeOK {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
		requests := o.server.Requests(scriptName(t))
		if len(requests) != 2 || !strings.Contains(string(requests[0].Body), "THE RULES OF THE PROJECT") {
			t.Errorf("%d requests, or without the project's rules", len(requests))
		}
		return r, func(name string) bool {
			_, err := os.Stat(filepath.Join(req.Dir, name))
			return err == nil
		}
	}
	t.Run("readonly", func(t *testing.T) {
		r, exists := try(t, func(req *work.IterationRequest) { req.Permission = work.PermissionReadonly })
		if exists("written") || exists("ran") || exists("shell") || exists("more") || exists("verify") || len(r.Denied) != 6 {
			t.Errorf("something was written; denied: %q", r.Denied)
		}
	})
	t.Run("standard", func(t *testing.T) {
		r, exists := try(t, func(*work.IterationRequest) {})
		if !exists("written") || exists("ran") || !exists("shell") || exists("more") || exists("verify") || len(r.Denied) != 4 {
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

func TestRealOpencodeSandboxed(t *testing.T) {
	pace.Soak(t, "each of its starts takes seconds, and four other agents are played sandboxed")
	t.Parallel()
	o := newRealOpencode(t)
	for name, caps := range map[string]proc.Capabilities{
		"bubblewrap": {Bubblewrap: o.agents.config.Caps.Bubblewrap},
		"landlock":   {Landlock: o.agents.config.Caps.Landlock},
	} {
		t.Run(name, func(t *testing.T) {
			if !caps.Bubblewrap && !caps.Landlock {
				t.Skip("not on this machine")
			}
			t.Parallel()
			o := newRealOpencode(t)
			a := New(Config{Environ: o.agents.config.Environ, Caps: caps})
			data := filepath.Join(a.environ.home, ".local", "share", "opencode")
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			const login = `{"other":{"type":"api","key":"dummy"}}`
			write(t, filepath.Join(data, "auth.json"), login, 0o600)
			write(t, filepath.Join(data, "another"), "of the user's", 0o600)
			outside, dir := t.TempDir(), t.TempDir()
			iterate := func(mark string, permission work.PermissionMode, from work.IterationReport, turns ...fakemodel.Turn) work.IterationReport {
				req := o.request(t, turns...)
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
				fakemodel.Turn{Text: "I work.", Tools: []fakemodel.Tool{opencodeWrite(filepath.Join(dir, "a.txt"), "hello"),
					opencodeShell("touch b.txt; touch " + outside + "/c.txt; cat " + data + "/another > seen; echo x > " + data + "/auth.json")}},
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
			if b, _ := os.ReadFile(filepath.Join(data, "auth.json")); string(b) != login {
				t.Errorf("the user's login is now %q", b)
			}
			second := iterate("2", work.PermissionStandard, first, fakemodel.Turn{Text: "<promise>DONE</promise>"})
			if second.Session != first.Session || len(second.Claims) != 1 {
				t.Errorf("session not continued: %+v", second)
			}
			third := iterate("3", work.PermissionReadonly, work.IterationReport{},
				fakemodel.Turn{Text: "I look.", Tools: []fakemodel.Tool{opencodeWrite(filepath.Join(dir, "d.txt"), "hello"), opencodeShell("touch e.txt")}},
				fakemodel.Turn{Text: "So."})
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

func TestRealOpencodeCaps(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	req := o.request(t, fakemodel.Turn{Text: "on", Tools: []fakemodel.Tool{opencodeWrite("a", "x")}, Input: 100_000, Output: 1000, Repeat: -1})
	usd := 0.5
	req.CostUSD = &usd
	if r := o.run(t, req); r.Outcome != work.OutcomeCostLimit || r.Usage.CostUSD == nil || *r.Usage.CostUSD < usd {
		t.Errorf("outcome %q (%s), usage %+v", r.Outcome, r.Detail, r.Usage)
	}
}

func TestRealOpencodeDetected(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	a := work.AgentSettings{Kind: "opencode", Command: []string{o.program}}
	environ := o.agents.config.Environ
	if d := Detect(t.Context(), a, environ); !d.Found || d.LoggedIn != LoginUnknown || !d.Usable() || !strings.HasPrefix(d.Version, "1.") {
		t.Errorf("without a key: %+v", d)
	}
	if d := Detect(t.Context(), a, append([]string{"ANTHROPIC_API_KEY=dummy"}, environ...)); d.LoggedIn != LoginYes {
		t.Errorf("with a key: %+v", d)
	}
	if d := Detect(t.Context(), o.settings(t), environ); d.LoggedIn != LoginYes {
		t.Errorf("with a provider in its settings: %+v", d)
	}
}

// What forge agents says of the limit on turns holds, whichever of the two
// agents of opencode Forge takes. At the limit it asks for a summary, without
// tools, and ends well.
func TestRealOpencodeTurnLimit(t *testing.T) {
	t.Parallel()
	o := newRealOpencode(t)
	for name, skip := range map[string]bool{"forge": false, "build": true} {
		t.Run(name, func(t *testing.T) {
			req := o.request(t, fakemodel.Turn{Text: "On.", Tools: []fakemodel.Tool{opencodeWrite("a", "x")}, Repeat: 1}, fakemodel.Turn{Text: "So far."})
			req.Agent.SkipPermission = skip
			file := req.Agent.SetEnv["OPENCODE_CONFIG"]
			config, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			write(t, file, strings.Replace(string(config), "{", `{"agent":{"build":{"steps":2},"forge":{"steps":2}},`, 1), 0o600)
			r := o.run(t, req)
			requests := o.server.Requests(scriptName(t))
			if r.Outcome != work.OutcomeOK || len(requests) < 2 || len(requests) > 3 {
				t.Fatalf("outcome %q (%s), %d requests", r.Outcome, r.Detail, len(requests))
			}
			if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "MAXIMUM STEPS") {
				t.Errorf("the model was not told of the limit: %s", last)
			}
		})
	}
}
