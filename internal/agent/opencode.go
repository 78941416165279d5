package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"forge/internal/work"
)

// The kind "opencode" is the opencode CLI, run without a terminal and without
// anybody to ask. opencodeevents.go reads what it prints, opencodelog.go what
// it logs, opencodejudge.go says what that means.

func opencodeFacts() Facts {
	return Facts{
		Continues: true, ReportsCost: true, ReadOnly: true, MCP: true, Tried: "1.18.33",
		TurnLimit:  `{"agent": {"build": {"steps": 50}, "forge": {"steps": 50}}} in opencode.json`,
		Endpoints:  []string{"opencode.ai:443", "models.dev:443", "api.anthropic.com:443", "api.openai.com:443", "generativelanguage.googleapis.com:443", "openrouter.ai:443"},
		LoginFiles: []string{".local/share/opencode/auth.json", ".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"},
		SecretEnv: []string{
			"OPENCODE_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY",
		},
		Env: []string{
			"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_MODELS_PATH", "OPENCODE_MODELS_URL", "OPENCODE_DISABLE_MODELS_FETCH",
			"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME",
		},
		Instructions: append([]string{"opencode.json", "opencode.jsonc", ".opencode/"}, opencodeReads()...),
	}
}

// opencodeOwn is the variable by which Forge says what the agent may do. It is
// read after every settings file.
const opencodeOwn = "OPENCODE_CONFIG_CONTENT"

func launchOpencode(s setting) (launch, error) {
	program, before := "opencode", []string(nil)
	if len(s.req.Agent.Command) > 0 {
		program, before = s.req.Agent.Command[0], s.req.Agent.Command[1:]
	}
	path, ok := s.environ.look(program, s.req.Agent.Checkout)
	if !ok {
		return launch{}, fmt.Errorf("%s is not an executable file in %s", program, lookedIn(program, s.req.Agent.Checkout))
	}
	if _, set := s.req.Agent.SetEnv[opencodeOwn]; set || slices.Contains(s.req.Agent.Env, opencodeOwn) {
		return launch{}, fmt.Errorf("%s is what Forge sets the agent's permissions by: use OPENCODE_CONFIG to name a settings file", opencodeOwn)
	}
	args, set, err := opencodeArgs(s)
	if err != nil {
		return launch{}, err
	}
	stream := newOpencodeStream(s)
	l := launch{
		path: path, args: slices.Concat(before, args),
		names: opencodeFacts().names(), set: set,
		// By standard input: a single argument may not be longer than 128 KiB
		// on Linux, and one with spaces would reach the model in quotes.
		stdin:     s.req.Prompt,
		readFiles: shown(path), read: modulesOf(path),
		stream: stream, stderr: &logLines{to: stream.log},
	}
	if s.sandboxed {
		l.readOnly = s.req.Permission == work.PermissionReadonly
		err = opencodeStore(s, &l)
	}
	return l, err
}

// opencodeArgs is the command line after the program's own words, and what
// goes with it into the environment.
func opencodeArgs(s setting) (args, set []string, err error) {
	req := s.req
	// The log says what the events do not: that a tool has begun, and that
	// the model's provider is waited for.
	args = []string{"run", "--format=json", "--print-logs", "--log-level=INFO"}
	if req.Dir != "" {
		args = append(args, "--dir="+req.Dir)
	}
	config := map[string]any{"autoupdate": false, "share": "disabled", "snapshot": false}
	if s.tools != nil {
		config["mcp"] = map[string]any{toolsName: map[string]any{"type": "local", "enabled": true, "command": append([]string{s.tools.command}, s.tools.args...)}}
	}
	set = []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1"}
	switch {
	case req.Permission != work.PermissionStandard && req.Permission != work.PermissionAutonomous && req.Permission != work.PermissionReadonly:
		return nil, nil, fmt.Errorf("unknown permission mode %q", req.Permission)
	case opencodeLimited(s):
		config["agent"] = map[string]any{"forge": map[string]any{"mode": "primary", "permission": opencodeRules(req)}}
		// Settings that the agent could have written itself are not read;
		// what is left of the project's is what it says to every agent.
		set = append(set, "OPENCODE_DISABLE_PROJECT_CONFIG=1")
		if file := opencodeInstructions(req.Dir); file != "" {
			config["instructions"] = []string{file}
		}
		args = append(args, "--agent=forge")
	default:
		// Neither what a subagent spends nor that it is alive can be seen.
		config["permission"] = map[string]any{"task": "deny"}
		args = append(args, "--auto")
	}
	content, err := json.Marshal(config)
	if err != nil {
		return nil, nil, fmt.Errorf("write settings: %w", err)
	}
	set = append(set, opencodeOwn+"="+string(content))
	if req.Session != "" {
		args = append(args, "--session="+req.Session)
	} else {
		// A session that has a title does not ask the model for one.
		args = append(args, "--title="+strings.TrimSpace("Forge "+req.Phase+" "+req.PhaseName))
	}
	if model := modelOf(req); model != "" {
		args = append(args, "--model="+model)
	}
	return append(args, req.Agent.Args...), set, nil
}

// opencodeLimited says that the agent may not do all that it could.
func opencodeLimited(s setting) bool {
	return s.req.Permission == work.PermissionReadonly || !s.sandboxed && !s.req.Agent.SkipPermission
}

