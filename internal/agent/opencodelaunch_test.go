package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestOpencodeArgs(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "AGENTS.md"), "x", 0o644)
	for name, c := range map[string]struct {
		s           setting
		has, hasNot []string
		limited     bool
		wantError   bool
	}{
		"standard":   {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Dir: dir, Phase: "01", PhaseName: "-first-"}}, has: []string{"--title=Forge 01 -first-", "--dir=" + dir, "--print-logs", "AGENTS.md"}, hasNot: []string{"--session", "--model", "--auto"}, limited: true},
		"sandboxed":  {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionAutonomous}}, has: []string{"--auto", `"permission":{"task":"deny"}`}},
		"skip":       {s: setting{req: work.IterationRequest{Permission: work.PermissionStandard, Agent: work.AgentSettings{SkipPermission: true}}}, has: []string{"--auto"}},
		"readonly":   {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionReadonly, Agent: work.AgentSettings{SkipPermission: true}}}, hasNot: []string{"--auto"}, limited: true},
		"continued":  {s: setting{sandboxed: true, req: work.IterationRequest{Permission: work.PermissionStandard, Session: "ses_1", Model: "a/b", Agent: work.AgentSettings{Model: "c/d", Args: []string{"--thinking"}}}}, has: []string{"--session=ses_1", "--model=a/b", "--thinking"}, hasNot: []string{"--title"}},
		"no mode":    {wantError: true},
		"wrong mode": {s: setting{req: work.IterationRequest{Permission: "strict"}}, wantError: true},
	} {
		args, set, err := opencodeArgs(c.s)
		if (err != nil) != c.wantError {
			t.Errorf("%s: %v", name, err)
		}
		line := strings.Join(append(args, set...), " ")
		for _, want := range c.has {
			if !strings.Contains(line, want) {
				t.Errorf("%s: no %q in %s", name, want, line)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(line, not) {
				t.Errorf("%s: %q in %s", name, not, line)
			}
		}
		if got := slices.Contains(args, "--agent=forge") && slices.Contains(set, "OPENCODE_DISABLE_PROJECT_CONFIG=1"); got != c.limited {
			t.Errorf("%s: limited %v: %s", name, got, line)
		}
	}
}

// The last rule that matches counts.
func TestOpencodeRules(t *testing.T) {
	for name, c := range map[string]struct {
		req  work.IterationRequest
		want string
	}{
		"readonly": {work.IterationRequest{Permission: work.PermissionReadonly, Verify: []string{"make"}}, ``},
		"standard": {work.IterationRequest{Permission: work.PermissionStandard, Verify: []string{`go test -run "x" ./...`, "rm *", "ls ?", "a\nb", " "}},
			`"edit":"allow","bash":{"*":"deny","go test -run \"x\" ./...":"allow"},`},
	} {
		want := `{"*":"deny","glob":"allow","grep":"allow","list":"allow","todowrite":"allow","skill":"allow","read":{"*":"allow","*.env":"deny","*.env.*":"deny","*.env.example":"allow"},` +
			c.want + `"external_directory":"deny"}`
		got := opencodeRules(c.req)
		if string(got) != want || !json.Valid(got) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// The agent's permissions cannot be set otherwise.
func TestOpencodeOwnSettingsAreRefused(t *testing.T) {
	program := filepath.Join(t.TempDir(), "opencode")
	write(t, program, "#!/bin/sh\n", 0o755)
	for name, a := range map[string]work.AgentSettings{
		"set": {SetEnv: map[string]string{opencodeOwn: "{}"}},
		"let": {Env: []string{opencodeOwn}},
	} {
		a.Command = []string{program}
		_, err := launchOpencode(setting{environ: newEnviron(nil, t.TempDir()), req: work.IterationRequest{Permission: work.PermissionReadonly, Agent: a}})
		if err == nil {
			t.Errorf("%s: it runs", name)
		}
	}
}

// In a sandbox the agent has folders of its own; of the user's it sees the
// login and the settings.
func TestOpencodeStore(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	data := filepath.Join(home, ".local", "share", "opencode")
	config := filepath.Join(home, ".config", "opencode")
	for _, d := range []string{data, config} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(data, "auth.json"), "{}", 0o600)
	write(t, filepath.Join(data, "opencode.db"), "sessions", 0o600)
	write(t, filepath.Join(config, "opencode.json"), "{}", 0o600)
	program := filepath.Join(home, "opencode")
	write(t, program, "#!/bin/sh\n", 0o755)
	l, err := launchOpencode(setting{sandboxed: true, environ: newEnviron(nil, home), req: work.IterationRequest{
		Dir: dir, Permission: work.PermissionReadonly, Agent: work.AgentSettings{Command: []string{program}}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.write) != 1 || filepath.Dir(l.write[0]) != filepath.Join(data, "forge") || !l.readOnly {
		t.Fatalf("writable %q, folder read-only: %v", l.write, l.readOnly)
	}
	for _, variable := range []string{"XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"} {
		if !slices.ContainsFunc(l.set, func(kv string) bool { return strings.HasPrefix(kv, variable+"="+l.write[0]) }) {
			t.Errorf("%s is not set in %q", variable, l.set)
		}
	}
	for _, name := range []string{"data/opencode/auth.json", "config/opencode/opencode.json"} {
		if to, err := os.Readlink(filepath.Join(l.write[0], name)); err != nil || l.readFiles[to] != to {
			t.Errorf("%s is %q, %v, shown %q", name, to, err, l.readFiles)
		}
	}
	for path := range l.readFiles {
		if strings.HasSuffix(path, ".db") {
			t.Errorf("%s is shown", path)
		}
	}
}

func TestOpencodeDetected(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		login   string
		environ []string
		want    Login
		usable  bool
	}{
		"no login":      {"#!/bin/sh\necho 1.18.33\n", "", nil, LoginUnknown, true},
		"an empty one":  {"#!/bin/sh\necho 1.18.33\n", "{}", nil, LoginUnknown, true},
		"a login":       {"#!/bin/sh\necho 1.18.33\n", `{"anthropic":{"type":"api","key":"k"}}`, nil, LoginYes, true},
		"a key":         {"#!/bin/sh\necho 1.18.33\n", "", []string{"OPENAI_API_KEY=k"}, LoginYes, true},
		"does not work": {"#!/bin/sh\nexit 3\n", "", nil, LoginUnknown, false},
		"is not there":  {"", "", nil, LoginUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, bin := t.TempDir(), t.TempDir()
			if c.program != "" {
				write(t, filepath.Join(bin, "opencode"), c.program, 0o755)
			}
			data := filepath.Join(home, ".local", "share", "opencode")
			if err := os.MkdirAll(data, 0o700); err != nil {
				t.Fatal(err)
			}
			if c.login != "" {
				write(t, filepath.Join(data, "auth.json"), c.login, 0o600)
			}
			d := Detect(t.Context(), work.AgentSettings{Kind: "opencode"}, append([]string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home}, c.environ...))
			if d.LoggedIn != c.want || d.Usable() != c.usable || c.want != LoginYes && d.Why == "" || c.usable && d.Version != "1.18.33" {
				t.Errorf("%+v", d)
			}
		})
	}
}
