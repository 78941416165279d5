package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory/web"
	"forge/internal/token"
	"forge/internal/work"
)

// theAgent is the scope of a token that Forge made for the agent of a phase.
const theAgent = "the agent of a phase"

// connectAgent is a client as the agent of a phase is one.
func connectAgent(t *testing.T, p web.Project, g token.Grant) *client {
	t.Helper()
	c := &client{TB: t}
	serve, err := c.agents(p).For(t.Context(), work.IterationRequest{Run: g.Run, Phase: g.Phase}, c.keep)
	if err != nil {
		t.Fatal(err)
	}
	c.speak(serve)
	return c
}

// agents keeps its records with the client.
func (c *client) agents(p web.Project) Agents {
	return Agents{
		Project: func(context.Context) (web.Project, error) { return p, nil }, Root: p.Root,
		Now: clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Record: func(one Call) error {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.records = append(c.records, one)
			return nil
		},
	}
}

func (c *client) keep(q work.Question) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.asked, func(one work.Question) bool { return one.Text == "no more" }) {
		return errors.New("nothing more is asked")
	}
	c.asked = append(c.asked, q)
	return nil
}

// speak connects to what serves one program.
func (c *client) speak(serve func(net.Conn)) {
	c.Helper()
	here, there := net.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		serve(there)
	}()
	var err error
	if c.ClientSession, err = sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(context.WithoutCancel(c.Context()), &sdk.IOTransport{Reader: here, Writer: here}, nil); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		_ = c.ClientSession.Close()
		_, _ = here.Close(), there.Close()
		<-over
	})
}

// The agent of a phase is told of what reads, and of the question to a person; of
// nothing that answers, tells or changes.
func TestToolsOfAnAgent(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := connectAgent(t, p, token.Grant{Run: "a-r1", Phase: "1"})
	var got []string
	for tool, err := range c.Tools(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, tool.Name); !tool.Annotations.ReadOnlyHint {
			t.Errorf("an agent that asks before it changes something would ask for %s", tool.Name)
		}
	}
	slices.Sort(got)
	want := []string{"ask", "diff", "file", "files", "findings", "logs", "plan", "question", "questions", "runs", "search", "status", "why"}
	if !slices.Equal(got, want) {
		t.Errorf("tools %v, want %v", got, want)
	}
}

// What an agent asks is read as the words of the same meaning are, and each call is
// on record with whose it is.
func TestAnAgentAsks(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := connectAgent(t, p, token.Grant{Run: "a-r1", Phase: "1"})
	said, refused := c.ask("ask", map[string]any{"text": " Which port? ", "choices": []string{"80", "8080"}, "why": "two are free"})
	if want := (work.Question{Text: "Which port?", Choices: []string{"80", "8080"}, Why: "two are free"}); refused != "" || !strings.Contains(said, "End your message") || len(c.asked) != 1 || fmt.Sprint(c.asked[0]) != fmt.Sprint(want) {
		t.Errorf("said %q, refused %q, asked %+v", said, refused, c.asked)
	}
	for _, args := range []map[string]any{
		{"text": " "}, {"text": strings.Repeat("x", work.MaxQuestionBytes+1)}, {"text": "a", "choices": []string{"b", "b"}},
	} {
		if _, refused := c.ask("ask", args); !strings.Contains(refused, "cannot be put") {
			t.Errorf("%v: refused %q", args, refused)
		}
	}
	c.ask("ask", map[string]any{"text": "no more"})
	if _, refused := c.ask("ask", map[string]any{"text": "one more"}); !strings.Contains(refused, "nothing more is asked") {
		t.Errorf("refused %q", refused)
	}
	first := c.records[0]
	first.At, first.TookMS = noon, 0
	if first.Token == "" {
		t.Error("the call is of no token")
	}
	first.Token = ""
	if want := (Call{At: noon, Who: "agent for phase 1 of run a-r1", Tier: token.Read, Door: AgentDoor, Project: "/a", Tool: "ask"}); first != want {
		t.Errorf("recorded %+v, want %+v", first, want)
	}
}

// An agent's token ends with the iteration, in the midst of a session, and each has
// another one.
func TestAnAgentsTokenEndsWithItsIteration(t *testing.T) {
	t.Parallel()
	_, p := newFake(t, "a")
	c := &client{TB: t}
	ctx, end := context.WithCancel(t.Context())
	serve, err := c.agents(p).For(ctx, work.IterationRequest{Run: "a-r1", Phase: "1"}, c.keep)
	if err != nil {
		t.Fatal(err)
	}
	c.speak(serve)
	if _, refused := c.ask("status", nil); refused != "" {
		t.Fatal(refused)
	}
	end()
	for _, tool := range []string{"status", "ask"} {
		if said, refused := c.ask(tool, map[string]any{"text": "still here?"}); said != "" || refused == "" {
			t.Errorf("after the iteration, %s says %q, refuses %q", tool, said, refused)
		}
	}
	// And one that comes late finds nobody.
	here, there := net.Pipe()
	defer func() { _ = here.Close() }()
	serve(there)
	for _, req := range []work.IterationRequest{{Run: "a-r1"}, {Phase: "1"}} {
		if _, err := c.agents(p).For(t.Context(), req, c.keep); err == nil {
			t.Errorf("tools for an agent of %+v", req)
		}
	}
}
