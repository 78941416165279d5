// Package fakemodel is a model server on loopback that answers by script, for
// tests that drive real agent programs without a model: it streams text and
// tool calls, and misbehaves on request.
package fakemodel

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Turn is the answer to one request of an agent's main conversation.
type Turn struct {
	Text     string // words, before the tool calls; "" = none
	Thinking string // thought before the words; "" = none
	Tools    []Tool // calls the agent is to make
	Input    int    // tokens reported, 0 = 100
	Output   int    // tokens reported, 0 = 10
	Fault    Fault
	Repeat   int // how many further requests get the same answer, -1 = all

	// Of a Service alone.
	When    string // answer the first request whose body holds this; "" = any
	Body    string // the whole answer instead, as it stands
	Refusal string // the model's refusal
	Finish  string // finish_reason, "" = the usual one
	NoUsage bool   // say nothing of tokens

	serial int // number of the answer, part of its ids
}

// Tool is one tool call. Input is marshalled as JSON.
type Tool struct {
	Name  string
	Input any
	Of    string // the namespace that it is of, for agents that have such; "" = none
}

// Fault is what goes wrong with an answer; the zero value is none.
type Fault struct {
	Status  int               // answer with this HTTP status instead
	Kind    string            // error type in the body, "" = the usual one of Status; Responses without Status: the answer fails half-way
	Message string            // error message in the body
	Detail  map[string]any    // further fields of the error in the body (not of Messages)
	Headers map[string]string // added to the answer (Retry-After, …)
	Cut     bool              // close the connection in the middle of the answer
	Hang    bool              // answer nothing until the client or the server goes away
	Flood   int               // this many further bytes of text
	Slow    time.Duration     // wait before the answer and between its parts
}

// Request is one request as it arrived.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte
	Side   bool // not part of the main conversation: titles, quota checks
}

// Server answers for any number of scripts, each under its own URL. Its
// methods may be called from several goroutines.
type Server struct {
	http   *http.Server
	base   string
	stop   context.CancelFunc // ends the answers that wait
	served chan struct{}      // closed when the server's goroutine has ended

	mu      sync.Mutex
	scripts map[string]*script
	answers int
}

type script struct {
	turns    []Turn
	requests []Request
	service  *Service           // nil = a script for an agent
	answered func(Request) Turn // in the place of turns; nil = they are used
}

// Start opens a server on a free loopback port. Close ends it.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen on loopback: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		base:    "http://" + l.Addr().String(),
		stop:    stop,
		served:  make(chan struct{}),
		scripts: map[string]*script{},
	}
	s.http = &http.Server{
		Handler:           http.HandlerFunc(s.serve),
		ReadHeaderTimeout: 10 * time.Second,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	go func() {
		defer close(s.served)
		_ = s.http.Serve(l) // always ends with ErrServerClosed
	}()
	return s, nil
}

// Close ends every answer and the server, and waits for both.
func (s *Server) Close() {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.served
}

// Script sets what is answered under URL(name), one turn per request, and
// returns that URL. When the turns are used up, the answer is a short text
// without tool calls. A name already in use is scripted anew; its record of
// requests stays.
func (s *Server) Script(name string, turns ...Turn) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.scripts[name]
	if sc == nil {
		sc = &script{}
		s.scripts[name] = sc
	}
	sc.turns, sc.answered = append([]Turn(nil), turns...), nil
	return s.URL(name)
}

// Answered lets a function answer an agent's main conversation, by what a request
// holds: where several may ask, none takes the turn that was meant for another. It
// is called for one request at a time.
func (s *Server) Answered(name string, answer func(Request) Turn) {
	s.Script(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[name].answered = answer
}

// URL is the base URL for an agent that is to follow the script.
func (s *Server) URL(name string) string { return s.base + "/s/" + name }

// Requests lists what has arrived under URL(name), oldest first.
func (s *Server) Requests(name string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sc := s.scripts[name]; sc != nil {
		return append([]Request(nil), sc.requests...)
	}
	return nil
}

// next records a request and takes the turn that answers it.
func (s *Server) next(name string, r Request) Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.scripts[name]
	if sc == nil {
		sc = &script{}
		s.scripts[name] = sc
	}
	r.Side = r.Side && sc.service == nil
	sc.requests = append(sc.requests, r)
	s.answers++
	if sc.service != nil {
		return sc.answer(r, s.answers)
	}
	switch {
	case r.Side:
		return Turn{Text: "ok", serial: s.answers}
	case sc.answered != nil:
		t := sc.answered(r)
		t.serial = s.answers
		return t
	case len(sc.turns) == 0:
		return Turn{Text: "The script is over.", serial: s.answers}
	}
	t := sc.turns[0]
	t.serial = s.answers
	switch {
	case t.Repeat > 0:
		sc.turns[0].Repeat--
	case t.Repeat == 0:
		sc.turns = sc.turns[1:]
	}
	return t
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, "/s/")
	name, path, _ := strings.Cut(rest, "/")
	if !ok || name == "" {
		http.NotFound(w, r)
		return
	}
	switch {
	case r.Method == http.MethodHead || r.Method == http.MethodGet:
		w.WriteHeader(http.StatusOK)
	case path == "v1/responses":
		s.responses(w, r, name)
	case path == "v1/messages":
		s.messages(w, r, name)
	case path == "v1/chat/completions":
		s.chat(w, r, name)
	case path == "v1/embeddings":
		s.embeddings(w, r, name)
	case strings.HasPrefix(path, "v1beta/models/"):
		s.gemini(w, r, name, strings.TrimPrefix(path, "v1beta/models/"))
	case path == "v1/messages/count_tokens":
		writeJSON(w, http.StatusOK, map[string]int{"input_tokens": 100})
	default:
		http.NotFound(w, r)
	}
}

// pause waits d, and says whether the client is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
