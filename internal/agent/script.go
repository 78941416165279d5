package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"forge/internal/redact"
	"forge/internal/work"
)

// The kind "script" plays a script file: Forge starts itself as the agent's
// process and hands it the step to play, so that limits, sandbox and killing
// are as real as with any agent. What it prints are events of its own, one
// JSON object per line.

func scriptFacts() Facts { return Facts{Continues: true, ReportsCost: true} }

// scriptPart is what the playing process gets on its standard input.
type scriptPart struct {
	Prompt    string         `json:"prompt"`
	Session   string         `json:"session"`
	Continued bool           `json:"continued"`
	Do        []scriptAction `json:"do"`
}

// scriptChildArg tells Forge that it is to play a script. It is an argument
// and not a variable, so that what the script starts does not inherit it.
const scriptChildArg = "__play-script"

func launchScript(s setting) (launch, error) {
	if s.req.Agent.File == "" {
		return launch{}, errors.New("no script file is set")
	}
	file, err := readScript(s.req.Agent.File)
	if err != nil {
		return launch{}, err
	}
	part := scriptPart{Prompt: s.req.Prompt, Session: s.req.Session, Continued: s.req.Session != "", Do: file.step(s.req).Do}
	if part.Session == "" {
		part.Session = newSessionID()
	}
	stdin, err := json.Marshal(part)
	if err != nil {
		return launch{}, fmt.Errorf("pass on the script: %w", err)
	}
	program, err := forgeItself(s.executable)
	if err != nil {
		return launch{}, err
	}
	stream := &scriptStream{live: s.live, red: s.red}
	stream.lines = newJSONLines(scriptFields(), stream)
	return launch{
		path: program, args: []string{scriptChildArg}, stdin: string(stdin),
		readFiles: shown(program), stream: stream,
	}, nil
}

// newSessionID is a random UUID.
func newSessionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func detectScript(_ context.Context, a work.AgentSettings, _ environ) Detection {
	if _, err := readScript(a.File); err != nil {
		return Detection{LoggedIn: LoginUnknown, Why: err.Error()}
	}
	return Detection{Found: true, Path: a.File, LoggedIn: LoginYes}
}

const (
	scriptType field = 1 + iota
	scriptText
	scriptID
	scriptInput
	scriptOutput
	scriptCost
	scriptReset
)

func scriptFields() map[string]field {
	return map[string]field{
		"type": scriptType, "text": scriptText, "id": scriptID, "input_tokens": scriptInput,
		"output_tokens": scriptOutput, "cost_usd": scriptCost, "reset_at": scriptReset,
	}
}

// scriptStream reads the events of a playing process.
type scriptStream struct {
	live  *live
	red   *redact.Redactor
	lines *jsonLines
	words words

	event    map[field]string // small values of the line being read
	part     bool             // the last value is not whole yet
	messages int
	tools    int

	session  string
	usage    work.Usage
	denied   []string
	resetAt  *time.Time
	limited  bool
	lost     bool
	failed   string
	finished bool
}

func (s *scriptStream) Write(p []byte) (int, error) {
	s.live.touch()
	return s.lines.Write(p)
}

func (s *scriptStream) object(field) {}

// valueBytes bounds a value that is kept of an event.
const valueBytes = 4 << 10

func (s *scriptStream) value(f field, _ byte, part []byte, last bool) {
	if f == scriptText {
		_, _ = s.words.Write(part)
	}
	if s.event == nil {
		s.event = map[field]string{}
	}
	if !s.part {
		s.event[f] = ""
	}
	s.part = !last
	if v := s.event[f]; len(v) < valueBytes {
		s.event[f] = v + string(part[:min(len(part), valueBytes-len(v))])
	}
}

func (s *scriptStream) line(ok bool) {
	event := s.event
	s.event, s.part = nil, false
	defer s.words.drop()
	if !ok {
		return
	}
	text := event[scriptText]
	switch event[scriptType] {
	case "session":
		s.session = event[scriptID]
		s.live.firstSign()
	case "text":
		s.messages++
		s.words.keep()
		s.words.take(strconv.Itoa(s.messages))
		s.live.show("text", text)
	case "tool":
		s.tools++
		s.live.busy(1)
		s.live.show("tool", text)
	case "tool_end":
		if s.tools > 0 {
			s.tools--
			s.live.busy(-1)
		}
	case "usage":
		s.spend(event)
	case "denied":
		s.denied = capped(s.denied, []string{text})
	case "outage":
		s.limited = true
		if at, err := strconv.ParseInt(event[scriptReset], 10, 64); err == nil {
			t := time.Unix(at, 0).UTC()
			s.resetAt = &t
		}
	case "lost":
		s.lost = true
	case "failed":
		s.failed = text
	case "result":
		s.finished = true
		s.live.gotResult()
	}
}

// spend adds what an event reports. A value that is nonsense stays nonsense,
// so that the sum is unknown in the end.
func (s *scriptStream) spend(event map[field]string) {
	s.usage.InputTokens = addInt(s.usage.InputTokens, event[scriptInput])
	s.usage.OutputTokens = addInt(s.usage.OutputTokens, event[scriptOutput])
	if v, err := strconv.ParseFloat(event[scriptCost], 64); err == nil {
		if s.usage.CostUSD != nil && v >= 0 && *s.usage.CostUSD >= 0 {
			v += *s.usage.CostUSD
		} else if s.usage.CostUSD != nil {
			v = math.NaN()
		}
		s.usage.CostUSD = &v
	}
	s.live.spent(s.usage)
}

func addInt(sum *int64, more string) *int64 {
	n, err := strconv.ParseInt(more, 10, 64)
	if err != nil {
		return sum
	}
	if sum != nil {
		if n < 0 || *sum < 0 || n > math.MaxInt64-*sum {
			n = -1
		} else {
			n += *sum
		}
	}
	return &n
}

func (s *scriptStream) finish(e ending) work.IterationReport {
	s.lines.close()
	r := work.IterationReport{
		Usage: s.usage, Total: s.usage, Session: s.session, SessionLost: s.lost,
		Denied: s.denied, ResetAt: s.resetAt,
	}
	s.words.report(&r, s.red)
	switch why := e.failed(); {
	case s.limited:
		r.Outcome, r.Detail = work.OutcomeRateLimited, "the script reports an outage"
	case s.lost:
		r.Outcome, r.Detail, r.Session = work.OutcomeAgentFailed, "the script has lost its session", ""
	case s.failed != "":
		r.Outcome, r.Detail = work.OutcomeAgentFailed, s.failed
	case why != "":
		r.Outcome, r.Detail = work.OutcomeAgentFailed, why
	case !s.finished:
		r.Outcome, r.Detail = work.OutcomeAgentFailed, "the script ended without a result"
	default:
		r.Outcome = work.OutcomeOK
	}
	return r
}
