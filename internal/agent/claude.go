package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"forge/internal/text"
	"forge/internal/work"
)

// The kind "claude" is Claude Code, run without a terminal and without anybody
// to ask. claudeevents.go reads what it prints, claudejudge.go says what that
// means.

func claudeFacts() Facts {
	return Facts{
		Continues: true, ReportsCost: true, Listens: true, ReadOnly: true, MCP: true, Tried: "2.1.329",
		TurnLimit:  `args = ["--max-turns", "50"] in [agents.claude]`,
		Endpoints:  []string{"api.anthropic.com:443", "platform.claude.com:443", "console.anthropic.com:443", "claude.ai:443"},
		LoginFiles: []string{".claude/.credentials.json", ".claude.json"},
		SecretEnv:  []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"},
		Env: []string{
			"ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
			"ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_CUSTOM_HEADERS", "CLAUDE_CONFIG_DIR",
		},
		Instructions: []string{"CLAUDE.md", "CLAUDE.local.md", ".mcp.json", ".claude/"},
	}
}

// claudeAway are the tools that make no sense in an iteration: they work later
// than it, in another folder, or in somebody else's session.
const claudeAway = "ScheduleWakeup,CronCreate,CronDelete,CronList,EnterWorktree,ExitWorktree,SendMessage,ListAgents"

// claudeWriters are the tools that change files. Shell commands that change
// any are refused by the permission mode.
const claudeWriters = "Write,Edit,MultiEdit,NotebookEdit"

func launchClaude(s setting) (launch, error) {
	program := "claude"
	var before []string
	if len(s.req.Agent.Command) > 0 {
		program, before = s.req.Agent.Command[0], s.req.Agent.Command[1:]
	}
	path, ok := s.environ.look(program, s.req.Agent.Checkout)
	if !ok {
		return launch{}, fmt.Errorf("%s is not an executable file in %s", program, lookedIn(program, s.req.Agent.Checkout))
	}
	args, set, err := claudeArgs(s)
	if err != nil {
		return launch{}, err
	}
	stream := newClaudeStream(s)
	if err := stream.say(newSessionID(), s.req.Prompt); err != nil {
		return launch{}, fmt.Errorf("write the prompt: %w", err)
	}
	l := launch{
		path: path, args: append(append([]string(nil), before...), args...),
		names: claudeFacts().names(),
		set:   set,
		// The prompt, too: a single argument may not be longer than 128 KiB on
		// Linux.
		input: stream.input, hand: stream.hand,
		readFiles: shown(path),
		stream:    stream,
	}
	if s.sandboxed {
		err = claudeStore(s, &l)
	}
	return l, err
}

// claudeArgs is the command line after the program's own words, and what goes
// with it into the environment.
func claudeArgs(s setting) (args, set []string, err error) {
	req := s.req
	args = []string{"-p", "--output-format", "stream-json", "--input-format", "stream-json", "--replay-user-messages", "--verbose"}
	set = []string{
		"DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "DISABLE_AUTOUPDATER=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_DISABLE_CRON=1",
		// Forge itself waits for the end of an outage, and says so.
		"CLAUDE_CODE_MAX_RETRIES=3",
	}
	if s.tools != nil {
		args = append(args, "--mcp-config="+s.tools.settings())
		if req.Permission == work.PermissionReadonly || !s.sandboxed && !req.Agent.SkipPermission {
			args = append(args, "--allowedTools=mcp__"+toolsName)
		}
	}
	off := claudeAway
	switch {
	case req.Permission == work.PermissionReadonly:
		// With nobody to ask, this mode refuses every tool that would ask.
		args = append(args, "--permission-mode", "default")
		off += "," + claudeWriters
	case req.Permission != work.PermissionStandard && req.Permission != work.PermissionAutonomous:
		return nil, nil, fmt.Errorf("unknown permission mode %q", req.Permission)
	case s.sandboxed || req.Agent.SkipPermission:
		args = append(args, "--permission-mode", "bypassPermissions")
		// Without it the mode is refused to root.
		set = append(set, "IS_SANDBOX=1")
	default:
		args = append(args, "--permission-mode", "acceptEdits")
		if rules := claudeRules(req.Verify); len(rules) > 0 {
			settings, err := json.Marshal(map[string]any{"permissions": map[string]any{"allow": rules}})
			if err != nil {
				return nil, nil, fmt.Errorf("write permissions: %w", err)
			}
			args = append(args, "--settings", string(settings))
		}
	}
	args = append(args, "--disallowedTools", off)
	if req.Session != "" {
		args = append(args, "--resume", req.Session)
	} else {
		args = append(args, "--session-id", newSessionID())
	}
	model := req.Model
	if model == "" {
		model = req.Agent.Model
	}
	if model != "" {
		args = append(args, "--model", model)
	}
	if req.CostUSD != nil && *req.CostUSD > 0 {
		args = append(args, "--max-budget-usd", strconv.FormatFloat(*req.CostUSD, 'f', -1, 64))
	}
	return append(args, req.Agent.Args...), set, nil
}

// claudeRules allow the verify commands, to the letter. A command that the
// rules' syntax would read as more than itself is left out.
func claudeRules(commands []string) []string {
	var rules []string
	for _, c := range commands {
		if c = strings.TrimSpace(c); c != "" && !strings.ContainsAny(c, "*()\n\\") && !strings.HasSuffix(c, ":") {
			rules = append(rules, "Bash("+c+")")
		}
	}
	return rules
}

var notInSlug = text.Lazy(`[^a-zA-Z0-9]`)

// claudeStore shows the sandbox what the login needs, read-only, and the
// folder that keeps the sessions of this phase folder, and nothing else of the
// user's: what lies beside them could hold settings that run commands.
func claudeStore(s setting, l *launch) error {
	home := s.environ.home
	if home == "" {
		return nil
	}
	config := s.environ.get("CLAUDE_CONFIG_DIR")
	files := []string{filepath.Join(home, ".claude", ".credentials.json"), filepath.Join(home, ".claude.json")}
	if config == "" {
		config = filepath.Join(home, ".claude")
	} else {
		files = []string{filepath.Join(config, ".credentials.json"), filepath.Join(config, ".claude.json")}
	}
	for _, file := range files {
		if _, err := os.Stat(file); err == nil {
			l.readFiles[file] = file
		}
	}
	dir := s.req.Dir
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	store := filepath.Join(config, "projects", notInSlug().ReplaceAllString(dir, "-"))
	if err := os.MkdirAll(store, 0o700); err != nil {
		return fmt.Errorf("make the agent's session folder: %w", err)
	}
	l.write = append(l.write, store)
	return nil
}
