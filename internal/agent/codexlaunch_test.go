package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/work"
)

func TestCodexArgs(t *testing.T) {
	standard := work.IterationRequest{Permission: work.PermissionStandard}
	bypass, own := "--dangerously-bypass-approvals-and-sandbox", "-s "
	with := func(change func(*work.IterationRequest)) work.IterationRequest {
		req := standard
		change(&req)
		return req
	}
	for name, c := range map[string]struct {
		s           setting
		has, hasNot []string
		wantError   bool
	}{
		"standard":           {s: setting{req: standard}, has: []string{"exec --json ", "-s workspace-write", "network_access=false", `approval_policy="never"`}, hasNot: []string{bypass, "resume", "-m ", "slash_tmp"}},
		"standard, network":  {s: setting{req: with(func(r *work.IterationRequest) { r.Sandbox.Network = true })}, has: []string{"network_access=true"}},
		"standard, TMPDIR":   {s: setting{req: standard, environ: newEnviron([]string{"TMPDIR=/t"}, "")}, has: []string{"exclude_slash_tmp=true"}},
		"sandboxed":          {s: setting{sandboxed: true, req: with(func(r *work.IterationRequest) { r.Permission = work.PermissionAutonomous })}, has: []string{bypass}, hasNot: []string{own}},
		"skip":               {s: setting{req: with(func(r *work.IterationRequest) { r.Agent.SkipPermission = true })}, has: []string{bypass}, hasNot: []string{own}},
		"readonly":           {s: setting{req: with(func(r *work.IterationRequest) { r.Permission, r.Agent.SkipPermission = work.PermissionReadonly, true })}, has: []string{"-s read-only"}, hasNot: []string{bypass}},
		"readonly sandboxed": {s: setting{sandboxed: true, req: with(func(r *work.IterationRequest) { r.Permission = work.PermissionReadonly })}, has: []string{bypass}, hasNot: []string{own}},
		"continued": {s: setting{req: with(func(r *work.IterationRequest) {
			r.Session, r.Model, r.Agent.Model, r.Agent.Args = "T1", "gpt-a", "gpt-b", []string{"-c", "x=1"}
		})}, has: []string{"-m gpt-a", "-c x=1 resume T1 -"}, hasNot: []string{"gpt-b"}},
		"no mode":               {s: setting{}, wantError: true},
		"no mode, in a sandbox": {s: setting{sandboxed: true}, wantError: true},
		"wrong mode":            {s: setting{req: work.IterationRequest{Permission: "strict"}}, wantError: true},
	} {
		args, err := codexArgs(c.s)
		if (err != nil) != c.wantError {
			t.Errorf("%s: %v", name, err)
		}
		line := strings.Join(args, " ")
		if !c.wantError && !strings.HasSuffix(line, " -") {
			t.Errorf("%s: the prompt is not read from standard input: %s", name, line)
		}
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
	}
}

