//go:build real

package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/proc"
	"forge/internal/work"
)

func TestRealCodexPermissions(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	outside := filepath.Join(c.agents.environ.home, "outside")
	try := func(t *testing.T, change func(*work.IterationRequest)) (work.IterationReport, func(string) bool) {
		req := c.request(t,
			fakemodel.Turn{Text: "I try.", Tools: []fakemodel.Tool{codexPatch("written", "x")}},
			fakemodel.Turn{Tools: []fakemodel.Tool{codexShell("touch ran; touch " + outside)}},
			fakemodel.Turn{Tools: []fakemodel.Tool{codexPatch("/etc/forge-refused", "x")}},
			fakemodel.Turn{Text: "I have tried."})
		change(&req)
		r := c.run(t, req)
		if r.Outcome != work.OutcomeOK {
			t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
		}
		return r, func(name string) bool {
			if !filepath.IsAbs(name) {
				name = filepath.Join(req.Dir, name)
			}
			_, err := os.Stat(name)
			return err == nil
		}
	}
	t.Run("readonly", func(t *testing.T) {
		r, exists := try(t, func(req *work.IterationRequest) { req.Permission = work.PermissionReadonly })
		if exists("written") || exists("ran") || exists(outside) || len(r.Denied) != 2 {
			t.Errorf("something was written; denied: %q", r.Denied)
		}
	})
	t.Run("standard", func(t *testing.T) {
		r, exists := try(t, func(*work.IterationRequest) {})
		if !exists("written") || !exists("ran") || exists(outside) || len(r.Denied) != 1 {
			heard := ""
			for _, one := range c.server.Requests(scriptName(t)) {
				heard = string(one.Body)
			}
			t.Errorf("written %v, ran %v, outside %v, denied %q; the model heard\n%s", exists("written"), exists("ran"), exists(outside), r.Denied, heard[max(0, strings.LastIndex(heard, "I try.")):])
		}
	})
	t.Run("skip", func(t *testing.T) {
		_, exists := try(t, func(req *work.IterationRequest) {
			req.Agent.SkipPermission = true
			c.server.Script(scriptName(t), fakemodel.Turn{Tools: []fakemodel.Tool{codexPatch("written", "x")}},
				fakemodel.Turn{Tools: []fakemodel.Tool{codexShell("touch ran; touch " + outside)}})
		})
		if !exists("written") || !exists("ran") || !exists(outside) {
			t.Error("something was refused")
		}
	})
}

