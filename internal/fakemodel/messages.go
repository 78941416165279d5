package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// maxRequestBytes bounds a request that is kept for the test to look at.
const maxRequestBytes = 64 << 20

// messages answers the Anthropic Messages API, streaming or not.
func (s *Server) messages(w http.ResponseWriter, r *http.Request, name string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBytes))
	if err != nil {
		return // the client is gone
	}
	var ask struct {
		Model     string            `json:"model"`
		Stream    bool              `json:"stream"`
		Tools     []json.RawMessage `json:"tools"`
		MaxTokens int               `json:"max_tokens"`
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		writeJSON(w, http.StatusBadRequest, errorBody("invalid_request_error", err.Error()))
		return
	}
	// An agent's main conversation always offers tools; titles, summaries
	// and quota checks do not.
	side := len(ask.Tools) == 0 || ask.MaxTokens == 1
	t := s.next(name, Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Side: side})
	if !pause(r.Context(), t.Fault.Slow) {
		return
	}
	f := t.Fault
	for k, v := range f.Headers {
		w.Header().Set(k, v)
	}
	switch {
	case f.Hang:
		<-r.Context().Done()
		hangUp(w)
	case f.Status != 0:
		kind := f.Kind
		if kind == "" {
			kind = usualKind(f.Status)
		}
		writeJSON(w, f.Status, errorBody(kind, f.Message))
	case !ask.Stream && f.Cut:
		hangUp(w)
	case !ask.Stream:
		writeJSON(w, http.StatusOK, whole(t, ask.Model))
	default:
		s.stream(w, r, t, ask.Model)
	}
}

type object map[string]any

// stream sends the answer as server-sent events.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, t Turn, model string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher, _ := w.(http.Flusher)
	send := func(kind string, data object) bool {
		data["type"] = kind
		b, err := json.Marshal(data)
		if err != nil {
			panic(fmt.Sprintf("fakemodel: tool input of the script: %v", err))
		}
		_, err = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, b)
		if flusher != nil {
			flusher.Flush()
		}
		return err == nil && pause(r.Context(), t.Fault.Slow)
	}
	if !send("message_start", object{"message": envelope(t, model, nil, nil)}) {
		return
	}
	index := 0
	block := func(start object, deltas ...object) bool {
		ok := send("content_block_start", object{"index": index, "content_block": start})
		for _, d := range deltas {
			ok = ok && send("content_block_delta", object{"index": index, "delta": d})
		}
		if t.Fault.Cut {
			hangUp(w)
			return false
		}
		ok = ok && send("content_block_stop", object{"index": index})
		index++
		return ok
	}
	if t.Thinking != "" && !block(object{"type": "thinking", "thinking": "", "signature": ""},
		object{"type": "thinking_delta", "thinking": t.Thinking},
		object{"type": "signature_delta", "signature": "c2lnbmF0dXJl"}) {
		return
	}
	if text := textDeltas(t); len(text) > 0 && !block(object{"type": "text", "text": ""}, text...) {
		return
	}
	for i, tool := range t.Tools {
		input, err := json.Marshal(tool.Input)
		if err != nil {
			panic(fmt.Sprintf("fakemodel: tool input of the script: %v", err))
		}
		if !block(object{"type": "tool_use", "id": t.toolID(i), "name": tool.Name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": string(input)}) {
			return
		}
	}
	if t.Fault.Cut {
		hangUp(w)
		return
	}
	_ = send("message_delta", object{"delta": object{"stop_reason": stopReason(t), "stop_sequence": nil},
		"usage": object{"output_tokens": t.output()}}) &&
		send("message_stop", object{})
}

// textDeltas cuts the words, and the flood after them, into parts.
func textDeltas(t Turn) []object {
	var out []object
	if t.Text != "" {
		// Two parts, so that a tag can fall apart between them.
		half := len(t.Text) / 2
		for half > 0 && !utf8.RuneStart(t.Text[half]) {
			half--
		}
		out = append(out, object{"type": "text_delta", "text": t.Text[:half]}, object{"type": "text_delta", "text": t.Text[half:]})
	}
	const line = "All work and no play makes a dull flood of words, again and again.\n"
	chunk := strings.Repeat(line, 500)
	for left := t.Fault.Flood; left > 0; left -= len(chunk) {
		out = append(out, object{"type": "text_delta", "text": chunk[:min(left, len(chunk))]})
	}
	return out
}

// whole is the answer to a request that does not stream.
func whole(t Turn, model string) object {
	content := []object{}
	if t.Text != "" || t.Fault.Flood > 0 {
		var text strings.Builder
		for _, d := range textDeltas(t) {
			text.WriteString(d["text"].(string))
		}
		content = append(content, object{"type": "text", "text": text.String()})
	}
	for i, tool := range t.Tools {
		content = append(content, object{"type": "tool_use", "id": t.toolID(i), "name": tool.Name, "input": tool.Input})
	}
	return envelope(t, model, content, stopReason(t))
}

func envelope(t Turn, model string, content []object, stop any) object {
	if content == nil {
		content = []object{}
	}
	return object{"id": t.messageID(), "type": "message", "role": "assistant", "model": model, "content": content,
		"stop_reason": stop, "stop_sequence": nil,
		"usage": object{"input_tokens": t.input(), "output_tokens": t.output(), "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}}
}

func (t Turn) messageID() string { return fmt.Sprintf("msg_%06d", t.serial) }

func (t Turn) toolID(i int) string { return fmt.Sprintf("toolu_%06d_%d", t.serial, i) }

func (t Turn) input() int {
	if t.Input == 0 {
		return 100
	}
	return t.Input
}

func (t Turn) output() int {
	if t.Output == 0 {
		return 10
	}
	return t.Output
}

func stopReason(t Turn) string {
	if len(t.Tools) > 0 {
		return "tool_use"
	}
	return "end_turn"
}

func usualKind(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	return "api_error"
}

func errorBody(kind, message string) object {
	if message == "" {
		message = "scripted " + kind
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// hangUp closes the connection without ending the answer.
func hangUp(w http.ResponseWriter) {
	panic(http.ErrAbortHandler)
}
