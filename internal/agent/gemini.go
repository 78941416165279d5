package agent

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"forge/internal/text"
	"forge/internal/work"
)

// The kind "gemini" is Google's Gemini CLI, run without a terminal and without
// anybody to ask. geminievents.go reads what it prints, geminijudge.go says
// what that means, geminidetect.go whether it is there and logged in.

func geminiFacts() Facts {
	return Facts{
		Continues: true, ReadOnly: true, MCP: true, Tried: "0.61.0",
		TurnLimit:  `{"model": {"maxSessionTurns": 50}} in ~/.gemini/settings.json`,
		Endpoints:  []string{"generativelanguage.googleapis.com:443", "cloudcode-pa.googleapis.com:443", "aiplatform.googleapis.com:443", "oauth2.googleapis.com:443"},
		LoginFiles: []string{".gemini/oauth_creds.json", ".gemini/google_accounts.json", ".gemini/settings.json", ".gemini/.env"},
		SecretEnv:  []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CLOUD_ACCESS_TOKEN"},
		Env: []string{
			"GEMINI_CLI_HOME", "GEMINI_MODEL", "GEMINI_SYSTEM_MD", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL",
			"GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_PROJECT_ID", "GOOGLE_CLOUD_LOCATION",
			"GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_CLI_USE_COMPUTE_ADC", "CLOUD_SHELL",
			"GEMINI_CLI_SYSTEM_SETTINGS_PATH", "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
		},
		Instructions: []string{"GEMINI.md", ".gemini/"},
	}
}

func launchGemini(s setting) (launch, error) {
	program, before := "gemini", []string(nil)
	if len(s.req.Agent.Command) > 0 {
		program, before = s.req.Agent.Command[0], s.req.Agent.Command[1:]
	}
	path, ok := s.environ.look(program, s.req.Agent.Checkout)
	if !ok {
		return launch{}, fmt.Errorf("%s is not an executable file in %s", program, lookedIn(program, s.req.Agent.Checkout))
	}
	stream := newGeminiStream(s)
	l := launch{
		path: path, names: geminiFacts().names(),
		// Started anew by itself it would not pass on signals.
		set:       []string{"GEMINI_CLI_NO_RELAUNCH=true"},
		stdin:     geminiPrompt(s.req.Prompt),
		readFiles: shown(path), read: modulesOf(path),
		stream: stream, stderr: &logLines{to: stream.log},
	}
	if s.tools != nil && !s.sandboxed {
		return launch{}, errors.New(`gemini can be given Forge's tools in a sandbox alone: leave mcp = true out, or write kind = "acp" and command = ["gemini", "--acp"]`)
	}
	args, err := geminiArgs(s, &l)
	if err != nil {
		return launch{}, err
	}
	l.args = slices.Concat(before, args)
	if s.sandboxed {
		l.readOnly = s.req.Permission == work.PermissionReadonly
		err = geminiStore(s, &l)
	}
	return l, err
}

// geminiTools are the user's settings with the server of tools among them. The
// program has no flag for one; settings of the machine have to be root's, and those
// of the project would be part of the agent's work.
func geminiTools(o *offer, settings string) (file string, err error) {
	all, servers := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if text, rerr := os.ReadFile(settings); rerr == nil {
		if err := json.Unmarshal(text, &all); err != nil {
			return "", fmt.Errorf("add Forge's tools to %s, which is no plain JSON (%w): take its comments out, or leave mcp = true out", settings, err)
		}
	} else if !errors.Is(rerr, fs.ErrNotExist) {
		return "", fmt.Errorf("add Forge's tools to the agent's settings: %w", rerr)
	}
	if had := all["mcpServers"]; had != nil {
		if err := json.Unmarshal(had, &servers); err != nil {
			return "", fmt.Errorf("add Forge's tools to mcpServers of %s: %w", settings, err)
		}
	}
	if servers[toolsName], err = json.Marshal(map[string]any{"command": o.command, "args": o.args}); err == nil {
		all["mcpServers"], err = json.Marshal(servers)
	}
	text, merr := json.Marshal(all)
	file = filepath.Join(o.dir, "settings.json")
	if err = errors.Join(err, merr); err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("add Forge's tools to the agent's settings: %w", err)
	}
	return file, nil
}

// geminiPrompt keeps a prompt from being taken for a command of the program,
// some of which run whatever the project's settings say.
func geminiPrompt(prompt string) string {
	if strings.HasPrefix(prompt, "/") {
		return "\n" + prompt
	}
	return prompt
}

// geminiArgs is the command line after the program's own words.
func geminiArgs(s setting, l *launch) ([]string, error) {
	req := s.req
	// The folder is a copy made for the agent: nobody could trust it by hand.
	args := []string{"--output-format=stream-json", "--skip-trust"}
	limited := true
	switch {
	case req.Permission != work.PermissionStandard && req.Permission != work.PermissionAutonomous && req.Permission != work.PermissionReadonly:
		return nil, fmt.Errorf("unknown permission mode %q", req.Permission)
	case req.Permission == work.PermissionReadonly:
		args = append(args, "--approval-mode=default")
	case s.sandboxed || req.Agent.SkipPermission:
		args, limited = append(args, "--approval-mode=yolo"), false
	default:
		args = append(args, "--approval-mode=auto_edit")
	}
	if limited {
		file, err := geminiPolicy(s)
		if err != nil {
			return nil, err
		}
		args = append(args, "--admin-policy="+file)
		l.readFiles[file] = file
	}
	if req.Session != "" {
		args = append(args, "--resume="+req.Session)
	} else {
		args = append(args, "--session-id="+newSessionID())
	}
	if model := modelOf(req); model != "" {
		args = append(args, "--model="+model)
	}
	return append(args, req.Agent.Args...), nil
}

