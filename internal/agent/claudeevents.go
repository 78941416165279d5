package agent

import (
	"strconv"
	"sync"
	"time"

	"forge/internal/work"
)

// claudeStream reads stream-json events. Text that is not the main
// conversation's own does not count as words: thinking, tool input and
// results, the echo of the prompt, a subagent's talk, and the messages that
// the program makes up to report an error. Events that are not known are
// passed over.
type claudeStream struct {
	setting
	input *agentInput
	lines *jsonLines
	words words // its part is the text block being read

	// Of the line being read.
	event  [claudeFieldCount]value
	block  bool // a block of a message has begun
	said   string
	calls  []claudeCall
	closed []string // ids of calls that have ended
	denied []claudeCall
	asks   []claudeAsked // of the block that is being read
	asking []claudeAsked // by the tool for that, in this message

	own     ownQuestions
	counted map[string]bool // ids of messages whose usage is in spent
	spent   work.Usage
	running map[string]bool // calls that have begun and not ended
	message string          // id of the main conversation's last message

	session string
	end     claudeEnd

	mu    sync.Mutex
	names map[string]string // ids of people's messages by the program's
}

// value is a scalar of an event: its JSON kind, 0 when the event has none, and
// at most valueBytes of it.
type value struct {
	kind  byte
	whole bool // its last part has come
	text  []byte
}

// claudeAskTool is the tool by which its model asks whoever sits in front of it.
const claudeAskTool = "AskUserQuestion"

// claudeAsked is a question by that tool.
type claudeAsked struct {
	text, why string
	choices   []string
}

// claudeCall is a tool call.
type claudeCall struct{ id, tool, about string }

const (
	maxCallsPerLine = 256
	maxRunning      = 4096
	maxCounted      = 4096
)

func newClaudeStream(s setting) *claudeStream {
	c := &claudeStream{setting: s, input: newAgentInput(), names: map[string]string{}, counted: map[string]bool{}, running: map[string]bool{}}
	c.lines = newJSONLines(claudeFields(), c)
	return c
}

// Write reads on. It never fails.
func (c *claudeStream) Write(p []byte) (int, error) {
	c.live.touch()
	return c.lines.Write(p)
}

func (c *claudeStream) object(f field) {
	switch f {
	case claudeBlock:
		c.endBlock()
		c.block = true
	case claudeDenial:
		c.endDenial()
	case claudeAsk:
		if len(c.asks) < work.MaxSignals {
			c.asks = append(c.asks, claudeAsked{})
		}
	}
}

func (c *claudeStream) value(f field, kind byte, part []byte, last bool) {
	if f == claudeBlockText {
		_, _ = c.words.Write(part)
	}
	v := &c.event[f]
	switch {
	case v.whole && f == claudeErrors: // of several
		v.text = append(v.text, ' ')
	case v.whole:
		v.text = v.text[:0] // of a key that comes twice the last counts
	}
	v.kind, v.whole = kind, last
	v.text = append(v.text, part[:max(0, min(len(part), valueBytes-len(v.text)))]...)
	if last && len(c.asks) > 0 {
		c.askValue(f, &c.asks[len(c.asks)-1])
	}
}

// askValue is a part of a question, as it is read.
func (c *claudeStream) askValue(f field, of *claudeAsked) {
	switch f {
	case claudeAskText:
		of.text = c.take(f)
	case claudeAskWhy:
		of.why = c.take(f)
	case claudeAskChoice:
		if len(of.choices) <= work.MaxChoices { // one more than fit tells that they do not
			of.choices = append(of.choices, c.take(f))
		}
	}
}

// take returns a value as a string and clears it.
func (c *claudeStream) take(f field) string {
	v := &c.event[f]
	s := string(v.text)
	*v = value{text: v.text[:0]}
	return s
}

// endBlock says what the block was, now that all its keys are known.
func (c *claudeStream) endBlock() {
	if !c.block {
		return
	}
	c.block = false
	kind, text := c.take(claudeBlockType), c.take(claudeBlockText)
	id, tool, about := c.take(claudeBlockID), c.take(claudeBlockTool), c.take(claudeBlockCommand)
	if file := c.take(claudeBlockFile); about == "" {
		about = file
	}
	resultOf := c.take(claudeBlockResultOf)
	switch kind {
	case "text":
		c.words.keep()
		c.said = text
	case "tool_use":
		if len(c.calls) < maxCallsPerLine {
			c.calls = append(c.calls, claudeCall{id, tool, about})
		}
		if tool == claudeAskTool {
			c.asking = capped(c.asking, c.asks)
		}
	case "tool_result":
		if len(c.closed) < maxCallsPerLine {
			c.closed = append(c.closed, resultOf)
		}
	}
	c.asks = nil
	c.words.drop()
}

