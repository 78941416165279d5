package agent

import (
	"bytes"
	"cmp"
	"strconv"
	"strings"
	"time"

	"forge/internal/text"
	"forge/internal/work"
)

// What is read of Gemini's events; everything else is skipped unseen.
const (
	geminiType field = 1 + iota
	geminiSession
	geminiRole
	geminiContent
	geminiDelta
	geminiTool
	geminiToolID
	geminiCommand
	geminiFile
	geminiStatus
	geminiErrorType
	geminiErrorMessage
	geminiSeverity
	geminiMessage
	geminiTotal
	geminiIn
	geminiOut
	geminiTime
	geminiOutput
	geminiPattern
	geminiQuery
	geminiPath
	geminiFieldCount
)

func geminiFields() map[string]field {
	return map[string]field{
		"type": geminiType, "session_id": geminiSession, "role": geminiRole, "content": geminiContent, "delta": geminiDelta,
		"tool_name": geminiTool, "tool_id": geminiToolID, "parameters.command": geminiCommand, "parameters.file_path": geminiFile,
		"timestamp": geminiTime, "output": geminiOutput, "parameters.pattern": geminiPattern, "parameters.query": geminiQuery,
		"parameters.dir_path": geminiPath,
		"status":              geminiStatus, "error.type": geminiErrorType, "error.message": geminiErrorMessage,
		"severity": geminiSeverity, "message": geminiMessage,
		"stats.total_tokens": geminiTotal, "stats.input_tokens": geminiIn, "stats.output_tokens": geminiOut,
	}
}

// geminiStream reads stream-json events. A message of the agent comes in many
// lines, which are joined: a tool, a result and a line that is not such a part
// end it. Events that are not known are passed over.
type geminiStream struct {
	setting
	lines *jsonLines
	words words // its part is the message being said
	now   func() time.Time

	event   [geminiFieldCount]value // of the line being read
	content []byte                  // text of the line, until it is known whose it is
	spilled bool                    // text of the line has gone into the message

	messages int
	said     []byte            // the message so far, for the live view
	running  map[string]string // calls that have begun and not ended: id → what they do

	session string
	denied  []string
	end     geminiEnd
}

// contentBytes are kept of a line whose text is not known to be the agent's.
const contentBytes = 256 << 10

func newGeminiStream(s setting) *geminiStream {
	g := &geminiStream{setting: s, running: map[string]string{}, now: time.Now}
	g.lines = newJSONLines(geminiFields(), g)
	return g
}

// Write reads on. It never fails.
func (g *geminiStream) Write(p []byte) (int, error) {
	g.live.touch()
	return g.lines.Write(p)
}

func (g *geminiStream) object(field) {}

func (g *geminiStream) value(f field, kind byte, part []byte, last bool) {
	v := &g.event[f]
	if f == geminiContent && kind == '"' {
		if v.whole { // of a key that comes twice the last counts
			g.content = g.content[:0]
		}
		if len(g.content)+len(part) > contentBytes {
			if g.speaks() {
				_, _ = g.words.Write(g.content)
				g.spilled = true
			}
			g.content = g.content[:0]
		}
		g.content = append(g.content, part...)
	}
	if v.whole {
		v.text = v.text[:0]
	}
	v.kind, v.whole = kind, last
	v.text = append(v.text, part[:max(0, min(len(part), valueBytes-len(v.text)))]...)
}

func (g *geminiStream) text(f field) string { return string(g.event[f].text) }

// speaks says that the line is known to be the agent's word.
func (g *geminiStream) speaks() bool {
	return string(g.event[geminiType].text) == "message" && string(g.event[geminiRole].text) == "assistant"
}

// line acts on an event, now that all its keys are known.
func (g *geminiStream) line(ok bool) {
	switch {
	case ok:
		g.live.firstSign()
		g.act()
	case g.spilled:
		g.words.drop() // what it was is not known
	}
	g.content, g.spilled = g.content[:0], false
	if cap(g.content) > contentBytes {
		g.content = nil
	}
	for f := range g.event {
		g.event[f] = value{text: g.event[f].text[:0]}
	}
}

