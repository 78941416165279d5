package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/internal/proc"
	"forge/internal/redact"
	"forge/internal/work"
)

// echoTools answers each line with whose it is, and asks what follows "ask ".
type echoTools struct {
	mu   sync.Mutex
	ctx  context.Context
	told []string
}

func (e *echoTools) For(ctx context.Context, req work.IterationRequest, ask func(work.Question) error) (func(net.Conn), error) {
	e.ctx = ctx
	return func(conn net.Conn) {
		lines := bufio.NewScanner(conn)
		for lines.Scan() {
			e.mu.Lock()
			e.told = append(e.told, lines.Text())
			e.mu.Unlock()
			said := fmt.Sprintf("%s of %s/%s", lines.Text(), req.Run, req.Phase)
			if q, ok := strings.CutPrefix(lines.Text(), "ask "); ok {
				said = fmt.Sprint(ask(work.Question{Text: q}))
			}
			if _, err := fmt.Fprintln(conn, said); err != nil {
				return
			}
		}
	}, nil
}

// speaks is an agent that says lines to its server of tools, and then ends with a word.
func speaks(t *testing.T, a *Agents, dir string, mode string, lines ...string) work.IterationReport {
	t.Helper()
	script := `
conf=$(cat "$FORGE_MCP") || exit 9
exe=$(echo "$conf" | sed 's/.*"command":"\([^"]*\)".*/\1/')
socket=$(echo "$conf" | sed 's/.*"__agent-tools","\([^"]*\)".*/\1/')
printf '` + strings.Join(lines, `\n`) + `\n' | "$exe" __agent-tools "$socket"
echo "socket $socket"
`
	req := work.IterationRequest{
		Run: "r", Phase: "01", Iteration: 1, Attempt: 1, MCP: true, Permission: work.PermissionStandard,
		Agent: work.AgentSettings{Name: "a", Kind: "exec", Command: []string{"sh", "-c", script}, MCP: true},
		Dir:   dir, Mark: scriptMark(t), Sandbox: work.SandboxSettings{Mode: mode}, LogPath: filepath.Join(t.TempDir(), "log"),
	}
	r, err := a.Iterate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An agent speaks with Forge from every sandbox, also one without a network, and what
// it asks there stands in the report once. With the iteration all of it is gone.
func TestSandboxedAgentsReachTheirTools(t *testing.T) {
	have := newAgents(t).config
	for name, caps := range map[string]proc.Capabilities{
		"none": {}, "bubblewrap": {Bubblewrap: have.Caps.Bubblewrap}, "landlock": {Landlock: have.Caps.Landlock},
	} {
		t.Run(name, func(t *testing.T) {
			mode := "required"
			if name == "none" {
				mode = "off"
			} else if !caps.Bubblewrap && !caps.Landlock {
				t.Skip("not on this machine")
			}
			tools := &echoTools{}
			a := New(Config{Environ: have.Environ, Caps: caps, Tools: tools, Redact: redact.New([]string{"a-real-secret"})})
			r := speaks(t, a, t.TempDir(), mode, "status", "ask Is a-real-secret right?", "ask Is a-real-secret right?", "ask Second?", "ask Third?")
			if r.Outcome != work.OutcomeOK || r.Sandbox != name || !strings.Contains(r.Whole, "status of r/01") {
				t.Fatalf("outcome %q (%s), sandbox %s, said %q", r.Outcome, r.Detail, r.Sandbox, r.Whole)
			}
			if got, want := fmt.Sprint(r.Signals.Questions), "[{Is [redacted] right? [] } {Second? [] }]"; got != want {
				t.Errorf("asked %s, want %s", got, want)
			}
			if !strings.Contains(r.Whole, "2 questions wait for an answer already") {
				t.Errorf("a third question at once is told %q", r.Whole)
			}
			_, socket, _ := strings.Cut(r.Whole, "socket ")
			if _, err := os.Stat(filepath.Dir(strings.TrimSpace(socket))); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", socket, err)
			}
			if tools.ctx.Err() == nil {
				t.Error("the token outlives the iteration")
			}
		})
	}
}

