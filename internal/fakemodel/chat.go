package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// chat answers the chat completions API, streaming or not.
func (s *Server) chat(w http.ResponseWriter, r *http.Request, name string) {
	var ask struct {
		Model  string            `json:"model"`
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	t, ok := s.turn(w, r, name, chatError, func(body []byte) (side bool, err error) {
		err = json.Unmarshal(body, &ask)
		return len(ask.Tools) == 0, err
	})
	switch {
	case !ok:
	case ask.Stream:
		chatStream(newEvents(w, r, t), t, ask.Model)
	case t.Fault.Cut:
		hangUp(w)
	default:
		text, calls := "", chatCalls(t)
		for _, d := range textDeltas(t) {
			text += d["text"].(string)
		}
		writeJSON(w, http.StatusOK, chatEnvelope(t, ask.Model, "chat.completion", []object{{"index": 0, "finish_reason": chatReason(t),
			"message": object{"role": "assistant", "content": text, "reasoning_content": t.Thinking, "tool_calls": calls}}}, true))
	}
}

// chatStream sends the answer as server-sent events.
func chatStream(e *events, t Turn, model string) {
	chunk := func(delta object, reason any) {
		e.send(chatEnvelope(t, model, "chat.completion.chunk", []object{{"index": 0, "delta": delta, "finish_reason": reason}}, false))
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if t.Thinking != "" {
		chunk(object{"reasoning_content": t.Thinking}, nil)
		e.mayCut()
	}
	for _, d := range textDeltas(t) {
		chunk(object{"content": d["text"]}, nil)
	}
	e.mayCut()
	for i, call := range chatCalls(t) {
		call["index"] = i
		chunk(object{"tool_calls": []object{call}}, nil)
	}
	chunk(object{}, chatReason(t))
	e.send(chatEnvelope(t, model, "chat.completion.chunk", []object{}, true))
	e.raw("data: [DONE]\n\n")
}

func chatEnvelope(t Turn, model, kind string, choices []object, usage bool) object {
	o := object{"id": fmt.Sprintf("chatcmpl-%06d", t.serial), "object": kind, "created": 1, "model": model, "choices": choices}
	if usage {
		o["usage"] = object{"prompt_tokens": t.input(), "completion_tokens": t.output(), "total_tokens": t.input() + t.output()}
	}
	return o
}

func chatCalls(t Turn) []object {
	out := []object{}
	for i, tool := range t.Tools {
		out = append(out, object{"id": fmt.Sprintf("call_%06d_%d", t.serial, i), "type": "function",
			"function": object{"name": tool.Name, "arguments": string(marshal(tool.Input))}})
	}
	return out
}

func chatReason(t Turn) string {
	if len(t.Tools) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func chatError(status int, kind, message string) object {
	return object{"error": object{"type": kind, "code": kind, "message": message}}
}

// turn records a request and takes the turn that answers it. It deals with
// every fault that leaves nothing to answer; ok is false then. side says of a
// request's body whether it is beside the main conversation; fault is the body
// of an HTTP error.
func (s *Server) turn(w http.ResponseWriter, r *http.Request, name string, fault func(status int, kind, message string) object,
	side func(body []byte) (bool, error)) (t Turn, ok bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBytes))
	if err != nil {
		return t, false // the client is gone
	}
	aside, err := side(body)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, fault(http.StatusBadRequest, usualKind(http.StatusBadRequest), err.Error()))
		return t, false
	}
	t = s.next(name, Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Side: aside})
	f := t.Fault
	if !pause(r.Context(), f.Slow) {
		return t, false
	}
	for k, v := range f.Headers {
		w.Header().Set(k, v)
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
		hangUp(w)
	case f.Status != 0:
		kind, message := f.Kind, f.Message
		if kind == "" {
			kind = usualKind(f.Status)
		}
		if message == "" {
			message = "scripted " + kind
		}
		writeJSON(w, f.Status, fault(f.Status, kind, message))
	default:
		return t, true
	}
	return t, false
}

// events sends server-sent events until the client is gone.
type events struct {
	w    http.ResponseWriter
	r    *http.Request
	t    Turn
	gone bool
}

func newEvents(w http.ResponseWriter, r *http.Request, t Turn) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	return &events{w: w, r: r, t: t}
}

func (e *events) send(data object) { e.raw("data: " + string(marshal(data)) + "\n\n") }

func (e *events) raw(event string) {
	if e.gone {
		return
	}
	_, err := io.WriteString(e.w, event)
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
	e.gone = err != nil || !pause(e.r.Context(), e.t.Fault.Slow)
}

// mayCut hangs up where the script cuts the answer.
func (e *events) mayCut() {
	if e.t.Fault.Cut {
		hangUp(e.w)
	}
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("fakemodel: tool input of the script: %v", err))
	}
	return b
}