func TestRealCodexSandboxed(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	for name, caps := range map[string]proc.Capabilities{
		"bubblewrap": {Bubblewrap: c.agents.config.Caps.Bubblewrap},
		"landlock":   {Landlock: c.agents.config.Caps.Landlock},
	} {
		t.Run(name, func(t *testing.T) {
			if !caps.Bubblewrap && !caps.Landlock {
				t.Skip("not on this machine")
			}
			a := New(Config{Environ: c.agents.config.Environ, Caps: caps})
			home := filepath.Join(a.environ.home, ".codex")
			if err := os.MkdirAll(filepath.Join(home, "sessions"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(home, "auth.json"), `{"auth_mode":"apikey","OPENAI_API_KEY":"sk-dummy"}`, 0o600)
			write(t, filepath.Join(home, "config.toml"), "model_reasoning_effort = \"low\"\n", 0o600)
			write(t, filepath.Join(home, "sessions", "another"), "of the user's", 0o600)
			outside := t.TempDir()
			iterate := func(mark string, permission work.PermissionMode, from work.IterationReport, dir string, turns ...fakemodel.Turn) work.IterationReport {
				req := c.request(t, turns...)
				req.Sandbox = work.SandboxSettings{Mode: "required", Network: true}
				req.Session, req.Before, req.Permission, req.Dir = from.Session, from.Total, permission, dir
				req.Mark += mark
				delete(req.Agent.SetEnv, "TMPDIR")
				r, err := a.Iterate(t.Context(), req, nil)
				if err != nil || r.Outcome != work.OutcomeOK || r.Sandbox != name {
					log, _ := os.ReadFile(req.LogPath)
					t.Fatalf("%+v, %v, log %s", r, err, log)
				}
				return r
			}
			dir := t.TempDir()
			first := iterate("1", work.PermissionStandard, work.IterationReport{}, dir,
				fakemodel.Turn{Text: "I work.", Tools: []fakemodel.Tool{codexPatch("a.txt", "hello")}},
				fakemodel.Turn{Tools: []fakemodel.Tool{codexShell(fmt.Sprintf("touch b.txt; touch %s/c.txt; cat %s/sessions/another > seen; echo x > %s/config.toml", outside, home, home))}},
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
				t.Error("the agent sees the user's other sessions")
			}
			if b, _ := os.ReadFile(filepath.Join(home, "config.toml")); !strings.Contains(string(b), "low") {
				t.Errorf("the user's settings are now %q", b)
			}
			second := iterate("2", work.PermissionStandard, first, dir, fakemodel.Turn{Text: "<promise>DONE</promise>"})
			if second.Session != first.Session || len(second.Claims) != 1 {
				t.Errorf("session not continued: %+v", second)
			}
			third := iterate("3", work.PermissionReadonly, work.IterationReport{}, dir,
				fakemodel.Turn{Text: "I look.", Tools: []fakemodel.Tool{codexPatch("d.txt", "hello")}},
				fakemodel.Turn{Tools: []fakemodel.Tool{codexShell("cat a.txt && touch e.txt")}}, fakemodel.Turn{Text: "So."})
			for _, f := range []string{"d.txt", "e.txt"} {
				if _, err := os.Stat(filepath.Join(dir, f)); err == nil {
					t.Errorf("%s was written in a readonly phase", f)
				}
			}
			if len(third.Denied) == 0 {
				t.Error("nothing says what was refused")
			}
		})
	}
}

func TestRealCodexCaps(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	req := c.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>", Input: 100_000, Output: 1000})
	tokens := int64(50_000)
	req.Tokens = &tokens
	if r := c.run(t, req); r.Outcome != work.OutcomeCostLimit || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), usage %s", r.Outcome, r.Detail, shownUsage(r.Usage))
	}
}

func TestRealCodexDetected(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	a := work.AgentSettings{Kind: "codex", Command: []string{c.program}}
	environ := c.agents.config.Environ
	if d := Detect(t.Context(), a, environ); !d.Found || d.LoggedIn != LoginNo || !strings.HasPrefix(d.Version, "0.") || d.Usable() {
		t.Errorf("without a key: %+v", d)
	}
	if d := Detect(t.Context(), a, append([]string{"CODEX_API_KEY=dummy"}, environ...)); d.LoggedIn != LoginYes {
		t.Errorf("with a key: %+v", d)
	}
	other := a
	other.Args = []string{"-c", "model_provider=fake"}
	if d := Detect(t.Context(), other, environ); d.LoggedIn != LoginUnknown || !d.Usable() {
		t.Errorf("with another provider: %+v", d)
	}
	home := filepath.Join(c.agents.environ.home, ".codex")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "auth.json"), `{"auth_mode":"apikey","OPENAI_API_KEY":"sk-dummy"}`, 0o600)
	if d := Detect(t.Context(), a, environ); d.LoggedIn != LoginYes {
		t.Errorf("with a login: %+v", d)
	}
}

// Put off for longer than Forge lets it wait, it is ended as an outage, and not
// as one that hangs, also where the idle limit is shorter than that.
func TestRealCodexPutOff(t *testing.T) {
	t.Parallel()
	c := newRealCodex(t)
	req := c.request(t, fakemodel.Turn{Repeat: -1, Fault: fakemodel.Fault{
		Status: 429, Kind: "rate_limit_exceeded", Message: "slow down", Headers: map[string]string{"Retry-After": "600"},
	}})
	req.Limits.IdleSecs = 20
	if r := c.run(t, req); r.Outcome != work.OutcomeRateLimited || !strings.Contains(r.Detail, "429") {
		t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
	}
}
