package fakemodel

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
)

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
		answer := fault(f.Status, kind, message)
		if e, ok := answer["error"].(object); ok {
			maps.Copy(e, f.Detail)
		}
		writeJSON(w, f.Status, answer)
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