func (g *geminiStream) act() {
	switch string(g.event[geminiType].text) {
	case "init":
		g.session = cmp.Or(g.text(geminiSession), g.session)
	case "message":
		g.message()
	case "tool_use":
		g.ended()
		g.begins()
		about := claudeCall{tool: g.text(geminiTool), about: cmp.Or(g.text(geminiCommand), g.text(geminiFile))}.String()
		g.live.show("tool", about)
		if id := g.text(geminiToolID); id != "" && g.running[id] == "" && len(g.running) < maxRunning {
			g.running[id] = text.Clip(about, lineBytes)
			g.live.busy(1)
		}
	case "tool_result":
		g.ended()
		g.begins()
		g.toolResult()
	case "error":
		if severity := g.text(geminiSeverity); severity != "warning" {
			g.end.failed = cmp.Or(g.text(geminiMessage), "an error of severity "+severity)
		}
		g.live.show("retry", g.text(geminiMessage))
	case "result":
		g.ended()
		g.atResult()
	}
}

func (g *geminiStream) message() {
	if !g.speaks() {
		g.ended()
		return
	}
	part := g.event[geminiDelta].kind == 't'
	if !part {
		g.ended()
	}
	_, _ = g.words.Write(g.content)
	g.live.show("text", g.shown())
	if !part {
		g.ended()
	}
}

// shown is the last line of the message so far, for whoever watches: parts of
// it would be no more than syllables.
func (g *geminiStream) shown() string {
	if g.live.watch == nil {
		return ""
	}
	g.said = append(g.said, g.content[:min(len(g.content), valueBytes)]...)
	if i := bytes.LastIndexByte(bytes.TrimRight(g.said, "\n"), '\n'); i >= 0 {
		g.said = append(g.said[:0], g.said[i+1:]...)
	}
	g.said = g.said[:min(len(g.said), 2*lineBytes)]
	return string(g.said)
}

// ended ends the message that is being said, if one is.
func (g *geminiStream) ended() {
	if len(g.words.part.b) == 0 {
		g.words.drop()
		return
	}
	g.begins()
	g.words.keep()
	g.words.take(strconv.Itoa(g.messages))
	g.said = g.said[:0]
}

// begins makes the next message the last one, be it silent.
func (g *geminiStream) begins() {
	g.messages++
	g.words.begin(strconv.Itoa(g.messages))
}

// geminiRefusals are what a tool's error is when it was not allowed.
var geminiRefusals = map[string]bool{"policy_violation": true, "tool_not_registered": true}

func (g *geminiStream) toolResult() {
	id := g.text(geminiToolID)
	about, known := g.running[id]
	if known {
		delete(g.running, id)
		g.live.busy(-1)
	}
	if g.text(geminiStatus) == "error" &&
		(geminiRefusals[g.text(geminiErrorType)] || strings.HasPrefix(g.text(geminiErrorMessage), "Path not in workspace")) {
		g.denied = capped(g.denied, []string{oneLine(cmp.Or(about, "a tool"), g.red)})
	}
}

var geminiRetry = text.Lazy(`^Attempt [0-9]+ failed.* Retrying (?:after ([0-9]{1,12})ms|with backoff)`)

// log reads a line of standard error, where the program says that it tries
// again, and when. Other versions may say otherwise: then less is known.
func (g *geminiStream) log(line []byte) {
	m := geminiRetry().FindSubmatch(line)
	if m == nil {
		return
	}
	g.live.show("retry", string(line))
	ms, err := strconv.ParseInt(string(m[1]), 10, 64)
	if wait := time.Duration(ms) * time.Millisecond; err == nil && wait > longRetry {
		at := g.now().Add(wait).UTC().Round(time.Second)
		g.live.stop(stop{outcome: work.OutcomeRateLimited, detail: string(line), resetAt: &at})
	}
}
