//go:build real

package e2e

import (
	"fmt"
	"hash/crc32"
	"os"
	"slices"
	"strings"
	"testing"

	"forge/internal/fakemodel"
	"forge/internal/pace"
)

// player is a real agent as a project of these tests has it: in an empty home,
// with a dummy key, before a model server of our own.
type player struct {
	name     string // of the agent in the configuration
	variable string // names its program; see scripts/real.sh
	process  string // stands in the command line of its process
	store    string // below the home, where its sessions lie

	shell   func(command string) fakemodel.Tool
	write   func(name, content string) fakemodel.Tool
	refused fakemodel.Tool // refused by the permission mode standard without a sandbox
	denied  string         // how the outcome names that

	// settle makes the agent of c, which is program, ask the model under url,
	// and returns what the user's configuration says of it.
	settle func(c *withAgent, program, url string) string

	login    string // what the doctor says it lacks without its key, "" = that cannot be known
	slow     bool   // takes seconds to start
	homeless bool   // in a sandbox its sessions are gone with its home
	cost     bool   // reports money for each iteration
	tokens   bool   // reports tokens
	lingers  bool   // may be slow to leave after its last word, and is ended then
	later    bool   // hears nothing while it works: what is said stands in its next prompt
	soon     int    // about how many seconds it takes to its first tool
}

// well says that an iteration came to its end by itself.
func (p player) well(outcome string) bool {
	return outcome == "ok" || p.lingers && outcome == "post_result"
}

func players() []player {
	return []player{
		{
			name: "claude", login: "set ANTHROPIC_API_KEY", variable: "FORGE_REAL_CLAUDE", process: "claude", store: ".claude/projects", cost: true, tokens: true, soon: 4,
			shell: bash, write: writes, refused: bash("go version > ran.txt"), denied: "Bash: go version > ran.txt",
			settle: settleClaude,
		},
		{
			name: "codex", login: "set CODEX_API_KEY", variable: "FORGE_REAL_CODEX", process: "codex", store: ".codex/sessions", tokens: true, soon: 4,
			shell: func(command string) fakemodel.Tool {
				return fakemodel.Tool{Name: "exec_command", Input: map[string]any{"cmd": command, "yield_time_ms": 30_000}}
			},
			write: patches, refused: patches("/etc/forge-refused", "x\n"), denied: "writing outside of the project",
			settle: settleCodex,
		},
		{
			name: "gemini", slow: true, later: true, variable: "FORGE_REAL_GEMINI", process: "gemini", store: ".gemini/tmp", tokens: true, soon: 6,
			shell: func(command string) fakemodel.Tool {
				return fakemodel.Tool{Name: "run_shell_command", Input: map[string]string{"command": command, "description": "a step"}}
			},
			write: func(name, content string) fakemodel.Tool {
				return fakemodel.Tool{Name: "write_file", Input: map[string]string{"file_path": name, "content": content}}
			},
			refused: fakemodel.Tool{Name: "run_shell_command", Input: map[string]string{"command": "go version > ran.txt", "description": "a step"}},
			denied:  "go version > ran.txt",
			settle:  settleGemini,
		},
		{
			name: "opencode", slow: true, later: true, variable: "FORGE_REAL_OPENCODE", process: "opencode", store: ".local/share/opencode", cost: true, tokens: true, soon: 10,
			shell: func(command string) fakemodel.Tool {
				return fakemodel.Tool{Name: "bash", Input: map[string]any{"command": command, "description": "a step", "timeout": 600_000}}
			},
			write: func(name, content string) fakemodel.Tool {
				return fakemodel.Tool{Name: "write", Input: map[string]string{"filePath": name, "content": content}}
			},
			refused: fakemodel.Tool{Name: "bash", Input: map[string]any{"command": "go version > ran.txt", "description": "a step"}},
			denied:  "go version > ran.txt",
			settle:  settleOpencode,
		},
		{
			name: "served", variable: "FORGE_REAL_CLAUDE_ACP", process: "claude-agent-acp", store: ".claude/projects", homeless: true, tokens: true, lingers: true, soon: 6,
			shell: bash, write: writes, refused: bash("go version > ran.txt"), denied: "go version > ran.txt",
			settle: settleServed,
		},
	}
}

