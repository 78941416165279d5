package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/api"
	"forge/gates"
	"forge/internal/refusal"
	"forge/internal/token"
	"forge/internal/work"
	"forge/orchestrator"
)

// Call is one call as it is recorded: who asked for what, through what, and
// whether they got it. What was sent and answered is not in it.
type Call struct {
	At      time.Time  `json:"at"`
	Token   string     `json:"token,omitempty"` // its id; absent = a process of the owner's
	Who     string     `json:"who"`
	Tier    token.Tier `json:"tier"`
	Door    string     `json:"door"`
	Project string     `json:"project"`
	Tool    string     `json:"tool"`
	About   string     `json:"about,omitempty"` // the run, phase, checkpoint or issue that was named
	Refused string     `json:"refused,omitempty"`
	TookMS  int64      `json:"took_ms"`
}

// call is one call of somebody who may make it.
type call struct {
	context.Context
	*Server
	project web.Project
	about   []string // what was named, for the record
}

// tool is one tool.
type tool struct {
	name, about string
	tier        token.Tier
	// whole says that it is about the project, not about a run.
	whole bool
	// starts says that it takes a process that works on the project.
	starts bool
	// asks says that it is for the agent of a phase alone.
	asks bool
	add  func(*Server, tool)
	// call and in are the tool for who is in this process: what it does with an
	// input as JSON, and what that may hold.
	call func(context.Context, *Server, tool, json.RawMessage) (answer, error)
	in   func() (*jsonschema.Schema, error)
}

// allows says whether a client is told of the tool.
func (t tool) allows(c Config) bool {
	return c.Grant.Tier >= t.tier && (!t.whole || c.Grant.Run == "") && (!t.starts || c.Starts) && (!t.asks || c.Ask != nil && c.Grant.Phase != "")
}

// define is a tool that takes an In.
func define[In any](t tool, do func(*call, In) (answer, error)) tool {
	t.add = func(s *Server, t tool) {
		no, yes := false, true
		sdk.AddTool(s.sdk, &sdk.Tool{Name: t.name, Description: t.about, Annotations: &sdk.ToolAnnotations{ReadOnlyHint: t.tier == token.Read, DestructiveHint: &no, OpenWorldHint: &yes}},
			func(ctx context.Context, _ *sdk.CallToolRequest, in In) (*sdk.CallToolResult, any, error) {
				said, err := s.do(ctx, t, func(c *call) (answer, error) { return do(c, in) })
				if err != nil {
					return nil, nil, err
				}
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said.String()}}}, nil, nil
			})
	}
	t.call = func(ctx context.Context, s *Server, t tool, input json.RawMessage) (answer, error) {
		return s.do(ctx, t, func(c *call) (answer, error) {
			var in In
			if err := read(input, &in); err != nil {
				return answer{}, err
			}
			return do(c, in)
		})
	}
	t.in = func() (*jsonschema.Schema, error) { return jsonschema.For[In](nil) }
	return t
}

// errEnded: the token expired or was taken back while a client held a session.
var errEnded = refusal.New("forge token new makes another", "this token has expired or was revoked")

// do makes one call and records it. Of trouble of Forge's own a client learns no
// more than that it is one.
func (s *Server) do(ctx context.Context, t tool, do func(*call) (answer, error)) (out answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	began := s.Now()
	c := &call{Context: ctx, Server: s}
	func() {
		defer func() {
			if r := recover(); r != nil {
				s.Log.Error("a call of MCP broke", "tool", t.name, "panic", r, "stack", string(debug.Stack()))
				err = errOwn
			}
		}()
		if !s.holds(t.tier) || !t.allows(s.Config) {
			err = errEnded
			return
		}
		if c.project, err = s.Project(ctx); err == nil {
			out, err = do(c)
		}
	}()

	said := s.said(t, err)
	record := Call{
		At: began.UTC(), Token: s.Grant.ID, Who: s.Grant.Who(), Tier: s.Grant.Tier, Door: s.Door, Project: s.Grant.Project,
		Tool: t.name, About: strings.Join(c.about, " "), TookMS: s.Now().Sub(began).Milliseconds(),
	}
	if said != nil {
		record.Refused = said.Error()
	}
	if kept := s.Record(record); kept != nil {
		s.Log.Error("a call of MCP could not be recorded", "tool", t.name, "err", kept)
		if said == nil && t.tier == token.Read {
			return answer{}, errOwn
		}
	}
	return out, said
}

var errOwn = errors.New("Forge could not do that; its log says why")