func (c *claudeStream) endDenial() {
	tool := c.take(claudeDeniedTool)
	about := c.take(claudeDeniedCommand)
	if file := c.take(claudeDeniedFile); about == "" {
		about = file
	}
	if tool != "" && tool != claudeAskTool && len(c.denied) < maxCallsPerLine {
		c.denied = append(c.denied, claudeCall{tool: tool, about: about})
	}
}

// line acts on an event, now that all its keys are known.
func (c *claudeStream) line(ok bool) {
	c.endBlock()
	c.endDenial()
	if ok {
		c.live.firstSign()
		switch string(c.event[claudeType].text) {
		case "assistant":
			c.assistant()
		case "user":
			for _, id := range c.closed {
				c.ended(id)
			}
			c.replayed()
		case "command_lifecycle":
			c.lifecycle()
		case "system":
			c.system()
		case "rate_limit_event":
			c.rateLimit()
		case "result":
			c.atResult()
		}
	}
	c.words.drop()
	c.words.forget()
	for f := range c.event {
		c.event[f] = value{text: c.event[f].text[:0]}
	}
	c.said, c.calls, c.closed, c.denied = "", c.calls[:0], c.closed[:0], c.denied[:0]
	c.asks, c.asking = nil, nil
}

func (c *claudeStream) assistant() {
	id := string(c.event[claudeMessageID].text)
	if c.event[claudeError].kind == '"' || string(c.event[claudeModel].text) == "<synthetic>" {
		// The program speaks, not the model.
		c.end.lastError = string(c.event[claudeError].text)
		c.words.begin("error " + id)
		return
	}
	c.count(id)
	// A subagent's message names the call that it works for; one that does
	// not say whose it is does not count either.
	if c.event[claudeParent].kind == 'n' && id != "" {
		if id != c.message {
			// The model goes on only when all of its calls have ended.
			c.endAll()
			c.message = id
		}
		c.words.take(id)
		c.live.show("text", c.said)
		for _, q := range c.asking {
			c.own.add(q.text, q.why, q.choices, c.red)
		}
	}
	for _, call := range c.calls {
		if call.id != "" && !c.running[call.id] && len(c.running) < maxRunning {
			c.running[call.id] = true
			c.live.busy(1)
		}
		c.live.show("tool", call.String())
	}
}

func (c claudeCall) String() string {
	if c.about == "" {
		return c.tool
	}
	return c.tool + ": " + c.about
}

func (c *claudeStream) ended(id string) {
	if c.running[id] {
		delete(c.running, id)
		c.live.busy(-1)
	}
}

func (c *claudeStream) endAll() {
	for id := range c.running {
		c.ended(id)
	}
}

// count adds a message's usage once: it is repeated with every block. It is
// less than what the result will say, so that a cap is never hit too early.
func (c *claudeStream) count(id string) {
	in, known := c.tokens(claudeInTokens, claudeCacheWritten, claudeCacheRead)
	out, outKnown := c.tokens(claudeOutTokens)
	if id == "" || c.counted[id] || !known || !outKnown {
		return
	}
	if len(c.counted) >= maxCounted {
		clear(c.counted) // only blocks of a message that is long past could count twice
	}
	c.counted[id] = true
	if c.spent.InputTokens != nil {
		in, out = in+*c.spent.InputTokens, out+*c.spent.OutputTokens
	}
	c.spent = work.Usage{InputTokens: &in, OutputTokens: &out}
	c.live.spent(c.spent)
}

// tokens sums fields, of which the first has to be there.
func (c *claudeStream) tokens(fields ...field) (sum int64, ok bool) {
	for i, f := range fields {
		n, err := strconv.ParseInt(string(c.event[f].text), 10, 48)
		switch {
		case err == nil && n >= 0:
			sum += n
		case i == 0 || c.event[f].kind == '0':
			return 0, false
		}
	}
	return sum, true
}

// longRetry is how long the program may wait before its next try. Beyond that
// Forge waits itself: visibly, and holding nothing.
const longRetry = time.Minute

func (c *claudeStream) system() {
	switch string(c.event[claudeSubtype].text) {
	case "init":
		c.session = string(c.event[claudeSession].text)
	case "api_retry":
		why := string(c.event[claudeError].text)
		c.live.show("retry", "trying again after: "+why)
		ms, err := strconv.ParseFloat(string(c.event[claudeDelay].text), 64)
		if wait := time.Duration(min(ms, 1e12) * float64(time.Millisecond)); err == nil && wait > longRetry {
			at := time.Now().Add(wait).UTC().Round(time.Second)
			c.live.stop(stop{outcome: work.OutcomeRateLimited, detail: "the model's provider asks to wait: " + why, resetAt: &at})
		}
	}
}

func (c *claudeStream) rateLimit() {
	if string(c.event[claudeLimitStatus].text) == "rejected" {
		c.end.resetAt = epoch(string(c.event[claudeLimitResets].text))
	}
}
