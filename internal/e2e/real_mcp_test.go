//go:build real

package e2e

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/fakemodel"
)

// mcpSettings is forge mcp as a client's settings name it: this program, and what it
// needs to know of its surroundings.
func (c *withAgent) mcpSettings() (command string, args []string, env map[string]string) {
	env = map[string]string{}
	for _, kv := range c.env {
		if name, value, _ := strings.Cut(kv, "="); name == playForge || name == "HOME" || name == "FORGE_STATE_DIR" || name == "XDG_CONFIG_HOME" || name == "PATH" {
			env[name] = value
		}
	}
	return os.Args[0], []string{"mcp"}, env
}

// TestRealMCPClients: the programs of others start forge mcp by their own settings,
// see its tools, call one, and hand on to their model what it says; each call is on
// record with the program's name.
func TestRealMCPClients(t *testing.T) {
	t.Parallel()
	const said = "a word that stands on the board alone"
	for name, ask := range map[string]func(c *withAgent) (program string, args []string){
		"claude": func(c *withAgent) (string, []string) {
			command, args, env := c.mcpSettings()
			settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"forge": map[string]any{"command": command, "args": args, "env": env}}})
			if err != nil {
				c.t.Fatal(err)
			}
			c.write("mcp.json", string(settings))
			return c.player.program(c.t.(*testing.T)), []string{"-p", "What is on the board?", "--mcp-config", c.at("mcp.json"), "--allowedTools", "mcp__forge__issues"}
		},
		"codex": func(c *withAgent) (string, []string) {
			command, args, env := c.mcpSettings()
			var pairs []string
			for k, v := range env {
				pairs = append(pairs, fmt.Sprintf("%s = %q", k, v))
			}
			was, err := os.ReadFile(c.at("home/.codex/config.toml"))
			if err != nil {
				c.t.Fatal(err)
			}
			c.write("home/.codex/config.toml", fmt.Sprintf("%s[mcp_servers.forge]\ncommand = %q\nargs = [%q]\nenv = { %s }\n", was, command, args[0], strings.Join(pairs, ", ")))
			return c.player.program(c.t.(*testing.T)), []string{"exec", "--skip-git-repo-check", "What is on the board?"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, tool := the(name), fakemodel.Tool{Name: "mcp__forge__issues", Input: map[string]any{}}
			if name == "codex" {
				tool.Name, tool.Of = "issues", "mcp__forge"
			}
			c := newWith(t, p, "off", onePhase(1, ""), "[verify]\nnone = true\n",
				fakemodel.Turn{Tools: []fakemodel.Tool{tool}}, fakemodel.Turn{Text: "I have read it."})
			c.acknowledged("issue", "add", said)
			program, args := ask(c)
			out, err := c.command(program, args...).CombinedOutput()
			if err != nil || !strings.Contains(string(out), "I have read it.") {
				t.Fatalf("%s: %v\n%s", name, err, out)
			}
			heard := false
			for _, r := range c.server.Requests(p.name) {
				heard = heard || strings.Contains(string(r.Body), said)
			}
			if !heard {
				t.Errorf("what the tool said did not reach the model\n%s", out)
			}
			if calls := c.acknowledged("token", "calls"); !strings.Contains(calls, "issues") {
				t.Errorf("no call is on record: %s", calls)
			}
		})
	}
}

// TestRealMCPInspector: the protocol's own inspector lists and calls tools, and lists
// resources, on stdin and through a factory.
func TestRealMCPInspector(t *testing.T) {
	t.Parallel()
	modules := os.Getenv("FORGE_REAL_MODULES_INSPECTOR")
	if modules == "" {
		t.Skip("FORGE_REAL_MODULES_INSPECTOR names no folder of modules: scripts/real.sh does")
	}
	const said = "a word that stands on the board alone"
	c := newCheckout(t, "off", map[string]string{".forge/forge.toml": fmt.Sprintf(factoryConfig, 1), "start.txt": "here\n", "agent.sh": factoryAgent})
	c.env = append(c.env, "HALL="+c.root, "PAUSE=0")
	c.acknowledged("issue", "add", said)
	token := strings.TrimSpace(c.acknowledged("token", "new", "--name", "inspector", "--tier", "read"))
	cmd := c.command(os.Args[0], "factory", "--listen", "127.0.0.1:0")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	server := ""
	for end := time.Now().Add(patience); server == "" && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		link, _, _ := c.quick("factory", "url")
		if at, err := url.Parse(strings.TrimSpace(link)); err == nil && at.Host != "" {
			server = at.Scheme + "://" + at.Host
		}
	}
	inspect := func(how []string, args ...string) string {
		t.Helper()
		cmd := c.command(filepath.Join(modules, ".bin", "mcp-inspector"), slices.Concat([]string{"--cli"}, how, args)...)
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, &stderr)
		}
		return string(out)
	}
	for door, how := range map[string][]string{
		"stdio": {"-e", playForge + "=1", "-e", "FORGE_STATE_DIR=" + c.at("state"), "-e", "XDG_CONFIG_HOME=" + c.at("config"), os.Args[0], "mcp"},
		"http":  {server + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token},
	} {
		var list struct {
			Tools []struct {
				Name  string          `json:"name"`
				Input json.RawMessage `json:"inputSchema"`
			} `json:"tools"`
		}
		text := inspect(how, "--method", "tools/list")
		if err := json.Unmarshal([]byte(text[max(strings.Index(text, "{"), 0):]), &list); err != nil {
			t.Fatalf("%s: %v\n%s", door, err, text)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if len(tool.Input) == 0 {
				t.Errorf("%s: tool %s has no schema", door, tool.Name)
			}
		}
		slices.Sort(names)
		want := []string{"diff", "file", "files", "findings", "issue", "issues", "logs", "plan", "question", "questions", "runs", "search", "status", "why"}
		if !slices.Equal(names, want) {
			t.Errorf("%s: the tools of the tier read are %q, want %q", door, names, want)
		}
		if got := inspect(how, "--method", "tools/call", "--tool-name", "issues"); !strings.Contains(got, said) {
			t.Errorf("%s: issues said %s", door, got)
		}
		if got := inspect(how, "--method", "resources/templates/list"); !strings.Contains(got, "forge://runs/") {
			t.Errorf("%s: the resources are %s", door, got)
		}
	}
}
