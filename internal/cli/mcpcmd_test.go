package cli

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClient is a client of an MCP server, as the protocol's own library has it.
type mcpClient struct {
	*sdk.ClientSession
	t testing.TB
}

// connectMCP is a client over a transport.
func connectMCP(t testing.TB, transport sdk.Transport) *mcpClient {
	t.Helper()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return &mcpClient{session, t}
}

// mcp begins forge mcp and is its client.
func (w *world) mcp(args ...string) *mcpClient {
	w.t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	app := &App{Stdin: in, Stdout: out, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now, Detect: detected}
	over := make(chan int, 1)
	go func() {
		over <- app.Run(context.Background(), append([]string{"mcp"}, args...))
		_ = out.Close()
	}()
	w.t.Cleanup(func() {
		_ = toServer.Close()
		_ = in.Close()
		if code := <-over; code != exitDone {
			w.t.Errorf("forge mcp ended with %d", code)
		}
	})
	return connectMCP(w.t, &sdk.IOTransport{Reader: fromServer, Writer: toServer})
}

// ask calls a tool and holds what it says.
func (c *mcpClient) ask(tool string, args map[string]any, want ...string) string {
	c.t.Helper()
	out, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatalf("%s %v: %v", tool, args, err)
	}
	said := ""
	for _, part := range out.Content {
		if t, ok := part.(*sdk.TextContent); ok {
			said += t.Text
		}
	}
	for _, text := range want {
		if !strings.Contains(said, text) {
			c.t.Errorf("%s %v does not say %q:\n%s", tool, args, text, said)
		}
	}
	return said
}

// A client looks at a real run, tells its agent something, answers its question,
// and puts an issue on the board; each call is on record.
func TestMCPOverARealRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01")+done("02"), "true")
	w.plan(phase("01", "first", 3), phase("02", "second", 3, "01"))
	w.forge("run").want(exitFrozen)

	c := w.mcp("--tier", "answer", "--name", "editor")
	c.ask("runs", nil, "1 run.", "begun")
	c.ask("plan", nil, `"name": "second"`, `"promise": "PHASE 02 DONE"`)
	c.ask("tell", map[string]any{"phase": "01", "text": "use tabs"}, "is queued", "waits for an answer")
	asked := c.ask("questions", nil, "1 question.", "phase.start", "first")
	_, id, _ := strings.Cut(asked, "\n~~~data-")
	_, id, _ = strings.Cut(id, "\n")
	id, _, _ = strings.Cut(id, ",")
	c.ask("question", map[string]any{"id": id, "diff": true}, `Start phase 01`)
	c.ask("answer", map[string]any{"id": id, "revision": 1, "answer": "approve", "comment": "go on"}, id+" is approved")
	w.forge("resume").want(exitFrozen)

	c.ask("status", nil, `"number": "01"`, `"outcome": "done"`)
	c.ask("why", map[string]any{"phase": "01"}, "approved", "editor for tester")
	c.ask("logs", map[string]any{"phase": "01"}, "PHASE 01 DONE")
	c.ask("diff", map[string]any{"phase": "01"}, "+made by 01")
	c.ask("diff", nil, "+made by 02")
	c.ask("files", map[string]any{"phase": "01", "iteration": 1}, "out-01.txt", "README.md")
	c.ask("file", map[string]any{"phase": "01", "path": "out-01.txt"}, "made by 01")
	c.ask("findings", nil, "0 findings.")
	c.ask("rewind", map[string]any{"phase": "01", "iteration": 9}, "Nothing was set back")
	c.ask("issue_add", map[string]any{"title": "Count words", "criteria": []string{"wc agrees"}}, "Issue 1, version 1, is in backlog.")
	c.ask("issue_move", map[string]any{"issue": 1, "column": "ready"}, "is in ready")
	c.ask("issue", map[string]any{"issue": 1}, "Count words", "wc agrees", `"door": "mcp"`)

	w.forge("checkpoints", "--all").want(exitDone).says("editor for tester")
	w.forge("logs", "01", "--prompt").want(exitDone).says("use tabs")
	w.forge("why").want(exitDone).says("editor for tester")
	calls, err := os.ReadFile(filepath.Join(w.state, "server", "mcp-calls.jsonl"))
	if err != nil || strings.Count(string(calls), "\n") != 18 || !strings.Contains(string(calls), `"who":"editor for tester","tier":"answer","door":"mcp"`) {
		t.Errorf("%d calls are on record (%v):\n%s", strings.Count(string(calls), "\n"), err, calls)
	}
}

