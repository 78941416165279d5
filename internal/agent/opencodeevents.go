package agent

import (
	"cmp"
	"strconv"
	"strings"
	"sync"
	"time"

	"forge/internal/work"
)

// What is read of opencode's events; everything else is skipped unseen.
const (
	opencodeType field = 1 + iota
	opencodeSession
	opencodePartType
	opencodeMessage
	opencodeText
	opencodeSynthetic
	opencodeTool
	opencodeStatus
	opencodeCommand
	opencodeFile
	opencodeToolError
	opencodeReason
	opencodeCost
	opencodeIn
	opencodeOut
	opencodeReasoning
	opencodeCacheRead
	opencodeCacheWritten
	opencodeErrorText
	opencodeErrorName
	opencodeErrorSaid
	opencodeErrorMessage
	opencodeErrorStatus
	opencodeRetryable
	opencodeRetryAfter
	opencodeRetryAfterMS
	opencodeCall
	opencodeOutput
	opencodePattern
	opencodeBegan
	opencodeEnded
	opencodeFieldCount
)

func opencodeFields() map[string]field {
	return map[string]field{
		"type": opencodeType, "sessionID": opencodeSession,
		"part.type": opencodePartType, "part.messageID": opencodeMessage, "part.text": opencodeText, "part.synthetic": opencodeSynthetic,
		"part.callID": opencodeCall, "part.state.output": opencodeOutput, "part.state.input.pattern": opencodePattern,
		"part.state.time.start": opencodeBegan, "part.state.time.end": opencodeEnded,
		"part.tool": opencodeTool, "part.state.status": opencodeStatus, "part.state.input.command": opencodeCommand,
		"part.state.input.filePath": opencodeFile, "part.state.error": opencodeToolError,
		"part.reason": opencodeReason, "part.cost": opencodeCost, "part.tokens.input": opencodeIn, "part.tokens.output": opencodeOut,
		"part.tokens.reasoning": opencodeReasoning, "part.tokens.cache.read": opencodeCacheRead, "part.tokens.cache.write": opencodeCacheWritten,
		"error": opencodeErrorText, "error.name": opencodeErrorName, "error.message": opencodeErrorSaid,
		"error.data.message": opencodeErrorMessage, "error.data.statusCode": opencodeErrorStatus, "error.data.isRetryable": opencodeRetryable,
		"error.data.responseHeaders.retry-after":    opencodeRetryAfter,
		"error.data.responseHeaders.retry-after-ms": opencodeRetryAfterMS,
	}
}

// opencodeStream reads the events of `opencode run --format json`, and its
// log. There is no event for the beginning, none for the end, none for a tool
// that has begun, and none while the model's provider is waited for. Text that
// the program makes up itself does not count as words. Events that are not
// known are passed over.
type opencodeStream struct {
	setting
	now func() time.Time

	mu    sync.Mutex // events and log come from two goroutines
	lines *jsonLines
	words words // its part is the text of the part being read

	event [opencodeFieldCount]value // of the line being read

	tools   bool        // tools have begun since the model spoke
	waiting bool        // the model's provider has refused, and is asked again
	patient *time.Timer // ends the agent when that takes too long; nil = none

	session string
	denied  []string
	end     opencodeEnd
}

func newOpencodeStream(s setting) *opencodeStream {
	o := &opencodeStream{setting: s, now: time.Now}
	o.lines = newJSONLines(opencodeFields(), o)
	return o
}

// Write reads on. It never fails.
func (o *opencodeStream) Write(p []byte) (int, error) {
	o.live.touch()
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lines.Write(p)
}

func (o *opencodeStream) object(field) {}

func (o *opencodeStream) value(f field, kind byte, part []byte, last bool) {
	v := &o.event[f]
	if v.whole { // of a key that comes twice the last counts
		if v.text = v.text[:0]; f == opencodeText {
			o.words.drop()
		}
	}
	if f == opencodeText && kind == '"' {
		_, _ = o.words.Write(part)
	}
	v.kind, v.whole = kind, last
	v.text = append(v.text, part[:max(0, min(len(part), valueBytes-len(v.text)))]...)
}

func (o *opencodeStream) text(f field) string { return string(o.event[f].text) }

// line acts on an event, now that all its keys are known.
func (o *opencodeStream) line(ok bool) {
	if ok {
		o.live.firstSign()
		o.act()
	}
	o.words.drop()
	for f := range o.event {
		o.event[f] = value{text: o.event[f].text[:0]}
	}
}

func (o *opencodeStream) act() {
	if o.session == "" {
		o.session = o.text(opencodeSession)
	}
	message := o.text(opencodeMessage)
	switch string(o.event[opencodeType].text) {
	case "step_start":
		o.answered()
		o.end.reason = ""
		o.words.begin(message)
	case "text":
		o.answered()
		if string(o.event[opencodePartType].text) != "text" || message == "" || o.event[opencodeText].kind != '"' || o.event[opencodeSynthetic].kind == 't' {
			return
		}
		o.words.keep()
		o.words.take(message)
		o.live.show("text", o.text(opencodeText))
	case "tool_use":
		o.answered()
		o.atTool()
	case "step_finish":
		o.answered()
		o.toolsEnded()
		o.atStep()
	case "error":
		o.answered()
		o.toolsEnded()
		o.atError()
	}
}

// opencodeRefusals begin what a tool answers when it was not allowed.
var opencodeRefusals = []string{
	"The user has specified a rule which prevents you", "The user rejected permission",
	"Model tried to call unavailable tool",
}

func (o *opencodeStream) atTool() {
	tool := o.text(opencodeTool)
	about := cmp.Or(o.text(opencodeCommand), o.text(opencodeFile))
	call := claudeCall{tool: tool, about: about}.String()
	o.live.show("tool", call)
	if tool == "task" && o.text(opencodeStatus) == "completed" {
		o.end.hidden = true
	}
	if o.text(opencodeStatus) != "error" {
		return
	}
	why := o.text(opencodeToolError)
	for i, refusal := range opencodeRefusals {
		// A tool that is not there was refused where Forge took some away.
		if strings.HasPrefix(why, refusal) && (i < len(opencodeRefusals)-1 || opencodeLimited(o.setting)) {
			o.denied = capped(o.denied, []string{oneLine(call, o.red)})
			return
		}
	}
}

// atStep adds what one answer of the model has cost.
func (o *opencodeStream) atStep() {
	o.end.reason = cmp.Or(o.text(opencodeReason), "unknown")
	if o.end.reason == "tool-calls" || o.end.reason == "stop" {
		o.end.steps++
	}
	in, inKnown := o.tokens(opencodeIn, opencodeCacheRead, opencodeCacheWritten)
	out, outKnown := o.tokens(opencodeOut, opencodeReasoning)
	usd, err := strconv.ParseFloat(o.text(opencodeCost), 64)
	step := work.Usage{}
	if inKnown && outKnown {
		step.InputTokens, step.OutputTokens = &in, &out
	}
	// Nothing is also what it reports for a model whose price it does not
	// know.
	if err == nil && (usd > 0 || usd == 0 && inKnown && outKnown && in+out == 0) {
		step.CostUSD = &usd
	}
	o.end.add(step)
	o.live.spent(o.end.usage())
}

// tokens sums fields, of which the first has to be there.
func (o *opencodeStream) tokens(fields ...field) (sum int64, ok bool) {
	for i, f := range fields {
		n, err := strconv.ParseInt(o.text(f), 10, 48)
		switch {
		case err == nil && n >= 0:
			sum += n
		case i == 0 || o.event[f].kind == '0':
			return 0, false
		}
	}
	return sum, true
}