// Another program of this user is not let in, wherever it knows the socket from.
func TestToolsAreTheAgentsAlone(t *testing.T) {
	tools := &echoTools{}
	a := New(Config{Environ: newAgents(t).config.Environ, Tools: tools})
	dir := t.TempDir()
	over := make(chan work.IterationReport)
	// The agent says where its socket is, and stays until it is told to go.
	go func() {
		defer close(over)
		script := `
sed 's/.*"__agent-tools","\([^"]*\)".*/\1/' "$FORGE_MCP" >where.new && mv where.new where
while [ ! -e go ]; do sleep 0.02; done
`
		r, err := a.Iterate(t.Context(), work.IterationRequest{
			Run: "r", Phase: "01", Iteration: 1, Attempt: 1, MCP: true, Permission: work.PermissionStandard,
			Agent: work.AgentSettings{Name: "a", Kind: "exec", Command: []string{"sh", "-c", script}, MCP: true},
			Dir:   dir, Mark: scriptMark(t), Sandbox: work.SandboxSettings{Mode: "off"}, LogPath: filepath.Join(dir, "log"),
		}, nil)
		if err != nil {
			t.Error(err)
		}
		over <- r
	}()
	var where []byte
	for end := time.Now().Add(time.Minute); len(where) == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		where, _ = os.ReadFile(filepath.Join(dir, "where"))
	}
	conn, err := net.Dial("unix", strings.TrimSpace(string(where)))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintln(conn, "status")
	said, _ := bufio.NewReader(conn).ReadString('\n')
	if said != "" {
		t.Errorf("a program that is not the agent's is told %q", said)
	}
	_ = conn.Close()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := <-over; r.Outcome != work.OutcomeOK {
		t.Errorf("outcome %q (%s)", r.Outcome, r.Detail)
	}
	if len(tools.told) > 0 {
		t.Errorf("it was heard: %q", tools.told)
	}
}

// What is said by the tool and in words is one question.
func TestAskedTwiceIsAskedOnce(t *testing.T) {
	o := &offer{red: redact.New(nil), ctx: t.Context()}
	for range 2 {
		if err := o.ask(work.Question{Text: "Which?", Choices: []string{"this"}}); err != nil {
			t.Fatal(err)
		}
	}
	r := work.IterationReport{Signals: work.ParseSignals(`<question>{"text":"Which?"}</question>`)}
	o.report(&r)
	if len(r.Signals.Questions) != 1 || len(r.Signals.Questions[0].Choices) != 1 {
		t.Errorf("asked %+v", r.Signals.Questions)
	}
	(*offer)(nil).report(&r) // an agent without tools
}

// Agents without mcp = true, and phases that are none, are given nothing.
func TestNoToolsUnlessAsked(t *testing.T) {
	tools := &echoTools{}
	a := New(Config{Environ: newAgents(t).config.Environ, Tools: tools})
	for name, do := range map[string]func(*work.IterationRequest, *Agents) *Agents{
		"not asked for": func(r *work.IterationRequest, a *Agents) *Agents { r.MCP = false; return a },
		"nobody has any": func(_ *work.IterationRequest, a *Agents) *Agents {
			return New(Config{Environ: a.config.Environ})
		},
	} {
		req := work.IterationRequest{MCP: true, Agent: work.AgentSettings{MCP: true}}
		if o, err := do(&req, a).offer(t.Context(), req, Facts{MCP: true}); o != nil || err != nil {
			t.Errorf("%s: %v, %v", name, o, err)
		}
	}
	if o, err := a.offer(t.Context(), work.IterationRequest{MCP: true}, scriptFacts()); o != nil || err != nil {
		t.Errorf("a kind that takes none: %v, %v", o, err)
	}
	if tools.ctx != nil {
		t.Error("a token was made all the same")
	}
}

