package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"forge/internal/work"
)

// The kind "codex" is OpenAI's Codex CLI, run without a terminal and without
// anybody to ask. codexapp.go talks to it, codexevents.go reads what it prints,
// codexjudge.go says what that means.

func codexFacts() Facts {
	return Facts{
		Continues: true, Listens: true, ReadOnly: true, MCP: true, Tried: "0.169.0",
		Endpoints:  []string{"api.openai.com:443", "chatgpt.com:443", "auth.openai.com:443"},
		LoginFiles: []string{".codex/auth.json"},
		SecretEnv:  []string{"CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY"},
		Env: []string{
			"CODEX_HOME", "CODEX_CA_CERTIFICATE", "CODEX_OSS_BASE_URL", "CODEX_OSS_PORT",
			"OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
		},
		Instructions: []string{"AGENTS.md", "AGENTS.override.md", ".codex/"},
	}
}

func launchCodex(s setting) (launch, error) {
	program, before := "codex", []string(nil)
	if len(s.req.Agent.Command) > 0 {
		program, before = s.req.Agent.Command[0], s.req.Agent.Command[1:]
	}
	path, ok := s.environ.look(program, s.req.Agent.Checkout)
	if !ok {
		return launch{}, fmt.Errorf("%s is not an executable file in %s", program, lookedIn(program, s.req.Agent.Checkout))
	}
	args, err := codexArgs(s)
	if err != nil {
		return launch{}, err
	}
	exec := func(s setting) (launch, error) { return codexExec(s, path, slices.Concat(before, args)) }
	if !codexServes(s.req.Agent.Args) {
		return exec(s)
	}
	l, err := exec(s)
	if err != nil {
		return launch{}, err
	}
	app := newCodexApp(s)
	l.args, l.stdin, l.input, l.hand = slices.Concat(before, codexAppArgs(s)), "", app.input, app.hand
	l.stream, l.begin, l.stderr = app, app.begin, &logLines{to: app.logged}
	l.instead = func(s setting) (launch, bool, error) {
		if !app.unserved() {
			return launch{}, false, nil
		}
		l, err := exec(s)
		return l, err == nil, err
	}
	return l, nil
}

// codexExec drives an iteration with `codex exec`.
func codexExec(s setting, path string, args []string) (launch, error) {
	stream := newCodexStream(s)
	l := launch{
		path: path, args: args,
		names: codexFacts().names(),
		// By standard input, which the last argument asks for: a single
		// argument may not be longer than 128 KiB on Linux.
		stdin:     s.req.Prompt,
		readFiles: shown(path), read: modulesOf(path),
		stream: stream, stderr: &logLines{to: stream.logged},
	}
	if s.sandboxed {
		l.readOnly = s.req.Permission == work.PermissionReadonly
		if err := codexStore(s, &l); err != nil {
			return launch{}, err
		}
	}
	return l, nil
}

