// Package slacktest is a Slack of Forge's own, for tests: the parts of its Web API
// and of socket mode that a bot needs, with Slack's limits, which misbehaves on
// demand. People in it press buttons, write in threads and fill in forms.
package slacktest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// What there is in every new Slack.
const (
	Channel  = "C0FORGE"
	BotUser  = "U0BOT"
	BotID    = "B0BOT"
	AppToken = "xapp-1-test-token"
	BotToken = "xoxb-1-test-token"
)

// Server is a workspace with one channel and one app.
type Server struct {
	URL string // of the Web API

	http *httptest.Server

	mu        sync.Mutex
	scopes    []string
	messages  []*Message
	whispers  []Whisper
	views     map[string]*View // open forms, by id
	triggers  map[string]string
	faults    []Fault
	calls     map[string]int
	bad       []string // calls that Slack would have refused for their form
	count     int      // of everything that gets a number
	sockets   []*socket
	tickets   map[string]bool
	waiting   []*envelope // that no socket took yet
	acked     map[string]json.RawMessage
	changed   chan struct{} // closed and made anew whenever anything happened
	sequence  int
	silent    bool
	connected int
}

// Message is one that stands in the channel.
type Message struct {
	TS       string
	Thread   string // ts of the message that it stands below, "" = none
	User     string
	Text     string
	Blocks   json.RawMessage
	Edited   int
	Whole    map[string]string // all that was said of it when it was posted
	isForges bool
}

// Whisper is a message that one person alone sees.
type Whisper struct{ User, Thread, Text string }

// View is a form that is open before a person.
type View struct {
	ID, User string
	View     json.RawMessage
}

// Fault makes calls go wrong.
type Fault struct {
	Method string // of the Web API, "" = any
	Times  int
	Status int    // answer with this status, with Retry-After where it is 429
	After  int    // seconds of Retry-After
	Error  string // answer {"ok":false,"error":Error}
	// Lost carries the call out and cuts the connection instead of answering.
	Lost bool
	// Held carries the call out and answers nothing until whoever asked is gone.
	Held bool
	// When is of which calls it is, nil = of all: what a message would say.
	When func(text string) bool
}

// Start begins a new workspace. Close it when done.
func Start() *Server {
	s := &Server{
		scopes: []string{"chat:write", "channels:history"}, views: map[string]*View{}, triggers: map[string]string{},
		calls: map[string]int{}, tickets: map[string]bool{}, acked: map[string]json.RawMessage{}, changed: make(chan struct{}), sequence: 1000,
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/{method}", s.call)
	mux.HandleFunc("/link/{ticket}", s.link)
	s.http = httptest.NewServer(mux)
	s.URL = s.http.URL + "/api"
	return s
}

// Close ends it, with all sockets.
func (s *Server) Close() {
	s.Drop()
	s.http.CloseClientConnections()
	s.http.Close()
}

// SetScopes are what the bot's token may do from now on.
func (s *Server) SetScopes(scopes ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scopes = scopes
}

// Fail makes calls go wrong, after those that were to before.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f)
}

// Calls is how often a method was called, whatever became of it.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Bad are the calls that Slack would have refused for their form.
func (s *Server) Bad() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.bad)
}

// Messages are what stands in the channel, the oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages {
		out = append(out, *m)
	}
	return out
}

// Whispers are what single people were told.
func (s *Server) Whispers() []Whisper {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.whispers)
}

// Views are the forms that are open.
func (s *Server) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []View
	for _, v := range s.views {
		out = append(out, *v)
	}
	return out
}

// Wait returns when something is so, or false when patience is over.
func (s *Server) Wait(patience time.Duration, so func() bool) bool {
	over := time.After(patience)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if so() {
			return true
		}
		select {
		case <-changed:
		case <-time.After(20 * time.Millisecond): // what it asks for may be elsewhere
		case <-over:
			return so()
		}
	}
}

// happened wakes who waits. Call it with the lock held.
func (s *Server) happened() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// next is a new number. Call it with the lock held.
func (s *Server) next() int {
	s.count++
	return s.count
}

// stamp is a new message's ts. Call it with the lock held.
func (s *Server) stamp() string {
	s.sequence++
	return fmt.Sprintf("%d.%06d", time.Now().Unix(), s.sequence)
}

// fault is what is to go wrong with a call. Call it with the lock held.
func (s *Server) fault(method, says string) (Fault, bool) {
	for i, f := range s.faults {
		if f.Method != "" && f.Method != method || f.When != nil && !f.When(says) {
			continue
		}
		if s.faults[i].Times--; s.faults[i].Times <= 0 {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return f, true
	}
	return Fault{}, false
}

// message is the one with that ts. Call it with the lock held.
func (s *Server) message(ts string) *Message {
	for _, m := range s.messages {
		if m.TS == ts {
			return m
		}
	}
	return nil
}

// Remove takes a message away, as a person may.
func (s *Server) Remove(ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m *Message) bool { return m.TS == ts })
	s.happened()
}

// Shows is all that a message says, blocks and text, for a test to look into.
func (m Message) Shows() string {
	return m.Text + "\n" + strings.ReplaceAll(string(m.Blocks), `\n`, "\n")
}