// eachPlayer runs a test with every agent whose program is named, at the same
// time as other tests: the slow ones keep none of them waiting. Before a change is taken
// each test is played with one of them, chosen by its name: that each agent does what
// Forge asks of one is held by their suite in internal/agent.
func eachPlayer(t *testing.T, test func(t *testing.T, p player)) {
	t.Helper()
	t.Parallel()
	all := slices.DeleteFunc(players(), func(p player) bool { return os.Getenv(p.variable) == "" })
	if len(all) == 0 {
		t.Skip("no variable names an agent's program")
	}
	first := int(crc32.ChecksumIEEE([]byte(t.Name())) % uint32(len(all)))
	few := pace.Few(1, len(all))
	for i, p := range all {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if (i-first+len(all))%len(all) >= few {
				pace.Soak(t, "another agent plays it")
			}
			test(t, p)
		})
	}
}

// the is the player of a name.
func the(name string) player {
	for _, p := range players() {
		if p.name == name {
			return p
		}
	}
	panic("no player " + name)
}

// program is the player's program; the test is skipped when none is named.
func (p player) program(t *testing.T) string {
	t.Helper()
	program := os.Getenv(p.variable)
	if program == "" {
		t.Skip(p.variable + " does not name the program")
	}
	return program
}

func settleClaude(c *withAgent, _, url string) string {
	c.env = append(c.env, "ANTHROPIC_BASE_URL="+url, "ANTHROPIC_API_KEY=dummy")
	return ""
}

// settleServed is Claude Code again, behind a server of the Agent Client
// Protocol. Of that kind Forge knows no variables.
func settleServed(c *withAgent, program, url string) string {
	c.env = append(c.env, "ANTHROPIC_API_KEY=dummy")
	return fmt.Sprintf("[agents.served]\nkind = \"acp\"\ncommand = [%q]\nenv = [\"ANTHROPIC_API_KEY\"]\n"+
		"set_env = { ANTHROPIC_BASE_URL = %q, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC = \"1\", DISABLE_AUTOUPDATER = \"1\", CLAUDE_CODE_MAX_RETRIES = \"2\" }\n", program, url)
}

func settleCodex(c *withAgent, _, url string) string {
	c.write("home/.codex/config.toml", fmt.Sprintf(`model = "gpt-5.5"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = %q
env_key = "OPENAI_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
supports_websockets = false
`, url+"/v1"))
	// Below the folder for temporary files it does not use its home for
	// programs, without which its own sandbox does not work.
	c.write("tmp/.keep", "")
	c.env = append(c.env, "OPENAI_API_KEY=dummy", "TMPDIR="+c.at("tmp"))
	return ""
}

func settleGemini(c *withAgent, _, url string) string {
	c.write("home/.gemini/settings.json", `{"security":{"auth":{"selectedType":"gemini-api-key"}},
"general":{"enableAutoUpdate":false,"maxAttempts":2},"privacy":{"usageStatisticsEnabled":false}}`)
	c.env = append(c.env, "GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL="+url)
	return "[agents.gemini]\nmodel = \"gemini-2.5-flash\"\n"
}

func settleOpencode(c *withAgent, _, url string) string {
	c.write("config/opencode/opencode.json", fmt.Sprintf(`{"model":"fake/fake-model","small_model":"fake/fake-model","provider":{"fake":{
"npm":"@ai-sdk/openai-compatible","name":"fake","options":{"baseURL":%q,"apiKey":"dummy"},
"models":{"fake-model":{"name":"Fake","limit":{"context":200000,"output":8192},"cost":{"input":3,"output":15}}}}}}`, url+"/v1"))
	// Of all other models it would have to read a list of megabytes.
	c.write("config/opencode/models.json", "{}")
	c.env = append(c.env, "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_MODELS_PATH="+c.at("config/opencode/models.json"))
	// In each new home it fetches 95 MB for plugins, which there are none of.
	return "[agents.opencode]\nset_env = { npm_config_offline = \"true\" }\n"
}

// bash and writes are tools of Claude Code.
func bash(command string) fakemodel.Tool {
	return fakemodel.Tool{Name: "Bash", Input: map[string]string{"command": command, "description": "a step"}}
}

func writes(name, content string) fakemodel.Tool {
	return fakemodel.Tool{Name: "Write", Input: map[string]string{"file_path": name, "content": content}}
}

// patches is Codex's way to write a file.
func patches(name, content string) fakemodel.Tool {
	patch := "*** Begin Patch\n*** Add File: " + name + "\n"
	for line := range strings.Lines(content) {
		patch += "+" + line
	}
	return fakemodel.Tool{Name: "apply_patch", Input: patch + "*** End Patch\n"}
}
