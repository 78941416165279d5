package agent

import (
	"strconv"
	"sync"

	acp "github.com/coder/acp-go-sdk"

	"forge/internal/work"
)

// What is read of a server's messages as they come; requests and answers are
// read by the library as well.
const (
	acpMethod field = 1 + iota
	acpID
	acpOfSession
	acpUpdateKind
	acpContentType
	acpText
	acpMessageID
	acpCallID
	acpCallStatus
	acpCallTitle
	acpCallKind
	acpCostAmount
	acpCostCurrency
	acpParent
	acpCallCommand
	acpCallFile
	acpCallResult
	acpCallOutput
	acpErrorMessage
	acpStopReason
	acpFieldCount
)

func acpFields() map[string]field {
	const update = "params.update."
	return map[string]field{
		"method": acpMethod, "id": acpID, "params.sessionId": acpOfSession,
		update + "sessionUpdate": acpUpdateKind, update + "content.type": acpContentType, update + "content.text": acpText,
		update + "messageId": acpMessageID, update + "toolCallId": acpCallID, update + "status": acpCallStatus,
		update + "title": acpCallTitle, update + "kind": acpCallKind,
		update + "cost.amount": acpCostAmount, update + "cost.currency": acpCostCurrency,
		update + "rawInput.command": acpCallCommand, update + "locations[].path": acpCallFile,
		update + "content[].content.text": acpCallResult, update + "rawOutput": acpCallOutput,
		"error.message": acpErrorMessage, "result.stopReason": acpStopReason,
		// A subagent's words name the call that it works for.
		update + "_meta.claudeCode.parentToolUseId": acpParent,
	}
}

// acpStream reads what a server says. Only text of the agent's messages in
// the session, after the prompt, is its words: not what it thinks or calls,
// not the conversation so far, which some tell again when it is continued.
// Updates that are not known are passed over.
type acpStream struct {
	setting
	input *agentInput
	lines *jsonLines
	words words // its part is what the agent says at the moment

	rpcTalk
	end    acpEnd // ordered by talked
	output acpOutput
	said   chan struct{} // holds one when words wait

	// Of the line being read.
	event   [acpFieldCount]value
	text    []byte
	textCut bool

	named   bool   // messages have ids
	message string // the one being said
	count   int    // of those without ids
	parted  bool   // something stood between it and what follows
	called  bool   // and that was a call
	running map[string]bool
	cost    *float64 // of the whole session, as last reported

	mu      sync.Mutex
	session string // "" until the prompt is sent
	server  acpServer
	denied  []string
	// What people say and is to be sent; the messages that were sent, by their
	// order, "" = of Forge; how many turns are over; the message that the model is
	// given since then, "" = none.
	waiting   []acpWord
	asked     []string
	overs     int
	following string
}

func newACPStream(s setting) *acpStream {
	c := &acpStream{
		setting: s, input: newAgentInput(), rpcTalk: newRPCTalk(), said: make(chan struct{}, 1), running: map[string]bool{},
	}
	c.output = acpOutput{to: c.input, prompts: make(chan struct{}, 1)}
	c.lines = newJSONLines(acpFields(), c)
	return c
}

// Write reads on. It never fails.
func (c *acpStream) Write(p []byte) (int, error) {
	<-c.begun
	c.live.touch()
	c.read(p, c.lines)
	return len(p), nil
}

func (c *acpStream) object(field) {}

func (c *acpStream) value(f field, kind byte, part []byte, last bool) {
	v := &c.event[f]
	if v.whole { // of a key that comes twice the last counts
		if v.text = v.text[:0]; f == acpText {
			c.text, c.textCut = c.text[:0], false
		}
	}
	v.kind, v.whole = kind, last
	if f == acpText {
		if len(c.text)+len(part) > maxRPCLine {
			c.textCut = true
			return
		}
		c.text = append(c.text, part...)
		return
	}
	v.text = append(v.text, part[:max(0, min(len(part), valueBytes-len(v.text)))]...)
}