// A client is set up before there is a run, and sees the first one.
func TestMCPBeforeTheFirstRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, done("01"), "true")
	w.plan(phase("01", "first", 3))
	w.forge("mcp", "--run", "r1").want(exitUsage)
	c := w.mcp()
	c.ask("runs", nil, "0 runs")
	c.ask("status", nil, "this project has no runs", "forge run begins one")
	w.forge("run").want(exitFrozen)
	c.ask("runs", nil, "1 run.")
}

// By itself a client reads and no more, and of one run where one is named.
func TestMCPReadsUnlessMoreIsAllowed(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	w.forge("mcp", "--tier", "root").want(exitUsage).warns(`"root" is no tier`, "read, comment, act, answer")
	w.forge("mcp", "--run", "nope").want(exitUsage)
	w.forge("mcp", "more").want(exitUsage).warns("takes no arguments")
	one := regexp.MustCompile(`run ([0-9a-z-]+):`).FindStringSubmatch(w.mcp().ask("runs", nil))
	if one == nil {
		t.Fatal("no run is listed")
	}
	c := w.mcp("--run", one[1])
	c.ask("status", nil, `"run": "`+one[1]+`"`)
	for _, tool := range []string{"tell", "answer", "issue_add", "issues"} {
		out, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: map[string]any{"text": "x"}})
		if err == nil && !out.IsError {
			t.Errorf("%s is done", tool)
		}
	}
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// A token that forge token made lets a program in at the factory, until it is
// revoked; what it asked for is listed.
func TestMCPOfTheFactory(t *testing.T) {
	t.Parallel()
	w := frozen(t, done("01"))
	s := w.serve("anna")
	w.forge("token", "new", "--tier", "root").want(exitUsage).warns("is no tier")
	w.forge("token", "new", "--for", "1000h").want(exitUsage).warns("at most")
	w.forge("token", "new", "--run", "nope").want(exitUsage)
	w.forge("token", "new", "--phase", "01").want(exitUsage).warns("a phase is one of a run")
	made := w.forge("token", "new", "--name", "editor", "--tier", "act").want(exitDone).warns("editor for tester", "until")
	text := strings.TrimSpace(made.stdout)
	listed := w.forge("token", "list").want(exitDone).says("editor for tester", "act", "project "+w.root)
	if strings.Contains(listed.stdout, text) {
		t.Error("the list shows the token")
	}
	id := regexp.MustCompile(`token (\S+) lets`).FindStringSubmatch(made.stderr)[1]

	c := connectMCP(t, &sdk.StreamableClientTransport{Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(text)}, MaxRetries: -1})
	c.ask("status", nil, `"state": "frozen"`)
	c.ask("job_start", map[string]any{"description": ""}, "a job needs to know what is wanted")
	c.ask("issue_add", map[string]any{"title": "Count words"}, "Issue 1")
	w.forge("token", "calls").want(exitDone).says("issue_add", "editor for tester", "a job needs to know")

	w.forge("token", "revoke", id).want(exitDone)
	w.forge("token", "revoke", id).want(exitUsage).warns("unknown token")
	if _, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "status"}); err == nil {
		t.Error("a revoked token is let in")
	}
	w.forge("token", "list").want(exitDone).says("There are no tokens")
}
