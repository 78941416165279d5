package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	acp "github.com/coder/acp-go-sdk"

	"forge/internal/text"
	"forge/internal/work"
)

// acpEnd is what came of the conversation.
type acpEnd struct {
	server  acpServer
	session string
	lost    bool              // the session to continue could not be opened
	step    string            // what failed, "" = nothing
	err     error             // why
	result  json.RawMessage   // of the last prompt; nil when it was not answered
	earlier []json.RawMessage // of those before
}

// begin leads the conversation in a goroutine that finish waits for. It is
// called once, when the server runs.
func (c *acpStream) begin(ctx context.Context) {
	c.start(ctx, c.output, c.answer, func(ctx context.Context) {
		c.end = c.talk(ctx)
		c.live.gotResult()
		c.input.Close()
	})
}

// talk leads the conversation up to the answers to all prompts.
func (c *acpStream) talk(ctx context.Context) (end acpEnd) {
	fail := func(step string, err error) acpEnd {
		end.step, end.err = step, err
		return end
	}
	if err := c.request(ctx, acp.AgentMethodInitialize, acpInitialize(), &end.server); err != nil {
		return fail("say hello to the agent", err)
	}
	if err := end.server.check(); err != nil {
		return fail("say hello to the agent", err)
	}
	opened, err := c.open(ctx, end.server)
	if err != nil {
		end.lost = c.req.Session != "" && acpOutage(err) == ""
		return fail("open a session", err)
	}
	end.session = opened.ID
	if err := c.mode(ctx, opened); err != nil {
		return fail("choose the mode", err)
	}
	if err := c.model(ctx, opened); err != nil {
		return fail("choose the model", err)
	}
	c.mu.Lock()
	c.session, c.server = opened.ID, end.server
	c.mu.Unlock()
	return c.turns(ctx, end)
}

// acpSession is a session as it was opened, with what can be chosen in it.
type acpSession struct {
	ID    string `json:"sessionId"`
	Modes struct {
		Current string          `json:"currentModeId"`
		Offered []acpModeOrMore `json:"availableModes"`
	} `json:"modes"`
	Models struct {
		Offered []json.RawMessage `json:"availableModels"`
	} `json:"models"`
	Options []acpOption `json:"configOptions"`
}

type acpModeOrMore struct {
	ID    string `json:"id"`    // of a mode
	Value string `json:"value"` // of an option
}

// acpOption is what newer servers offer in the place of modes and models.
type acpOption struct {
	ID       string          `json:"id"`
	Category string          `json:"category"`
	Current  any             `json:"currentValue"`
	Choices  json.RawMessage `json:"options"`
}

// open opens a session: the one to continue, or a new one.
func (c *acpStream) open(ctx context.Context, server acpServer) (s acpSession, err error) {
	type params struct {
		Session string `json:"sessionId,omitempty"`
		Dir     string `json:"cwd"`
		Servers []any  `json:"mcpServers"`
	}
	p := params{Session: c.req.Session, Dir: c.req.Dir, Servers: c.servers()}
	switch {
	case c.req.Session == "":
		err = c.request(ctx, acp.AgentMethodSessionNew, p, &s)
		if err == nil && s.ID == "" {
			err = errors.New("the agent names no session")
		}
		return s, err
	case server.Capabilities.Sessions.Resume != nil:
		// Without the whole conversation being told again.
		err = c.request(ctx, acp.AgentMethodSessionResume, p, &s)
	case server.Capabilities.Load:
		err = c.request(ctx, acp.AgentMethodSessionLoad, p, &s)
	default:
		err = errors.New("the agent cannot continue sessions")
	}
	s.ID = c.req.Session
	return s, err
}

// servers are the servers of tools, as the protocol names them.
func (c *acpStream) servers() []any {
	if c.tools == nil {
		return []any{}
	}
	return []any{map[string]any{"name": toolsName, "command": c.tools.command, "args": c.tools.args, "env": []any{}}}
}