func (c *acpStream) is(f field, s string) bool { return string(c.event[f].text) == s }

// line acts on a message, now that it is whole.
func (c *acpStream) line(ok bool) {
	if ok {
		c.live.firstSign()
		switch method, id := c.event[acpMethod].kind != 0, c.event[acpID].kind; {
		case id == '"' || id == '0':
			if !c.pass(!method) {
				c.live.stop(stop{outcome: work.OutcomeAgentFailed, detail: "the agent sends more, or longer, messages than the protocol needs"})
			} else if !method && c.event[acpStopReason].kind == '"' {
				c.turnOver()
			}
		case c.is(acpMethod, acp.ClientMethodSessionUpdate):
			c.update()
		}
	}
	for f := range c.event {
		c.event[f] = value{text: c.event[f].text[:0]}
	}
	c.text, c.textCut = c.text[:0], false
}

// update acts on what the server reports of its turn.
func (c *acpStream) update() {
	c.mu.Lock()
	session := c.session
	c.mu.Unlock()
	if session == "" || !c.is(acpOfSession, session) {
		return
	}
	switch string(c.event[acpUpdateKind].text) {
	case "agent_message_chunk":
		c.works()
		c.chunk()
	case "agent_thought_chunk":
		c.works()
		c.endCalls()
		c.parted = true
	case "tool_call":
		c.works()
		c.call()
	case "tool_call_update":
		c.call()
	case "usage_update":
		amount, err := strconv.ParseFloat(string(c.event[acpCostAmount].text), 64)
		if err == nil && amount >= 0 && c.is(acpCostCurrency, "USD") {
			c.cost = &amount
			c.live.spent(c.spent())
		}
	}
}

// chunk takes a part of a message. Where messages have ids, a text without one
// is the server's own, such as that it has changed its mode.
func (c *acpStream) chunk() {
	id := string(c.event[acpMessageID].text)
	switch {
	case c.event[acpParent].kind == '"' || !c.is(acpContentType, "text") || c.event[acpText].kind != '"':
		return
	case c.textCut:
		c.live.stop(stop{outcome: work.OutcomeAgentFailed, detail: "a message of the agent is too long to be read"})
		return
	case id == "" && c.named:
		return
	case id == "" && (c.called || c.message == ""):
		c.count++
		c.next("#" + strconv.Itoa(c.count))
	case id != "" && id != c.message:
		c.named = true
		c.next(id)
	}
	c.endCalls()
	if c.parted {
		c.words.keep() // no tag reaches over a call or a thought
	}
	c.parted, c.called = false, false
	_, _ = c.words.Write(c.text)
}

// next ends the message that was being said, and begins another one.
func (c *acpStream) next(message string) {
	if c.message != "" {
		c.show()
		c.words.keep()
		c.words.take(c.message)
	}
	c.message = message
}

// show tells whoever watches what was said last.
func (c *acpStream) show() {
	if line := c.words.part.lastLine(); !c.parted && len(line) > 0 {
		c.live.show("text", string(line))
	}
}

func (c *acpStream) call() {
	c.show()
	c.parted, c.called = true, true
	id, title := string(c.event[acpCallID].text), string(c.event[acpCallTitle].text)
	switch string(c.event[acpCallStatus].text) {
	case "completed", "failed":
		if c.running[id] {
			delete(c.running, id)
			c.live.busy(-1)
		}
	case "pending", "in_progress":
		if id != "" && !c.running[id] && len(c.running) < maxRunning {
			c.running[id] = true
			c.live.busy(1)
			c.live.show("tool", title)
		}
	}
}

// endCalls says that no call runs any more: the model goes on only when all
// have ended, also those whose end the server does not tell.
func (c *acpStream) endCalls() {
	for id := range c.running {
		delete(c.running, id)
		c.live.busy(-1)
	}
}
