package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// errBrokeOff: the parts of an answer ended before the answer did.
var errBrokeOff = errors.New("its parts ended before the answer did")

// stream puts together an answer that comes in parts, as server-sent events.
// What is written to it is the body of the answer, in pieces of any size.
type stream struct {
	counted bool              // ask what it consumed
	hear    func(text string) // hears the words as far as they came, after each part

	line  []byte // the one that is not whole yet
	text  []byte
	refus string
	calls []streamCall
	usage json.RawMessage
	fault json.RawMessage
	why   string // finish_reason
	ended bool
	began bool // a choice came
}

// streamCall is a call of a tool, as far as it came.
type streamCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function streamFunction `json:"function"`
}

type streamFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// streamPart is one event.
type streamPart struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   string `json:"content"`
			Refusal   string `json:"refusal"`
			ToolCalls []struct {
				Index *int `json:"index"`
				streamCall
			} `json:"tool_calls"`
		} `json:"delta"`
		Why *string `json:"finish_reason"`
	} `json:"choices"`
	Usage json.RawMessage `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// mostCalls is how many tools an answer may call at once; what is beyond is left
// out.
const mostCalls = 64

func isEventStream(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "text/event-stream"
}

// wanted is a request that asks for the answer in parts. The library has that
// apart from what it can ask of everything else.
func (s *stream) wanted(request []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(request, &fields); err != nil {
		return nil, fmt.Errorf("write the question: %w", err)
	}
	fields["stream"] = json.RawMessage("true")
	if s.counted {
		fields["stream_options"] = json.RawMessage(`{"include_usage":true}`)
	}
	return json.Marshal(fields)
}

// Write takes the next piece of the body.
func (s *stream) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		if end < 0 {
			s.line = append(s.line, rest...)
			break
		}
		s.event(append(s.line, rest[:end]...))
		s.line, rest = s.line[:0], rest[end+1:]
	}
	return len(p), nil
}

// event takes one line in. What cannot be read is left out: that something is
// missing shows at the end.
func (s *stream) event(line []byte) {
	data, ok := bytes.CutPrefix(bytes.TrimRight(line, "\r"), []byte("data:"))
	if !ok {
		return
	}
	data = bytes.TrimSpace(data)
	if string(data) == "[DONE]" {
		s.ended = true
		return
	}
	var part streamPart
	if json.Unmarshal(data, &part) != nil {
		return
	}
	if len(part.Usage) > 0 && string(part.Usage) != "null" {
		s.usage = part.Usage
	}
	if len(part.Error) > 0 && string(part.Error) != "null" {
		s.fault, s.ended = part.Error, true
	}
	for _, c := range part.Choices {
		if c.Index != 0 {
			continue
		}
		s.began = true
		s.text = append(s.text, c.Delta.Content...)
		s.refus += c.Delta.Refusal
		for _, call := range c.Delta.ToolCalls {
			s.call(call.Index, call.streamCall)
		}
		if c.Why != nil && *c.Why != "" {
			s.why, s.ended = *c.Why, true
		}
		if c.Delta.Content != "" && s.hear != nil {
			s.hear(string(s.text))
		}
	}
}

// call adds a piece of a call: to the one that it names, else to the last. Some
// services name none and send each call whole, with an id.
func (s *stream) call(index *int, piece streamCall) {
	at := len(s.calls) - 1
	switch {
	case index != nil:
		at = *index
	case piece.ID != "" || at < 0:
		at = len(s.calls)
	}
	if at < 0 || at >= mostCalls {
		return
	}
	for len(s.calls) <= at {
		s.calls = append(s.calls, streamCall{Type: "function"})
	}
	c := &s.calls[at]
	if piece.ID != "" {
		c.ID = piece.ID
	}
	if piece.Function.Name != "" {
		c.Function.Name = piece.Function.Name
	}
	c.Function.Arguments += piece.Function.Arguments
}

// whole is the answer as one that came at once.
func (s *stream) whole() ([]byte, error) {
	s.event(s.line) // a last line may have no end
	if !s.ended {
		return nil, errBrokeOff
	}
	answer := map[string]any{}
	if s.began {
		message := map[string]any{"role": "assistant", "content": string(s.text), "refusal": s.refus}
		if len(s.calls) > 0 {
			message["tool_calls"] = s.calls
		}
		answer["choices"] = []any{map[string]any{"index": 0, "finish_reason": s.why, "message": message}}
	}
	if s.usage != nil {
		answer["usage"] = s.usage
	}
	if s.fault != nil {
		answer["error"] = s.fault
	}
	return json.Marshal(answer)
}