// codexArgs is the command line after the program's own words.
func codexArgs(s setting) ([]string, error) {
	req := s.req
	args := []string{"exec", "--json", "--skip-git-repo-check", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false"}
	args = append(args, codexTools(s.tools)...)
	switch {
	case req.Permission != work.PermissionStandard && req.Permission != work.PermissionAutonomous && req.Permission != work.PermissionReadonly:
		return nil, fmt.Errorf("unknown permission mode %q", req.Permission)
	case s.sandboxed:
		// Its own sandbox does not work within Forge's, which shows the
		// folder of a readonly phase read-only.
		args = append(args, "--dangerously-bypass-approvals-and-sandbox")
	case req.Permission == work.PermissionReadonly:
		args = append(args, "-s", "read-only", "-c", `approval_policy="never"`)
	case req.Agent.SkipPermission:
		args = append(args, "--dangerously-bypass-approvals-and-sandbox")
	default:
		args = append(args, "-s", "workspace-write", "-c", `approval_policy="never"`)
		args = append(args, codexWorkspace(s)...)
	}
	if model := modelOf(req); model != "" {
		args = append(args, "-m", model)
	}
	// What follows "resume" would not know all of these.
	args = append(args, req.Agent.Args...)
	if req.Session != "" {
		args = append(args, "resume", req.Session)
	}
	return append(args, "-"), nil
}

// codexTools are the settings that name the server of tools. A text of JSON is one
// of TOML as well.
func codexTools(o *offer) []string {
	if o == nil {
		return nil
	}
	command, _ := json.Marshal(o.command) // never fails for text
	args, _ := json.Marshal(o.args)
	name := "mcp_servers." + toolsName
	return []string{"-c", name + ".command=" + string(command), "-c", name + ".args=" + string(args)}
}

// codexWorkspace are settings of the program's own sandbox where the agent writes.
func codexWorkspace(s setting) []string {
	args := []string{"-c", fmt.Sprintf("sandbox_workspace_write.network_access=%t", s.req.Sandbox.Network || s.req.Sandbox.OnlyHosts)}
	if cmp.Or(s.req.Agent.SetEnv["TMPDIR"], s.environ.get("TMPDIR")) != "" {
		// That folder can be written; the one shared by all need not.
		args = append(args, "-c", "sandbox_workspace_write.exclude_slash_tmp=true")
	}
	return args
}

// codexHome is the folder of settings, login and sessions; named says that the
// agent's own settings name it.
func codexHome(a work.AgentSettings, e environ) (home string, named bool) {
	if home = a.SetEnv["CODEX_HOME"]; home != "" {
		return home, true
	}
	if home = e.get("CODEX_HOME"); home != "" {
		return home, slices.Contains(a.Env, "CODEX_HOME")
	}
	if e.home == "" {
		return "", false
	}
	return filepath.Join(e.home, ".codex"), false
}

// codexStore gives a sandboxed agent a home of its own below the user's, which
// keeps the sessions of this phase folder. Of the user's it sees the login and
// the settings, read-only: the home itself holds the sessions of everything
// else that the user does, in a database that cannot be shown in parts.
func codexStore(s setting, l *launch) error {
	home, named := codexHome(s.req.Agent, s.environ)
	if home == "" {
		return nil
	}
	if !filepath.IsAbs(home) {
		return fmt.Errorf("CODEX_HOME=%s is not an absolute path", home)
	}
	if named {
		l.write = append(l.write, home)
		return nil
	}
	store := filepath.Join(home, "forge", folderSlug(s.req.Dir))
	l.set = append(l.set, "CODEX_HOME="+store)
	return ownStore(l, store, map[string]string{
		"auth.json": filepath.Join(home, "auth.json"), "config.toml": filepath.Join(home, "config.toml"),
	})
}

func detectCodex(ctx context.Context, a work.AgentSettings, e environ) Detection {
	program := "codex"
	if len(a.Command) > 0 {
		program = a.Command[0]
	}
	path, ok := e.look(program, a.Checkout)
	if !ok {
		return Detection{LoggedIn: LoginUnknown, Why: program + " is not installed: see https://developers.openai.com/codex/cli"}
	}
	l := launch{path: path, names: codexFacts().names()}
	before := a.Command[min(1, len(a.Command)):]
	version, code, err := ask(ctx, e, a, l, slices.Concat(before, []string{"--version"})...)
	d := Detection{Path: path, LoggedIn: LoginUnknown}
	if err != nil || code != 0 {
		d.Why = fmt.Sprintf("%s --version does not work", path)
		return d
	}
	d.Found, d.Version = true, firstWord([]byte(strings.TrimPrefix(string(version), "codex-cli ")))
	if e.get("CODEX_API_KEY") != "" || e.get("CODEX_ACCESS_TOKEN") != "" {
		d.LoggedIn = LoginYes
		return d
	}
	_, code, err = ask(ctx, e, a, l, slices.Concat(before, []string{"login", "status"})...)
	switch {
	case err == nil && code == 0:
		d.LoggedIn = LoginYes
	case codexOtherProvider(a, e):
		// What it says is about OpenAI's login, which it does not need then.
		d.Why = "codex does not say whether it can reach the model provider of its settings"
	case err == nil && code == 1:
		d.LoggedIn, d.Why = LoginNo, "codex is not logged in: run codex login, or set CODEX_API_KEY"
	default:
		d.Why = "this version of codex does not say whether it is logged in"
	}
	return d
}

// codexOtherProvider says that settings or arguments may name another provider
// than the one that codex logs in with.
func codexOtherProvider(a work.AgentSettings, e environ) bool {
	for _, arg := range slices.Concat(a.Command, a.Args) {
		if strings.Contains(arg, "model_provider") || strings.HasPrefix(arg, "--oss") || strings.HasPrefix(arg, "--local-provider") ||
			arg == "-p" || strings.HasPrefix(arg, "--profile") {
			return true
		}
	}
	home, _ := codexHome(a, e)
	var settings struct {
		Provider string `toml:"model_provider"`
	}
	_, err := toml.DecodeFile(filepath.Join(home, "config.toml"), &settings)
	return home != "" && err == nil && settings.Provider != "" && settings.Provider != "openai"
}