// Each kind is told of the server in its own way, and lets its tools be called
// where it would ask somebody.
func TestEachKindIsToldOfItsTools(t *testing.T) {
	o := &offer{dir: "/run/x", command: "/bin/for\"ge", args: []string{toolsChildArg, "/run/x/socket"}}
	of := func(p work.PermissionMode) setting {
		return setting{tools: o, req: work.IterationRequest{MCP: true, Permission: p}}
	}
	for _, p := range []work.PermissionMode{work.PermissionStandard, work.PermissionReadonly} {
		s := of(p)
		args, _, err := claudeArgs(s)
		if err != nil || !slices.Contains(args, "--mcp-config=/run/x/mcp.json") || !slices.Contains(args, "--allowedTools=mcp__forge") {
			t.Errorf("claude, %s: %q, %v", p, args, err)
		}
		args, err = codexArgs(s)
		want := []string{`mcp_servers.forge.command="/bin/for\"ge"`, `mcp_servers.forge.args=["__agent-tools","/run/x/socket"]`}
		for _, args := range [][]string{args, codexAppArgs(s)} {
			if err != nil || !slices.Contains(args, want[0]) || !slices.Contains(args, want[1]) {
				t.Errorf("codex, %s: %q, %v", p, args, err)
			}
		}
		_, set, err := opencodeArgs(s)
		if said := strings.Join(set, " "); err != nil || !strings.Contains(said, `"mcp":{"forge":{"command":["/bin/for\"ge","__agent-tools","/run/x/socket"],"enabled":true,"type":"local"}}`) || !strings.Contains(said, `"forge_*":"allow"`) {
			t.Errorf("opencode, %s: %q, %v", p, said, err)
		}
		if rules := geminiRules(s.req); !slices.ContainsFunc(rules, func(r geminiRule) bool { return r.Server == "forge" && r.Decision == "allow" && r.Priority > 900 }) {
			t.Errorf("gemini, %s: %+v", p, rules)
		}
	}
	s := of(work.PermissionStandard)
	s.tools, s.req.MCP = nil, false
	claude, _, err := claudeArgs(s)
	codex, cerr := codexArgs(s)
	_, opencode, oerr := opencodeArgs(s)
	said := fmt.Sprint(claude, codex, codexAppArgs(s), opencode, geminiRules(s.req), errors.Join(err, cerr, oerr))
	if strings.Contains(said, "mcp") || strings.Contains(said, "forge_") {
		t.Errorf("without tools: %s", said)
	}
}

// A server of the Agent Client Protocol is told with the session, and its requests
// for Forge's tools are allowed where it has them.
func TestACPIsToldOfItsTools(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	req := served(t, acpScript{Do: []acpAct{{Say: "hello"}}, State: state})
	req.MCP = true
	a := newAgents(t)
	a.config.Tools = &echoTools{}
	if r := iterate(t, a, req); r.Outcome != work.OutcomeOK {
		t.Fatalf("outcome %q (%s)", r.Outcome, r.Detail)
	}
	if said := told(t, state); !strings.Contains(said, `"mcpServers":[{"args":["__agent-tools",`) || !strings.Contains(said, `"name":"forge"`) {
		t.Errorf("told %s", said)
	}
	for _, c := range []struct {
		kind, title string
		tools, want bool
	}{
		{kind: "other", title: "mcp__forge__status", tools: true, want: true},
		{kind: "", title: "mcp__forge__ask", tools: true, want: true},
		{kind: "other", title: "mcp__forge__status"},
		{kind: "execute", title: "mcp__forge__status", tools: true},
		{kind: "other", title: "mcp__forge__status; rm -r x", tools: true},
		{kind: "other", title: "mcp__other__status", tools: true},
	} {
		var ask acpAsk
		ask.Call.Kind, ask.Call.Title = c.kind, c.title
		for _, p := range []acpPolicy{{tools: c.tools}, {tools: c.tools, readOnly: true}} {
			if got := p.allows(ask); got != c.want {
				t.Errorf("%+v, %+v: allowed %t", c, p, got)
			}
		}
	}
}

// Gemini's settings stay what they are, with the server among them; where nothing
// could be shown in their place, it is said.
func TestGeminiKeepsItsSettings(t *testing.T) {
	dir := t.TempDir()
	had := filepath.Join(dir, "had.json")
	o := &offer{dir: dir, command: "/bin/forge", args: []string{toolsChildArg, "/s"}}
	for name, c := range map[string]struct{ had, want, wrong string }{
		"settings":    {`{"a":{"b":1},"mcpServers":{"own":{"command":"x"}}}`, `{"a":{"b":1},"mcpServers":{"forge":{"args":["__agent-tools","/s"],"command":"/bin/forge"},"own":{"command":"x"}}}`, ""},
		"none":        {"", `{"mcpServers":{"forge":{"args":["__agent-tools","/s"],"command":"/bin/forge"}}}`, ""},
		"comments":    {"{\n// mine\n}", "", "take its comments out"},
		"odd servers": {`{"mcpServers":7}`, "", "mcpServers of"},
	} {
		_ = os.Remove(had)
		if c.had != "" {
			if err := os.WriteFile(had, []byte(c.had), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		file, err := geminiTools(o, had)
		text, _ := os.ReadFile(file)
		if string(text) != c.want || (c.wrong == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
	program := filepath.Join(dir, "gemini")
	if err := os.WriteFile(program, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err := launchGemini(setting{tools: o, req: work.IterationRequest{Permission: work.PermissionStandard, Agent: work.AgentSettings{Command: []string{program}}}})
	if err == nil || !strings.Contains(err.Error(), "in a sandbox alone") {
		t.Errorf("without a sandbox: %v", err)
	}
}
