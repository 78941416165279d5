package agent

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"forge/internal/work"
)

// What is read of Codex's events; everything else is skipped unseen.
const (
	codexType field = 1 + iota
	codexThread
	codexMessage
	codexItem
	codexItemID
	codexItemType
	codexItemText
	codexItemCommand
	codexItemPath
	codexItemServer
	codexItemTool
	codexItemQuery
	codexItemMessage
	codexItemStatus
	codexItemClient
	codexItemOutput
	codexItemResult
	codexItemError
	codexFailure
	codexInTokens
	codexOutTokens
	codexRPCID
	codexOfThread
	codexTurnStatus
	codexDetails
	codexFieldCount
)

func codexFields() map[string]field {
	return map[string]field{
		"type": codexType, "thread_id": codexThread, "message": codexMessage,
		"item": codexItem, "item.id": codexItemID, "item.type": codexItemType, "item.text": codexItemText,
		"item.command": codexItemCommand, "item.changes[].path": codexItemPath, "item.server": codexItemServer,
		"item.tool": codexItemTool, "item.query": codexItemQuery, "item.message": codexItemMessage, "item.status": codexItemStatus,
		"item.aggregated_output": codexItemOutput, "item.result.content[].text": codexItemResult, "item.error.message": codexItemError,
		"error.message": codexFailure, "usage.input_tokens": codexInTokens, "usage.output_tokens": codexOutTokens,

		// The same of its server.
		"id": codexRPCID, "method": codexType, "params.threadId": codexOfThread,
		"params.item": codexItem, "params.item.id": codexItemID, "params.item.type": codexItemType, "params.item.text": codexItemText,
		"params.item.command": codexItemCommand, "params.item.changes[].path": codexItemPath, "params.item.server": codexItemServer,
		"params.item.tool": codexItemTool, "params.item.query": codexItemQuery, "params.item.status": codexItemStatus,
		"params.item.aggregatedOutput": codexItemOutput, "params.item.result.content[].text": codexItemResult,
		"params.item.error.message": codexItemError, "params.item.clientId": codexItemClient,
		"params.error.message": codexMessage, "params.error.additionalDetails": codexDetails,
		"params.turn.error.message": codexFailure, "params.turn.status": codexTurnStatus,
		"params.tokenUsage.total.inputTokens": codexInTokens, "params.tokenUsage.total.outputTokens": codexOutTokens,
	}
}

// codexStream reads the events of `codex exec --json`. Only whole messages of
// the agent are its words: not what it thinks, runs or plans, nor what the
// program says. Events that are not known are passed over.
type codexStream struct {
	setting
	lines *jsonLines
	words words // its part is the text of the item being read
	now   func() time.Time

	event [codexFieldCount]value // of the line being read

	messages int             // ids of items begin anew with each turn
	running  map[string]bool // tools that have begun and not ended
	patient  *time.Timer     // while the provider makes it wait; nil = it does not
	offline  time.Time       // since when the network is waited for; zero = it is not

	session string
	denied  []string
	end     codexEnd

	// Of its server: the conversation that counts, among those of subagents, and what
	// that has used.
	thread  atomic.Pointer[string]
	counted work.Usage

	refused []string // said on standard error; read when that has ended
}

func newCodexStream(s setting) *codexStream {
	c := &codexStream{setting: s, running: map[string]bool{}, now: time.Now}
	c.lines = newJSONLines(codexFields(), c)
	return c
}

// Write reads on. It never fails.
func (c *codexStream) Write(p []byte) (int, error) {
	c.live.touch()
	return c.lines.Write(p)
}

// object begins an item: of two in one line the last counts.
func (c *codexStream) object(f field) {
	if f == codexItem {
		for f := codexItem; f <= codexItemError; f++ {
			c.event[f] = value{text: c.event[f].text[:0]}
		}
		c.words.drop()
	}
}

func (c *codexStream) value(f field, kind byte, part []byte, last bool) {
	v := &c.event[f]
	if v.whole { // of a key that comes twice the last counts
		if v.text = v.text[:0]; f == codexItemText {
			c.words.drop()
		}
	}
	if f == codexItemText && kind == '"' {
		_, _ = c.words.Write(part)
	}
	v.kind, v.whole = kind, last
	v.text = append(v.text, part[:max(0, min(len(part), valueBytes-len(v.text)))]...)
}

func (c *codexStream) text(f field) string { return string(c.event[f].text) }

// line acts on an event, now that all its keys are known.
func (c *codexStream) line(ok bool) {
	if ok {
		c.live.firstSign()
		c.act()
	}
	c.words.drop()
	for f := range c.event {
		c.event[f] = value{text: c.event[f].text[:0]}
	}
}