// choice returns the option of a category, and the values that it offers.
func (s acpSession) choice(category string) (option acpOption, offered []string, ok bool) {
	for _, o := range s.Options {
		if o.Category == category {
			var choices []acpModeOrMore
			_ = json.Unmarshal(o.Choices, &choices) // choices in groups are not known
			for _, c := range choices {
				offered = append(offered, c.Value)
			}
			return o, offered, true
		}
	}
	return acpOption{}, nil, false
}

func (c *acpStream) choose(ctx context.Context, s acpSession, o acpOption, value string) error {
	return c.request(ctx, acp.AgentMethodSessionSetConfigOption, map[string]string{"sessionId": s.ID, "configId": o.ID, "value": value}, nil)
}

// mode chooses the mode that fits the permission mode. What it leaves open,
// requests for permission decide, so that a server which refuses a mode goes
// on in its own.
func (c *acpStream) mode(ctx context.Context, s acpSession) error {
	var offered []string
	for _, m := range s.Modes.Offered {
		offered = append(offered, m.ID)
	}
	option, values, byOption := s.choice("mode")
	if len(offered) == 0 {
		offered = values
	} else {
		byOption = false
	}
	current := s.Modes.Current
	if byOption {
		current, _ = option.Current.(string)
	}
	mode := acpMode(c.policy(), current, offered)
	if mode == "" || mode == current {
		return nil
	}
	var err error
	if byOption {
		err = c.choose(ctx, s, option, mode)
	} else {
		err = c.request(ctx, acp.AgentMethodSessionSetMode, map[string]string{"sessionId": s.ID, "modeId": mode}, nil)
	}
	if refused := (*acp.RequestError)(nil); errors.As(err, &refused) && ctx.Err() == nil {
		return nil
	}
	return err
}

// model chooses the model, where one is named.
func (c *acpStream) model(ctx context.Context, s acpSession) error {
	model := modelOf(c.req)
	if model == "" {
		return nil
	}
	if option, _, ok := s.choice("model"); ok {
		return c.choose(ctx, s, option, model)
	}
	if len(s.Models.Offered) > 0 {
		return c.request(ctx, acp.AgentMethodSessionSetModel, map[string]string{"sessionId": s.ID, "modelId": model}, nil)
	}
	return fmt.Errorf("the agent does not let a model be chosen, and %q is set", text.Clip(model, 60))
}

// cancel asks the server to end its turn, and gives it the time to do so.
func (c *acpStream) cancel(ctx context.Context) {
	select {
	case <-c.begun:
	case <-ctx.Done():
		return
	}
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session == "" {
		return // there is no turn
	}
	select {
	case <-c.talked:
		return
	default:
	}
	if c.conn.SendNotification(ctx, acp.AgentMethodSessionCancel, acp.CancelNotification{SessionId: acp.SessionId(session)}) == nil {
		<-ctx.Done() // when the turn is over, its input ends, and so may it
	}
}

// over ends the conversation when the server has ended, and returns what came
// of it.
func (c *acpStream) over() acpEnd {
	c.hungUp(c.input)
	return c.end
}

// answer answers a request of the server.
func (c *acpStream) answer(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	if method != acp.ClientMethodSessionRequestPermission {
		return nil, acp.NewMethodNotFound(method)
	}
	var ask acpAsk
	if err := json.Unmarshal(params, &ask); err != nil {
		return nil, acp.NewInvalidParams(map[string]string{"error": err.Error()})
	}
	allowed, option := c.policy().decide(ask)
	if !allowed {
		c.mu.Lock()
		c.denied = capped(c.denied, []string{oneLine(ask.String(), c.red)})
		c.mu.Unlock()
	}
	if option == "" {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(acp.PermissionOptionId(option))}, nil
}

func (c *acpStream) policy() acpPolicy {
	return acpPolicy{
		readOnly: c.req.Permission == work.PermissionReadonly,
		all:      c.sandboxed || c.req.Agent.SkipPermission,
		tools:    c.tools != nil,
		dir:      c.req.Dir, verify: c.req.Verify,
	}
}

func (a acpAsk) String() string {
	title := strings.TrimSpace(a.Call.Title)
	if a.Call.Kind == "" {
		return title
	}
	return a.Call.Kind + ": " + title
}
