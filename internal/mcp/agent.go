package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory/web"
	"forge/internal/refusal"
	"forge/internal/token"
	"forge/internal/work"
)

const (
	// AgentDoor is what the calls of an agent come through, for records.
	AgentDoor = "agent"
	// mostSaid is how much one program of an agent may say, in bytes.
	mostSaid = 16 << 20
)

// Agents gives the agents of phases their tools: each its own phase and the plan, to
// read, and a question to a person. It answers nothing and sees no other run.
type Agents struct {
	// Project is the one that they work on, looked at for each call.
	Project func(context.Context) (web.Project, error)
	Root    string // of that project
	Record  func(Call) error
	Now     func() time.Time
	Log     *slog.Logger
}

// For makes the token of one iteration. There is no text of it that could be kept or
// passed on: whoever is let in holds it, until ctx ends, or its time.
func (a Agents) For(ctx context.Context, req work.IterationRequest, ask func(work.Question) error) (func(net.Conn), error) {
	lives := min(time.Duration(req.Limits.IterationSecs)*time.Second+time.Minute, token.Longest)
	if req.Limits.IterationSecs <= 0 {
		lives = token.Longest
	}
	c := Config{
		Project: a.Project, Record: a.Record, Now: a.Now, Log: a.Log, Door: AgentDoor, Ask: ask,
		Grant: token.Grant{
			Name: "agent", By: "phase " + req.Phase + " of run " + req.Run,
			Project: a.Root, Run: req.Run, Phase: req.Phase, Tier: token.Read,
		}.From(a.Now(), lives),
		Still:   func() bool { return ctx.Err() == nil },
		schemas: sdk.NewSchemaCache(),
	}
	if err := c.Grant.Check(); err != nil {
		return nil, err
	}
	if req.Run == "" || req.Phase == "" {
		return nil, errors.New("an agent of no phase gets no tools")
	}
	return func(conn net.Conn) { a.serve(ctx, c, conn) }, nil
}

// serve speaks with one program.
func (a Agents) serve(ctx context.Context, c Config, conn net.Conn) {
	s, err := New(c)
	if err != nil {
		a.Log.Error("an agent cannot be given its tools", "err", err)
		return
	}
	defer s.Close()
	// How it ends is nobody's business: the program went, or the iteration is over.
	_ = s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(io.LimitReader(conn, mostSaid)), Writer: conn})
}

type inAsk struct {
	Text    string   `json:"text" jsonschema:"what you have to know; one question, short"`
	Choices []string `json:"choices,omitempty" jsonschema:"answers that you offer, at most 6"`
	Why     string   `json:"why,omitempty" jsonschema:"why you ask"`
}

func agentTools() []tool {
	return []tool{define(tool{
		name: "ask", tier: token.Read, asks: true,
		about: "Ask a person what you cannot know, instead of guessing; it is the same as an element named question in your message. End your message after it: the answer comes with your next prompt.",
	}, askPerson)}
}

// askPerson reads the question as the form in words is read.
func askPerson(c *call, in inAsk) (answer, error) {
	body, err := json.Marshal(work.Question(in))
	if err != nil {
		return answer{}, err
	}
	q, err := work.ParseQuestion(string(body))
	if err != nil {
		return answer{}, refusal.New("ask again without that", "the question cannot be put: %v", err)
	}
	if err := c.Ask(q); err != nil {
		return answer{}, refusal.New("say it in your next message", "the question is not kept: %v", err)
	}
	return answer{head: "Your question is kept. End your message now: it is put when you have, and the answer comes with your next prompt.\n"}, nil
}