// In a sandbox the agent has a home of its own; of the user's it sees login
// and settings, and can change neither.
func TestCodexStore(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	real, err := filepath.EvalSymlinks(home)
	if err != nil {
		t.Fatal(err)
	}
	login := filepath.Join(real, ".codex", "auth.json")
	if err := os.MkdirAll(filepath.Dir(login), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, login, "{}", 0o600)
	program := filepath.Join(home, "codex")
	write(t, program, "#!/bin/sh\n", 0o755)
	prepare := func(t *testing.T, permission work.PermissionMode, environ []string, a work.AgentSettings) launch {
		t.Helper()
		a.Command = []string{program}
		l, err := launchCodex(setting{sandboxed: true, environ: newEnviron(environ, home), req: work.IterationRequest{Dir: dir, Permission: permission, Agent: a}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	for range 2 { // the second time everything is there already
		l := prepare(t, work.PermissionStandard, nil, work.AgentSettings{})
		if len(l.write) != 1 || filepath.Dir(l.write[0]) != filepath.Join(home, ".codex", "forge") || !slices.Contains(l.set, "CODEX_HOME="+l.write[0]) {
			t.Fatalf("writable: %q, set: %q", l.write, l.set)
		}
		if l.readFiles[login] == "" || len(l.readFiles) > 3 || l.readOnly {
			t.Errorf("shown: %q", l.readFiles)
		}
		if to, err := os.Readlink(filepath.Join(l.write[0], "auth.json")); err != nil || to != login {
			t.Errorf("its login is %q, %v", to, err)
		}
		// Whatever the agent puts there does not last.
		if err := os.Remove(filepath.Join(l.write[0], "auth.json")); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(l.write[0], "auth.json"), "of its own", 0o600)
		write(t, filepath.Join(l.write[0], "config.toml"), "of its own", 0o600)
	}
	if l := prepare(t, work.PermissionReadonly, nil, work.AgentSettings{}); !l.readOnly {
		t.Error("the folder of a readonly phase can be written")
	}
	other := t.TempDir()
	if l := prepare(t, work.PermissionStandard, []string{"CODEX_HOME=" + other}, work.AgentSettings{}); filepath.Dir(filepath.Dir(l.write[0])) != other {
		t.Errorf("writable: %q", l.write)
	}
	if _, err := os.Lstat(filepath.Join(other, "auth.json")); err == nil {
		t.Error("there is a login where there was none")
	}
	// One that the agent's own settings name is what they say.
	for _, a := range []work.AgentSettings{{SetEnv: map[string]string{"CODEX_HOME": other}}, {Env: []string{"CODEX_HOME"}}} {
		if l := prepare(t, work.PermissionStandard, []string{"CODEX_HOME=" + other}, a); !slices.Equal(l.write, []string{other}) || len(l.set) > 0 {
			t.Errorf("writable: %q, set: %q", l.write, l.set)
		}
	}
	if _, err := launchCodex(setting{sandboxed: true, environ: newEnviron([]string{"CODEX_HOME=here"}, home),
		req: work.IterationRequest{Dir: dir, Permission: work.PermissionStandard, Agent: work.AgentSettings{Command: []string{program}}}}); err == nil {
		t.Error("a relative home")
	}
}

func TestModulesOf(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "lib", "node_modules", "@x", "y", "node_modules", "z", "bin.js")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, file, "#!/bin/sh\n", 0o755)
	link := filepath.Join(root, "y")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	alone := filepath.Join(root, "alone")
	write(t, alone, "#!/bin/sh\n", 0o755)
	for program, want := range map[string][]string{
		link: {filepath.Join(root, "lib", "node_modules")}, file: {filepath.Join(root, "lib", "node_modules")}, alone: nil, filepath.Join(root, "missing"): nil,
	} {
		if got := modulesOf(program); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
}

func TestCodexDetected(t *testing.T) {
	status := func(answer string) string {
		return "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'codex-cli 0.169.0'; exit; fi\n" + answer + "\n"
	}
	no := status("echo 'Not logged in' >&2; exit 1")
	for name, c := range map[string]struct {
		program, settings string
		environ, args     []string
		login             Login
		usable            bool
	}{
		"logged in":              {program: status("echo 'Logged in using ChatGPT' >&2"), login: LoginYes, usable: true},
		"not logged in":          {program: no, login: LoginNo},
		"OpenAI by name":         {program: no, settings: `model_provider = "openai"`, login: LoginNo},
		"a key":                  {program: no, environ: []string{"CODEX_API_KEY=k"}, login: LoginYes, usable: true},
		"another provider":       {program: no, settings: `model_provider = "mine"`, login: LoginUnknown, usable: true},
		"another, by argument":   {program: no, args: []string{"-c", "model_provider=mine"}, login: LoginUnknown, usable: true},
		"a model of one's own":   {program: no, args: []string{"--oss"}, login: LoginUnknown, usable: true},
		"settings in a bad way":  {program: no, settings: `model_provider = "mine`, login: LoginNo},
		"does not say":           {program: status("exit 2"), login: LoginUnknown, usable: true},
		"does not work":          {program: "#!/bin/sh\nexit 3\n", login: LoginUnknown},
		"is no program":          {login: LoginUnknown},
		"is of a newer language": {program: "#!/bin/sh\necho codex-cli\n", login: LoginYes, usable: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bin, home := t.TempDir(), t.TempDir()
			mode := os.FileMode(0o755)
			if c.program == "" {
				mode = 0o644
			}
			write(t, filepath.Join(bin, "codex"), c.program, mode)
			if err := os.Mkdir(filepath.Join(home, ".codex"), 0o700); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(home, ".codex", "config.toml"), c.settings, 0o600)
			environ := append([]string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home}, c.environ...)
			d := Detect(t.Context(), work.AgentSettings{Kind: "codex", Args: c.args}, environ)
			if d.LoggedIn != c.login || d.Usable() != c.usable || !c.usable && d.Why == "" {
				t.Errorf("%+v", d)
			}
			if c.usable && d.Version != "0.169.0" && d.Version != "codex-cli" {
				t.Errorf("%+v", d)
			}
		})
	}
}
