package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// responses answers the OpenAI Responses API, streaming or not. A tool whose
// Input is a string is called as a custom tool with that text; any other Input
// is the arguments of a function.
func (s *Server) responses(w http.ResponseWriter, r *http.Request, name string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequestBytes))
	if err != nil {
		return // the client is gone
	}
	var ask struct {
		Model  string            `json:"model"`
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &ask); err != nil {
		writeJSON(w, http.StatusBadRequest, responsesError("invalid_request_error", err.Error(), nil))
		return
	}
	t := s.next(name, Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, Side: len(ask.Tools) == 0})
	f := t.Fault
	if !pause(r.Context(), f.Slow) {
		return
	}
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
			kind = responsesKind(f.Status)
		}
		writeJSON(w, f.Status, responsesError(kind, f.Message, f.Detail))
	case !ask.Stream && f.Cut:
		hangUp(w)
	case !ask.Stream:
		writeJSON(w, http.StatusOK, response(t, ask.Model, "completed", items(t)))
	default:
		s.streamResponse(w, r, t, ask.Model)
	}
}

// streamResponse sends the answer as server-sent events.
func (s *Server) streamResponse(w http.ResponseWriter, r *http.Request, t Turn, model string) {
	w.Header().Set("Content-Type", "text/event-stream")
	flusher, _ := w.(http.Flusher)
	serial := 0
	send := func(kind string, data object) bool {
		data["type"], data["sequence_number"] = kind, serial
		serial++
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
	if !send("response.created", object{"response": response(t, model, "in_progress", nil)}) {
		return
	}
	if f := t.Fault; f.Kind != "" {
		failed := response(t, model, "failed", nil)
		failed["error"] = object{"code": f.Kind, "message": f.Message}
		_ = send("response.failed", object{"response": failed})
		return
	}
	all := items(t)
	for i, item := range all {
		begun := object{"output_index": i, "item": emptied(item)}
		if !send("response.output_item.added", begun) {
			return
		}
		if item["type"] == "message" {
			for _, d := range textDeltas(t) {
				if !send("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": item["id"], "delta": d["text"]}) {
					return
				}
			}
		}
		if t.Fault.Cut {
			hangUp(w)
		}
		if !send("response.output_item.done", object{"output_index": i, "item": item}) {
			return
		}
	}
	if t.Fault.Cut {
		hangUp(w)
	}
	_ = send("response.completed", object{"response": response(t, model, "completed", all)})
}

// items are what the answer consists of, whole.
func items(t Turn) []object {
	var out []object
	if t.Thinking != "" {
		out = append(out, object{"type": "reasoning", "id": fmt.Sprintf("rs_%06d", t.serial), "encrypted_content": "c2lnbmF0dXJl",
			"summary": []object{{"type": "summary_text", "text": t.Thinking}}})
	}
	text := ""
	for _, d := range textDeltas(t) {
		text += d["text"].(string)
	}
	if text != "" {
		out = append(out, object{"type": "message", "id": t.messageID(), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": text, "annotations": []object{}}}})
	}
	for i, tool := range t.Tools {
		id := t.toolID(i)
		if input, custom := tool.Input.(string); custom {
			out = append(out, object{"type": "custom_tool_call", "id": "ctc_" + id, "call_id": id, "status": "completed", "name": tool.Name, "input": input})
			continue
		}
		arguments, err := json.Marshal(tool.Input)
		if err != nil {
			panic(fmt.Sprintf("fakemodel: tool input of the script: %v", err))
		}
		out = append(out, object{"type": "function_call", "id": "fc_" + id, "call_id": id, "status": "completed", "name": tool.Name, "arguments": string(arguments)})
	}
	return out
}

// emptied is an item as it is announced, before its content comes.
func emptied(item object) object {
	out := object{}
	for k, v := range item {
		switch k {
		case "content", "summary":
			out[k] = []object{}
		case "arguments", "input":
			out[k] = ""
		case "status":
			out[k] = "in_progress"
		default:
			out[k] = v
		}
	}
	return out
}

func response(t Turn, model, status string, output []object) object {
	if output == nil {
		output = []object{}
	}
	r := object{"id": fmt.Sprintf("resp_%06d", t.serial), "object": "response", "status": status, "model": model, "output": output, "error": nil}
	if status == "completed" {
		r["usage"] = object{"input_tokens": t.input(), "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": t.output(), "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": t.input() + t.output()}
	}
	return r
}

func responsesKind(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnauthorized, http.StatusForbidden:
		return "invalid_request_error"
	case http.StatusTooManyRequests:
		return "rate_limit_exceeded"
	}
	return "server_error"
}

func responsesError(kind, message string, detail map[string]any) object {
	if message == "" {
		message = "scripted " + kind
	}
	e := object{"type": kind, "message": message, "code": nil, "param": nil}
	maps.Copy(e, detail)
	return object{"error": e}
}
