package fakemodel

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// gemini answers generateContent and streamGenerateContent of the Gemini API.
func (s *Server) gemini(w http.ResponseWriter, r *http.Request, name, method string) {
	var ask struct {
		Tools []struct {
			Functions []json.RawMessage `json:"functionDeclarations"`
		} `json:"tools"`
	}
	model, verb, _ := strings.Cut(method, ":")
	if verb == "countTokens" {
		writeJSON(w, http.StatusOK, map[string]int{"totalTokens": 100})
		return
	}
	t, ok := s.turn(w, r, name, geminiError, func(body []byte) (side bool, err error) {
		err = json.Unmarshal(body, &ask)
		// Routing, loop checks and summaries are asked without tools.
		return len(ask.Tools) == 0 || len(ask.Tools[0].Functions) == 0, err
	})
	switch {
	case !ok:
	case verb == "streamGenerateContent":
		geminiStream(newEvents(w, r, t), t, model)
	case t.Fault.Cut:
		hangUp(w)
	default:
		var parts []object
		for _, part := range geminiParts(t) {
			parts = append(parts, part...)
		}
		writeJSON(w, http.StatusOK, geminiEnvelope(t, model, parts, true))
	}
}

// geminiStream sends the answer as server-sent events.
func geminiStream(e *events, t Turn, model string) {
	for _, parts := range geminiParts(t) {
		e.send(geminiEnvelope(t, model, parts, false))
		e.mayCut()
	}
	e.mayCut()
	e.send(geminiEnvelope(t, model, []object{{"text": ""}}, true))
}

// geminiParts are the parts of an answer, as they come one after the other.
func geminiParts(t Turn) [][]object {
	var out [][]object
	if t.Thinking != "" {
		out = append(out, []object{{"text": t.Thinking, "thought": true}})
	}
	for _, d := range textDeltas(t) {
		out = append(out, []object{{"text": d["text"]}})
	}
	var calls []object
	for _, tool := range t.Tools {
		calls = append(calls, object{"functionCall": object{"name": tool.Name, "args": tool.Input}})
	}
	if len(calls) > 0 {
		out = append(out, calls)
	}
	return out
}

func geminiEnvelope(t Turn, model string, parts []object, end bool) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if end {
		candidate["finishReason"] = "STOP"
	}
	return object{"candidates": []object{candidate}, "modelVersion": model, "responseId": fmt.Sprintf("r%06d", t.serial),
		"usageMetadata": object{"promptTokenCount": t.input(), "candidatesTokenCount": t.output(), "totalTokenCount": t.input() + t.output()}}
}

func geminiError(status int, kind, message string) object {
	word := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
		429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}[status]
	if word == "" {
		word = "INTERNAL"
	}
	return object{"error": object{"code": status, "status": word, "message": message + " (" + kind + ")"}}
}