// geminiRule is a rule of the program's policy. Of those that match, the one
// of the highest priority counts.
type geminiRule struct {
	Tools    []string `toml:"toolName"`
	Server   string   `toml:"mcpName,omitempty"`
	Args     string   `toml:"argsPattern,omitempty"`
	Decision string   `toml:"decision"`
	Priority int      `toml:"priority"`
}

// geminiRules allow reading and, but in a readonly phase, editing and the
// verify commands, to the letter. Settings that the agent could have written
// itself do not overrule them.
func geminiRules(req work.IterationRequest) []geminiRule {
	rules := []geminiRule{
		{Tools: []string{"*"}, Decision: "deny", Priority: 900},
		{Tools: []string{"list_directory", "read_file", "read_many_files", "grep_search", "glob", "write_todos", "update_topic"}, Decision: "allow", Priority: 910},
	}
	if req.MCP {
		rules = append(rules, geminiRule{Tools: []string{"*"}, Server: toolsName, Decision: "allow", Priority: 910})
	}
	if req.Permission == work.PermissionReadonly {
		return rules
	}
	rules = append(rules, geminiRule{Tools: []string{"write_file", "replace"}, Decision: "allow", Priority: 910})
	for _, c := range req.Verify {
		if c = strings.TrimSpace(c); c == "" || notPlain().MatchString(c) {
			continue
		}
		var text bytes.Buffer
		e := json.NewEncoder(&text)
		e.SetEscapeHTML(false)
		_ = e.Encode(c) // never fails for a string
		pattern := `\x00` + regexp.QuoteMeta(`"command":`+strings.TrimSpace(text.String())) + `\x00`
		rules = append(rules, geminiRule{Tools: []string{"run_shell_command"}, Args: pattern, Decision: "allow", Priority: 920})
	}
	return rules
}

// notPlain finds what might be written otherwise by the program than by us.
var notPlain = text.Lazy(`[^ -~]`)

// geminiPolicy writes the rules into a file, named by what it holds, beside
// the program's settings: below the folders that it writes to itself it would
// be in the agent's reach.
func geminiPolicy(s setting) (string, error) {
	home := geminiHome(s.req.Agent, s.environ)
	if home == "" {
		return "", errors.New("write the agent's policy: there is no home folder")
	}
	var text bytes.Buffer
	if err := toml.NewEncoder(&text).Encode(map[string][]geminiRule{"rule": geminiRules(s.req)}); err != nil {
		return "", fmt.Errorf("write the agent's policy: %w", err)
	}
	file := filepath.Join(home, "forge", fmt.Sprintf("policy-%x.toml", sha256.Sum256(text.Bytes())))
	if had, err := os.ReadFile(file); err == nil && bytes.Equal(had, text.Bytes()) {
		return file, nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("write the agent's policy: %w", err)
	}
	if err := writeWhole(file, text.Bytes()); err != nil {
		return "", fmt.Errorf("write the agent's policy: %w", err)
	}
	return file, nil
}

// writeWhole writes a file so that nobody ever reads half of it.
func writeWhole(file string, text []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // for nobody else to read
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// geminiHome is the folder of settings, login and sessions, "" = none.
func geminiHome(a work.AgentSettings, e environ) string {
	home := cmp.Or(a.SetEnv["GEMINI_CLI_HOME"], e.get("GEMINI_CLI_HOME"), e.home)
	if !filepath.IsAbs(home) {
		return ""
	}
	return filepath.Join(home, ".gemini")
}

// geminiStore gives a sandboxed agent a home of its own below the user's. Of
// that it sees the login and the settings, read-only: beside them lie the
// sessions of everything else that the user does.
func geminiStore(s setting, l *launch) error {
	home := geminiHome(s.req.Agent, s.environ)
	if home == "" {
		return nil
	}
	if s.req.Agent.SetEnv["GEMINI_CLI_HOME"] != "" || slices.Contains(s.req.Agent.Env, "GEMINI_CLI_HOME") && s.environ.has("GEMINI_CLI_HOME") {
		return errors.New("GEMINI_CLI_HOME cannot be set for an agent in a sandbox, which gets a folder of its own")
	}
	store := filepath.Join(home, "forge", folderSlug(s.req.Dir))
	files := map[string]string{}
	for _, name := range []string{"oauth_creds.json", "google_accounts.json", "settings.json", ".env", "GEMINI.md"} {
		files[".gemini/"+name] = filepath.Join(home, name)
	}
	if s.tools != nil {
		settings, err := geminiTools(s.tools, files[".gemini/settings.json"])
		if err != nil {
			return err
		}
		files[".gemini/settings.json"] = settings
	}
	for _, name := range []string{"GOOGLE_APPLICATION_CREDENTIALS", "GEMINI_SYSTEM_MD"} {
		if file := cmp.Or(s.req.Agent.SetEnv[name], s.environ.get(name)); filepath.IsAbs(file) {
			if _, err := os.Stat(file); err == nil {
				l.readFiles[file] = file
			}
		}
	}
	l.set = append(l.set, "GEMINI_CLI_HOME="+store)
	return ownStore(l, store, files)
}
