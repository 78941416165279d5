package agent

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"forge/internal/work"
)

// Codex takes what a person says in the midst of a turn from its server alone
// (`codex app-server`), which is talked to by JSON-RPC: turn/steer is answered once
// the program has the word, and the word comes back as an item of the turn once it
// is part of what the model is asked next. What the server reports has the same items
// and says the same of errors as the events of `codex exec`, and is read by the same
// code.
//
// The server drives every iteration. Where it does not come so far as to have the
// prompt, because a version of codex has none or one of another protocol, nothing
// has been done, and `codex exec` does it all the same.

// codexApp leads the conversation with the server.
type codexApp struct {
	*codexStream
	rpcTalk
	input *agentInput
	said  chan struct{} // holds one when words wait
	ended chan struct{} // closed when the turn is over
	over  bool          // ended is closed

	mu      sync.Mutex
	waiting []acpWord
	deaf    bool // it takes nothing more
	refusal []string
	asked   ownQuestions

	// Ordered by talked.
	turn string // that is under way
	step string // what failed, "" = nothing
	err  error  // why
	gone bool   // the server does not know the protocol
}

// The server's methods.
const (
	codexAppStart  = "thread/start"
	codexAppResume = "thread/resume"
	codexAppTurn   = "turn/start"
	codexAppSteer  = "turn/steer"
)

func newCodexApp(s setting) *codexApp {
	c := &codexApp{
		codexStream: newCodexStream(s), rpcTalk: newRPCTalk(), input: newAgentInput(),
		said: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	c.lines = newJSONLines(codexFields(), c)
	return c
}

// Write reads on. It never fails.
func (c *codexApp) Write(p []byte) (int, error) {
	c.live.touch()
	c.read(p, c.lines)
	return len(p), nil
}

// line acts on a message, now that it is whole.
func (c *codexApp) line(ok bool) {
	id := c.event[codexRPCID].kind
	if asks := c.event[codexType].kind != 0; ok && (id == '"' || id == '0') && !c.pass(!asks) {
		c.live.stop(stop{outcome: work.OutcomeAgentFailed, detail: "the agent sends more, or longer, messages than the protocol needs"})
	}
	if c.codexStream.line(ok); c.end.seen && !c.over {
		c.over = true
		close(c.ended)
	}
}

// codexServes says that the server knows all of an agent's own arguments: it has
// settings in common with `codex exec`, and not the other flags.
func codexServes(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch name, _, joined := strings.Cut(args[i], "="); {
		case joined && slices.Contains([]string{"--config", "--enable", "--disable"}, name):
		case slices.Contains([]string{"-c", "--config", "--enable", "--disable"}, args[i]):
			i++
		default:
			return false
		}
	}
	return true
}

// codexAppArgs is the command line of the server, after the program's own words.
func codexAppArgs(s setting) []string {
	args := []string{"app-server", "-c", "check_for_update_on_startup=false", "-c", "analytics.enabled=false"}
	args = append(args, codexTools(s.tools)...)
	if s.codexMode() == "workspace-write" {
		args = append(args, codexWorkspace(s)...)
	}
	return append(args, s.req.Agent.Args...)
}

// codexMode is the program's own sandbox, by the name that its settings use.
func (s setting) codexMode() string {
	switch {
	case s.sandboxed:
		// Its own sandbox does not work within Forge's, which shows the
		// folder of a readonly phase read-only.
		return "danger-full-access"
	case s.req.Permission == work.PermissionReadonly:
		return "read-only"
	case s.req.Agent.SkipPermission:
		return "danger-full-access"
	}
	return "workspace-write"
}

func (c *codexApp) begin(ctx context.Context) {
	c.start(ctx, c.input, c.answer, func(ctx context.Context) {
		if c.step, c.err = c.talk(ctx); c.err == nil {
			c.hear(ctx)
		}
		c.told.close()
		c.hearNothing()
		c.input.Close()
	})
}

// talk leads the conversation up to the prompt. What comes of that is reported.
func (c *codexApp) talk(ctx context.Context) (step string, err error) {
	hello := map[string]any{"clientInfo": map[string]string{"name": "forge", "version": "1"}}
	if err := c.request(ctx, acp.AgentMethodInitialize, hello, nil); err != nil {
		c.gone = true
		return "say hello to the agent", err
	}
	if err := c.conn.SendNotification(ctx, "initialized", nil); err != nil {
		return "say hello to the agent", err
	}
	open, params := codexAppStart, map[string]any{"cwd": c.req.Dir, "approvalPolicy": "never", "sandbox": c.codexMode()}
	if model := modelOf(c.req); model != "" {
		params["model"] = model
	}
	if c.req.Session != "" {
		open, params["threadId"], params["excludeTurns"] = codexAppResume, c.req.Session, true
	}
	var opened struct {
		Thread struct {
			ID string `json:"id"`
		} `json:"thread"`
	}
	if err := c.request(ctx, open, params, &opened); err != nil {
		c.gone = codexUnknown(err)
		return "open a session", err
	}
	if opened.Thread.ID == "" {
		return "open a session", errors.New("the agent names no session")
	}
	c.thread.Store(&opened.Thread.ID)
	var begun struct {
		Turn struct {
			ID string `json:"id"`
		} `json:"turn"`
	}
	if err := c.request(ctx, codexAppTurn, map[string]any{"threadId": opened.Thread.ID, "input": codexInput(c.req.Prompt)}, &begun); err != nil {
		c.gone = codexUnknown(err)
		return "ask the agent", err
	}
	c.turn = begun.Turn.ID
	return "", nil
}