// opencodeRules allow reading and, but in a readonly phase, editing below the
// phase folder and the verify commands, to the letter. The last rule that
// matches counts; of what is allowed nothing is asked, since nobody is there.
func opencodeRules(req work.IterationRequest) json.RawMessage {
	rules := []string{
		`"*":"deny"`, `"glob":"allow"`, `"grep":"allow"`, `"list":"allow"`, `"todowrite":"allow"`, `"skill":"allow"`,
		`"read":{"*":"allow","*.env":"deny","*.env.*":"deny","*.env.example":"allow"}`,
	}
	if req.MCP {
		rules = append(rules, `"`+toolsName+`_*":"allow"`)
	}
	if req.Permission != work.PermissionReadonly {
		bash := []string{`"*":"deny"`}
		for _, c := range req.Verify {
			if c = strings.TrimSpace(c); c != "" && !strings.ContainsAny(c, "*?\n\\") {
				key, _ := json.Marshal(c) // never fails for a string
				bash = append(bash, string(key)+`:"allow"`)
			}
		}
		rules = append(rules, `"edit":"allow"`, `"bash":{`+strings.Join(bash, ",")+`}`)
	}
	rules = append(rules, `"external_directory":"deny"`)
	return json.RawMessage("{" + strings.Join(rules, ",") + "}")
}

// opencodeReads are the files of which opencode reads the first that is there.
func opencodeReads() []string { return []string{"AGENTS.md", "CLAUDE.md", "CONTEXT.md"} }

// opencodeInstructions is the file of the project that opencode would read.
func opencodeInstructions(dir string) string {
	for _, name := range opencodeReads() {
		if info, err := os.Lstat(filepath.Join(dir, name)); dir != "" && err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// opencodeFolder is where opencode keeps files of one sort.
func opencodeFolder(a work.AgentSettings, e environ, variable, below string) string {
	base := a.SetEnv[variable]
	if base == "" {
		base = e.get(variable)
	}
	if base == "" && e.home != "" {
		base = filepath.Join(e.home, below)
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "opencode")
}

func opencodeData(a work.AgentSettings, e environ) string {
	return opencodeFolder(a, e, "XDG_DATA_HOME", ".local/share")
}

func opencodeConfig(a work.AgentSettings, e environ) string {
	return opencodeFolder(a, e, "XDG_CONFIG_HOME", ".config")
}

// opencodeStore gives a sandboxed agent folders of its own below the user's.
// Of those it sees the login and the settings, read-only: beside them lies a
// database with the sessions of everything else that the user does.
func opencodeStore(s setting, l *launch) error {
	data, config := opencodeData(s.req.Agent, s.environ), opencodeConfig(s.req.Agent, s.environ)
	if data == "" {
		return nil
	}
	store := filepath.Join(data, "forge", folderSlug(s.req.Dir))
	files := map[string]string{"data/opencode/auth.json": filepath.Join(data, "auth.json")}
	for _, name := range []string{"opencode.json", "opencode.jsonc", "config.json", "AGENTS.md"} {
		if config != "" {
			files["config/opencode/"+name] = filepath.Join(config, name)
		}
	}
	if file := cmp.Or(s.req.Agent.SetEnv["OPENCODE_CONFIG"], s.environ.get("OPENCODE_CONFIG")); filepath.IsAbs(file) {
		if _, err := os.Stat(file); err == nil {
			l.readFiles[file] = file
		}
	}
	for variable, folder := range map[string]string{
		"XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache",
	} {
		if s.req.Agent.SetEnv[variable] != "" || slices.Contains(s.req.Agent.Env, variable) && s.environ.has(variable) {
			return fmt.Errorf("%s cannot be set for an agent in a sandbox, which gets folders of its own", variable)
		}
		l.set = append(l.set, variable+"="+filepath.Join(store, folder))
	}
	return ownStore(l, store, files)
}

func detectOpencode(ctx context.Context, a work.AgentSettings, e environ) Detection {
	program := "opencode"
	if len(a.Command) > 0 {
		program = a.Command[0]
	}
	path, ok := e.look(program, a.Checkout)
	if !ok {
		return Detection{LoggedIn: LoginUnknown, Why: program + " is not installed: see https://opencode.ai/docs"}
	}
	l := launch{path: path, names: opencodeFacts().names(), set: []string{"OPENCODE_DISABLE_AUTOUPDATE=1"}}
	version, code, err := ask(ctx, e, a, l, slices.Concat(a.Command[min(1, len(a.Command)):], []string{"--version"})...)
	d := Detection{Path: path, LoggedIn: LoginUnknown}
	if err != nil || code != 0 {
		d.Why = fmt.Sprintf("%s --version does not work", path)
		return d
	}
	d.Found, d.Version = true, firstWord(version)
	if opencodeLogin(a, e) {
		d.LoggedIn = LoginYes
	} else {
		// Some of its models need none.
		d.Why = "opencode has no login: run opencode auth login, or set the key of a model's provider; models that need none can be used"
	}
	return d
}

// opencodeLogin says that there is something to log in with: a key in the
// environment, a login of opencode's own, or a provider in the settings.
func opencodeLogin(a work.AgentSettings, e environ) bool {
	for _, name := range opencodeFacts().SecretEnv {
		if e.get(name) != "" || a.SetEnv[name] != "" {
			return true
		}
	}
	var logins map[string]json.RawMessage
	if data := opencodeData(a, e); data != "" {
		text, err := os.ReadFile(filepath.Join(data, "auth.json"))
		if err == nil && json.Unmarshal(text, &logins) == nil && len(logins) > 0 {
			return true
		}
	}
	files := []string{a.SetEnv["OPENCODE_CONFIG"], e.get("OPENCODE_CONFIG")}
	if config := opencodeConfig(a, e); config != "" {
		files = append(files, filepath.Join(config, "opencode.json"), filepath.Join(config, "opencode.jsonc"))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if filepath.IsAbs(file) && err == nil && strings.Contains(string(text), `"apiKey"`) {
			return true
		}
	}
	return false
}
