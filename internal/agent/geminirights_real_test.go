//go:build real

package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/proc"
	"forge/internal/work"
)

func TestRealGeminiPermissions(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	g := newRealGemini(t)
	req := g.request(t, fakemodel.Turn{Text: "<promise>DONE</promise>", Input: 100_000, Output: 1000})
	tokens := int64(50_000)
	req.Tokens = &tokens
	if r := g.run(t, req); r.Outcome != work.OutcomeCostLimit || len(r.Claims) > 0 {
		t.Errorf("outcome %q (%s), usage %+v", r.Outcome, r.Detail, r.Usage)
	}
}

func TestRealGeminiDetected(t *testing.T) {
	t.Parallel()
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