func codexInput(text string) []any { return []any{map[string]string{"type": "text", "text": text}} }

// codexUnknown says that the server does not know what it was asked for.
func codexUnknown(err error) bool {
	refused := (*acp.RequestError)(nil)
	return errors.As(err, &refused) && (refused.Code == -32601 || strings.Contains(refused.Message, "unknown variant"))
}

// codexTakesNothing is why a word waits for the next prompt.
const codexTakesNothing = "codex takes nothing at this moment"

// hand keeps a word until the turn has begun.
func (c *codexApp) hand(id, words string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return errors.New(codexTakesNothing)
	}
	c.waiting = append(c.waiting, acpWord{id, words})
	select {
	case c.said <- struct{}{}:
	default: // it is known that there is something
	}
	return nil
}

// hear gives the turn what people say, until it is over.
func (c *codexApp) hear(ctx context.Context) {
	for {
		select {
		case <-c.said:
			for _, w := range c.take() {
				c.steer(ctx, w)
			}
		case <-c.ended:
			return
		case <-ctx.Done():
			return
		}
	}
}

// steer gives a word to the turn. The id comes back with the item that the word
// becomes, see codexStream.act.
func (c *codexApp) steer(ctx context.Context, w acpWord) {
	err := c.request(ctx, codexAppSteer, map[string]any{
		"threadId": *c.thread.Load(), "expectedTurnId": c.turn, "clientUserMessageId": w.id, "input": codexInput(w.words),
	}, nil)
	if err != nil {
		c.told.refuse(w.id, "codex does not take it: "+oneLine(acpWhy(err), c.red))
		return
	}
	c.told.took(w.id)
}

func (c *codexApp) take() []acpWord {
	c.mu.Lock()
	defer c.mu.Unlock()
	words := c.waiting
	c.waiting = nil
	return words
}

// hearNothing refuses what waits, and all that follows.
func (c *codexApp) hearNothing() {
	c.mu.Lock()
	c.deaf = true
	c.mu.Unlock()
	for _, w := range c.take() {
		c.told.refuse(w.id, codexTakesNothing)
	}
}

// answer answers what the server asks. It is told to ask for nothing, and what it
// asks for all the same is refused.
func (c *codexApp) answer(_ context.Context, method string, params json.RawMessage) (any, *acp.RequestError) {
	var ask struct {
		Command json.RawMessage `json:"command"`
		Reason  string          `json:"reason"`
	}
	_ = json.Unmarshal(params, &ask) // of another form: it is not known what for
	if method == codexAsks {
		return c.takeQuestions(params), nil
	}
	c.mu.Lock()
	c.refusal = capped(c.refusal, []string{oneLine(strings.TrimSpace(method+" "+ask.Reason+" "+string(ask.Command)), c.red)})
	c.mu.Unlock()
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return map[string]string{"decision": "decline"}, nil
	case "execCommandApproval", "applyPatchApproval":
		return map[string]string{"decision": "denied"}, nil
	case "item/tool/call":
		// Forge offers no tools of its own there: the agent is told so, and goes on.
		return map[string]any{"success": false, "contentItems": []any{map[string]string{"type": "inputText", "text": "there is no such tool here"}}}, nil
	case "mcpServer/elicitation/request":
		return map[string]string{"action": "decline"}, nil
	}
	return nil, acp.NewMethodNotFound(method)
}

func (c *codexApp) finish(e ending) work.IterationReport {
	c.hungUp(c.input)
	if id := c.thread.Load(); id != nil {
		c.session = *id
	}
	if c.err != nil && !acpGone(c.err) && c.end.lastError == "" {
		c.end.lastError = acpWhy(c.err)
	}
	r := c.codexStream.finish(e)
	c.mu.Lock()
	r.Denied = capped(r.Denied, c.refusal)
	c.asked.report(&r)
	c.mu.Unlock()
	if c.unserved() {
		r.Outcome = work.OutcomeAgentFailed // whatever it was that ran
		return r
	}
	if r.Outcome != work.OutcomeAgentFailed || c.err == nil || acpGone(c.err) {
		return r
	}
	r.Detail = oneLine("cannot "+c.step+": "+acpWhy(c.err), c.red)
	if c.req.Session != "" && c.thread.Load() == nil {
		r.SessionLost, r.Session = true, ""
	}
	return r
}

// unserved says that the server did not come so far as to have the prompt, since
// this version of codex has none, or one that knows another protocol.
func (c *codexApp) unserved() bool {
	return c.gone && c.turn == "" && (c.thread.Load() == nil || c.step == "ask the agent")
}
