package slacktest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// socket is one connection in socket mode.
type socket struct {
	conn  net.Conn
	write sync.Mutex
}

func (k *socket) send(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return k.frame(ws.OpText, text)
}

func (k *socket) frame(op ws.OpCode, payload []byte) error {
	k.write.Lock()
	defer k.write.Unlock()
	_ = k.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	return wsutil.WriteServerMessage(k.conn, op, payload)
}

// envelope is something that a bot is to be told, until it says that it was.
type envelope struct {
	ID      string `json:"envelope_id"`
	Type    string `json:"type"`
	Payload any    `json:"payload"`
	Accepts bool   `json:"accepts_response_payload"`
	Retry   int    `json:"retry_attempt"`

	once bool // is not sent again where nobody says that it came
}

// link is where the address of apps.connections.open leads: it works once.
func (s *Server) link(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	ok := s.tickets[r.PathValue("ticket")]
	delete(s.tickets, r.PathValue("ticket"))
	s.mu.Unlock()
	if !ok {
		http.Error(w, "the address was used, or is none", http.StatusForbidden)
		return
	}
	conn, _, _, err := ws.UpgradeHTTP(r, w)
	if err != nil {
		return
	}
	k := &socket{conn: conn}
	defer s.gone(k)
	s.mu.Lock()
	s.sockets = append(s.sockets, k)
	s.connected++
	n, late := len(s.sockets), s.waiting
	silent := s.silent
	s.happened()
	s.mu.Unlock()
	if silent {
		_, _ = conn.Read(make([]byte, 1))
		return
	}
	if k.send(map[string]any{"type": "hello", "num_connections": n, "connection_info": map[string]any{"app_id": "A0"}, "debug_info": map[string]any{"host": "test"}}) != nil {
		return
	}
	for _, e := range late {
		e.Retry++
		if k.send(e) != nil {
			return
		}
	}
	s.read(k)
}

// read takes what the bot says until the connection ends.
func (s *Server) read(k *socket) {
	for {
		text, op, err := wsutil.ReadClientData(k.conn)
		if err != nil {
			return
		}
		var a struct {
			ID      string          `json:"envelope_id"`
			Payload json.RawMessage `json:"payload"`
		}
		if op != ws.OpText || json.Unmarshal(text, &a) != nil || a.ID == "" {
			continue
		}
		s.mu.Lock()
		s.acked[a.ID] = a.Payload
		s.waiting = slices.DeleteFunc(s.waiting, func(e *envelope) bool { return e.ID == a.ID })
		s.happened()
		s.mu.Unlock()
	}
}

func (s *Server) gone(k *socket) {
	_ = k.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets = slices.DeleteFunc(s.sockets, func(o *socket) bool { return o == k })
	s.happened()
}

// Connected is how many connections there are, and Connections how many there were.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sockets)
}

// Connections is how many connections there were in all.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected
}

// Drop cuts every connection off.
func (s *Server) Drop() {
	for _, k := range s.all() {
		_ = k.conn.Close()
	}
}

// Refresh asks bots to connect anew, as Slack does every few hours.
func (s *Server) Refresh(reason string) {
	for _, k := range s.all() {
		_ = k.send(map[string]any{"type": "disconnect", "reason": reason, "debug_info": map[string]any{"host": "test"}})
	}
}

// Silent lets connections that are made from now on say nothing at all.
func (s *Server) Silent(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = yes
}

// Ping sends a ping to every connection.
func (s *Server) Ping() {
	for _, k := range s.all() {
		_ = k.frame(ws.OpPing, []byte("Ping from test"))
	}
}

// Raw sends words that no program may trip over.
func (s *Server) Raw(words string) {
	for _, k := range s.all() {
		_ = k.frame(ws.OpText, []byte(words))
	}
}

func (s *Server) all() []*socket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sockets)
}

// deliver sends an envelope to one of the connections, and again to the next one
// where nobody says that it came.
func (s *Server) deliver(kind string, accepts, once bool, payload any) string {
	s.mu.Lock()
	e := &envelope{ID: fmt.Sprintf("e-%d", s.next()), Type: kind, Payload: payload, Accepts: accepts, once: once}
	if !once {
		s.waiting = append(s.waiting, e)
	}
	var k *socket
	if len(s.sockets) > 0 {
		k = s.sockets[s.count%len(s.sockets)]
	}
	s.mu.Unlock()
	if k != nil {
		_ = k.send(e)
	}
	return e.ID
}

// Acked is what was said to an envelope; ok is false where nothing was.
func (s *Server) Acked(id string) (payload json.RawMessage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	payload, ok = s.acked[id]
	return payload, ok
}