func (c *codexStream) act() {
	c.answered()
	if of := c.event[codexOfThread]; of.kind != 0 {
		if main := c.thread.Load(); main == nil || string(of.text) != *main {
			return
		}
	}
	switch strings.ReplaceAll(c.text(codexType), "/", ".") {
	case "thread.tokenUsage.updated":
		c.counted = c.tokens()
	case "thread.started":
		if c.event[codexThread].kind == 0 {
			return // the server's, whose answer says which it is
		}
		c.session = c.text(codexThread)
	case "turn.started":
		c.end = codexEnd{}
	case "item.started":
		c.offline = time.Time{}
		if about, tool := c.tool(); tool {
			c.begun(c.text(codexItemID))
			c.live.show("tool", about)
		}
	case "item.completed":
		c.offline = time.Time{}
		c.ended(c.text(codexItemID))
		switch kind := codexItemKind(c.text(codexItemType)); {
		case kind == "user_message" && c.event[codexItemClient].kind == '"':
			c.told.gave(c.text(codexItemClient))
		case kind == "agent_message" && c.event[codexItemText].kind == '"':
			c.messages++
			c.words.keep()
			c.words.take(strconv.Itoa(c.messages))
			c.live.show("text", c.text(codexItemText))
		case kind == "file_change" && c.req.Permission == work.PermissionReadonly && c.text(codexItemStatus) == "failed":
			about, _ := c.tool()
			c.denied = capped(c.denied, []string{oneLine(about, c.red)})
		}
	case "error":
		message := c.text(codexMessage)
		if why := c.text(codexDetails); why != "" && strings.HasPrefix(message, codexRetry) {
			message += " (" + why + ")"
		}
		c.trouble(message)
	case "turn.completed":
		status := c.event[codexTurnStatus]
		c.atEnd(codexEnd{seen: true, success: status.kind == 0 || string(status.text) == "completed", why: c.text(codexFailure)})
	case "turn.failed":
		c.atEnd(codexEnd{seen: true, why: c.text(codexFailure)})
	}
}

// tool says what the item does, if it is one that takes time and always ends.
func (c *codexStream) tool() (about string, ok bool) {
	tool, about, ok := codexTool(func(fields ...field) string { return c.text(fields[0]) })
	if !ok {
		return "", false
	}
	return tool + ": " + about, true
}

// codexTool says what tool an item is, and what it is about. A list of things to
// do begins as well, and never ends.
func codexTool(text func(...field) string) (tool, about string, ok bool) {
	kind := codexItemKind(text(codexItemType))
	switch kind {
	case "command_execution":
		about = text(codexItemCommand)
	case "file_change":
		about = text(codexItemPath)
	case "mcp_tool_call":
		about = text(codexItemServer) + "." + text(codexItemTool)
	case "collab_tool_call":
		about = text(codexItemTool)
	case "web_search":
		about = text(codexItemQuery)
	default:
		return "", "", false
	}
	return strings.ReplaceAll(kind, "_", " "), about, true
}

// codexItemKind is a kind of item as the events name it: the server's names of it
// are written in another way.
func codexItemKind(name string) string {
	if name == "collabAgentToolCall" {
		return "collab_tool_call"
	}
	var b strings.Builder
	for _, r := range name {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('_')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (c *codexStream) begun(id string) {
	if id != "" && !c.running[id] && len(c.running) < maxRunning {
		c.running[id] = true
		c.live.busy(1)
	}
}

func (c *codexStream) ended(id string) {
	if c.running[id] {
		delete(c.running, id)
		c.live.busy(-1)
	}
}

const (
	codexRetry   = "Reconnecting..."
	codexOffline = codexRetry + " waiting for network"
	// codexPatience is how long the program may wait for the network, which
	// it does for ever by itself. Beyond that Forge waits: visibly, and
	// holding nothing.
	codexPatience = 30 * time.Second
)

// trouble takes what the program says of an error. That it tries again is no
// failure.
func (c *codexStream) trouble(message string) {
	if !strings.HasPrefix(message, codexRetry) {
		c.end.lastError = message
		return
	}
	c.live.show("retry", message)
	if _, why, _ := strings.Cut(message, "("); !strings.HasPrefix(message, codexOffline) && codexOutage(strings.TrimSuffix(why, ")")) {
		c.putOff(message)
	}
	now := c.now()
	if at := codexReset(message, now, c.environ); at != nil && at.Sub(now) > longRetry {
		c.live.stop(stop{outcome: work.OutcomeRateLimited, detail: message, resetAt: at})
	}
	switch {
	case !strings.HasPrefix(message, codexOffline):
		c.offline = time.Time{}
	case c.offline.IsZero():
		c.offline = now
	case now.Sub(c.offline) >= codexPatience:
		c.live.stop(stop{outcome: work.OutcomeRateLimited, detail: message})
	}
}

// putOff begins to wait for the provider. The program says that it tries again,
// and then nothing for as long as the provider's Retry-After wants, which it does
// not tell. Beyond longRetry Forge waits itself: visibly, and holding nothing.
func (c *codexStream) putOff(message string) {
	c.live.busy(1)
	c.patient = time.AfterFunc(longRetry, func() {
		c.live.stop(stop{outcome: work.OutcomeRateLimited, detail: message})
	})
}

// answered ends the wait for the provider.
func (c *codexStream) answered() {
	if c.patient != nil {
		c.patient.Stop()
		c.patient = nil
		c.live.busy(-1)
	}
}