// said is an error as a client is told it: what is wrong, and the way out.
func (s *Server) said(t tool, err error) error {
	if err == nil {
		return nil
	}
	var own *refusal.Error
	if errors.As(err, &own) || errors.Is(err, errOwn) {
		return err
	}
	p := api.ProblemOf(err)
	if p == nil {
		s.Log.Error("a call of MCP failed", "tool", t.name, "err", err)
		return errOwn
	}
	words := p.Detail
	for _, m := range p.Errors {
		words += "\n" + strings.TrimPrefix(m.Location, "body.") + ": " + m.Message
	}
	// A way out in words of HTTP is none here.
	if p.Fix != "" && !strings.HasPrefix(p.Fix, "GET ") {
		words += "\n" + p.Fix
	}
	return errors.New(words)
}

// name notes what a call is about, for its record.
func (c *call) name(what, value string) {
	if value != "" && len(c.about) < 6 {
		c.about = append(c.about, what+"="+label(value))
	}
}

// errNoRun is said of a run that is not there and of one that the token is not
// for: which of the two it is, is nobody's business.
func errNoRun(id string) error {
	return refusal.New("the tool runs lists those that you may see", "there is no run %s here", label(id))
}

// run is the run that is meant: the token's, the one that was named, else the
// newest.
func (c *call) run(id string) (web.Run, error) {
	c.name("run", id)
	mine := c.Grant.Run
	switch {
	case mine != "" && id != "" && id != mine:
		return web.Run{}, errNoRun(id)
	case mine != "":
		id = mine
	case id == "":
		newest, err := c.project.Runs.Runs(c, 1, "")
		if err != nil {
			return web.Run{}, err
		}
		if len(newest) == 0 {
			return web.Run{}, refusal.New("forge run begins one", "this project has no runs")
		}
		return newest[0], nil
	}
	row, err := c.project.Runs.Run(c, id)
	if errors.Is(err, fs.ErrNotExist) {
		err = errNoRun(id)
	}
	return row, err
}

// stand is the run that is meant, as its events tell it.
func (c *call) stand(id string) (web.Run, *orchestrator.State, error) {
	row, err := c.run(id)
	if err != nil {
		return row, nil, err
	}
	st, err := c.project.Runs.State(c, row.ID)
	return row, st, err
}

// phase is the phase that is meant: the token's, or the one that was named; ""
// where neither is.
func (c *call) phase(st *orchestrator.State, number string) (string, error) {
	c.name("phase", number)
	if mine := c.Grant.Phase; mine != "" {
		if number != "" && number != mine {
			return "", refusal.New("leave the phase out", "this token is for phase %s alone", label(mine))
		}
		number = mine
	}
	if number != "" && st.View(number) == nil {
		fix := "leave the phase out"
		if c.Grant.Phase == "" {
			if near := gates.Nearest(number, st.Order); near != "" {
				fix = fmt.Sprintf("did you mean %s?", near)
			} else {
				fix = "the tool plan names the phases"
			}
		}
		return "", refusal.New(fix, "run %s has no phase %s", st.Run, label(number))
	}
	return number, nil
}

// onePhase is phase where one has to be named.
func (c *call) onePhase(st *orchestrator.State, number string) (*orchestrator.View, error) {
	number, err := c.phase(st, number)
	if err != nil {
		return nil, err
	}
	if number == "" {
		number = latest(st)
	}
	if number == "" {
		return nil, refusal.New("the tool plan names the phases", "no phase of run %s has begun", st.Run)
	}
	return st.View(number), nil
}

// latest is the phase that is worked on, else the last one that began.
func latest(st *orchestrator.State) (number string) {
	for _, n := range st.Order {
		switch ph := st.View(n); {
		case ph.Begun:
			return n
		case ph.Iteration > 0:
			number = n
		}
	}
	return number
}

// sees says whether a checkpoint is within the grant.
func (c *call) sees(cp work.Checkpoint) bool {
	return (c.Grant.Run == "" || cp.Run == c.Grant.Run) && (c.Grant.Phase == "" || cp.Phase == c.Grant.Phase)
}

// question is the checkpoint of just that id. One outside the grant is as unknown
// as one that is not there.
func (c *call) question(id string) (web.Judged, error) {
	c.name("checkpoint", id)
	unknown := refusal.New("the tool questions lists what waits", "there is no question %s here", label(id))
	j, err := c.project.Questions.Judged(c, id)
	if errors.Is(err, work.ErrUnknown) || err == nil && (!c.sees(j.Checkpoint) || j.Checkpoint.ID != id) {
		return web.Judged{}, unknown
	}
	return j, err
}

// by is who changes something, for the record.
func (c *call) by(note string) factory.By {
	return factory.By{Name: c.Grant.Who(), Door: c.Door, Note: note}
}
