package fakemodel

import (
	"encoding/json"
	"fmt"
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
	case t.Body != "":
		writeBody(w, t, []byte(t.Body))
	default:
		text, calls := "", chatCalls(t)
		for _, d := range textDeltas(t) {
			text += d["text"].(string)
		}
		message := object{"role": "assistant", "content": text, "reasoning_content": t.Thinking, "tool_calls": calls}
		if t.Refusal != "" {
			message["refusal"] = t.Refusal
		}
		writeBody(w, t, marshal(chatEnvelope(t, ask.Model, "chat.completion",
			[]object{{"index": 0, "finish_reason": chatReason(t), "message": message}}, !t.NoUsage)))
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
	e.send(chatEnvelope(t, model, "chat.completion.chunk", []object{}, !t.NoUsage))
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
	switch {
	case t.Finish != "":
		return t.Finish
	case len(t.Tools) > 0:
		return "tool_calls"
	}
	return "stop"
}

func chatError(status int, kind, message string) object {
	return object{"error": object{"type": kind, "code": kind, "message": message}}
}
