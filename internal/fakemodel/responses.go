package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// responses answers the OpenAI Responses API, streaming or not. A tool whose
// Input is a string is called as a custom tool with that text; any other Input
// is the arguments of a function.
func (s *Server) responses(w http.ResponseWriter, r *http.Request, name string) {
	var ask struct {
		Model  string            `json:"model"`
		Stream bool              `json:"stream"`
		Tools  []json.RawMessage `json:"tools"`
	}
	t, ok := s.turn(w, r, name, responsesError, func(body []byte) (side bool, err error) {
		err = json.Unmarshal(body, &ask)
		return len(ask.Tools) == 0, err
	})
	switch {
	case !ok:
	case ask.Stream:
		responsesStream(newEvents(w, r, t), t, ask.Model)
	case t.Fault.Cut:
		hangUp(w)
	default:
		writeJSON(w, http.StatusOK, response(t, ask.Model, "completed", items(t)))
	}
}

// responsesStream sends the answer as server-sent events.
func responsesStream(e *events, t Turn, model string) {
	serial := 0
	send := func(kind string, data object) {
		data["type"], data["sequence_number"] = kind, serial
		serial++
		e.raw("event: " + kind + "\ndata: " + string(marshal(data)) + "\n\n")
	}
	send("response.created", object{"response": response(t, model, "in_progress", nil)})
	if f := t.Fault; f.Kind != "" {
		failed := response(t, model, "failed", nil)
		failed["error"] = object{"code": f.Kind, "message": f.Message}
		send("response.failed", object{"response": failed})
		return
	}
	all := items(t)
	for i, item := range all {
		send("response.output_item.added", object{"output_index": i, "item": emptied(item)})
		if item["type"] == "message" {
			for _, d := range textDeltas(t) {
				send("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": item["id"], "delta": d["text"]})
			}
		}
		e.mayCut()
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	e.mayCut()
	send("response.completed", object{"response": response(t, model, "completed", all)})
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
		called := object{"type": "function_call", "id": "fc_" + id, "call_id": id, "status": "completed", "name": tool.Name, "arguments": string(marshal(tool.Input))}
		if tool.Of != "" {
			called["namespace"] = tool.Of
		}
		out = append(out, called)
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

func responsesError(_ int, kind, message string) object {
	return object{"error": object{"type": kind, "message": message, "code": nil, "param": nil}}
}
