package web

import (
	"slices"
	"strings"
	"sync"
)

// What people hear of. A topic is of one project, so that a page hears only of
// what its reader may see.

// BoardTopic is the issues of a project.
func BoardTopic(project string) string { return project + "/board" }

// QuestionsTopic is what waits for a person in a project.
func QuestionsTopic(project string) string { return project + "/desk" }

// FloorTopic is how the loop that works on a project's board stands.
func FloorTopic(project string) string { return project + "/floor" }

// RunTopic is one run or job of a project.
func RunTopic(project, run string) string { return project + "/run/" + run }

// TalkTopic is the conversation about a run, or with "" about the project.
func TalkTopic(project, run string) string { return project + "/talk/" + run }

// topicEvent is the name under which a page hears of a topic: board, desk, floor, run, talk.
func topicEvent(topic string) string {
	parts := strings.SplitN(topic, "/", 3)
	if len(parts) < 2 {
		return topic
	}
	return parts[1]
}

const (
	// hubMessages and hubBytes bound what is kept for those who are behind.
	// Who is further behind loads the page again.
	hubMessages = 1 << 13
	hubBytes    = 16 << 20
)

// Message is one change, as pages hear of it.
type Message struct {
	Topic string
	Data  string // one line
	seq   int64
	text  []byte // as streams write it, made once for all; nobody changes it
}

// Hub tells open pages of changes. Nothing is kept per listener: all read from
// one bounded list, each from its own place, so a slow one costs nothing and
// blocks nobody. Its methods may be called by many at once.
type Hub struct {
	epoch string // tells the numbers of this process from others'

	mu        sync.RWMutex
	list      []Message // seq first, first+1, …
	first     int64
	bytes     int
	listeners map[string]map[*Listener]bool // by topic
}

// NewHub makes a hub that nobody listens to.
func NewHub() *Hub {
	return &Hub{epoch: hashed(secret())[:12], first: 1, listeners: map[string]map[*Listener]bool{}}
}

// Publish tells everybody who listens to topic. data is one line, by which a
// page knows what to load; it may be empty.
func (h *Hub) Publish(topic, data string) {
	if strings.ContainsAny(data, "\r\n") {
		data = ""
	}
	h.keep(topic, data)
	// Not within keep: who is woken reads at once, and would wait for the rest
	// to be woken.
	h.mu.RLock()
	defer h.mu.RUnlock()
	for l := range h.listeners[topic] {
		select {
		case l.wake <- struct{}{}:
		default: // it knows already
		}
	}
}

// keep adds a message to the list, and drops what is too old.
func (h *Hub) keep(topic, data string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m := Message{Topic: topic, Data: data, seq: h.first + int64(len(h.list))}
	m.text = []byte("id: " + h.id(m.seq) + "\nevent: " + topicEvent(topic) + "\ndata: " + data + "\n\n")
	h.list = append(h.list, m)
	h.bytes += len(m.text)
	drop := 0
	for len(h.list)-drop > hubMessages || h.bytes > hubBytes {
		h.bytes -= len(h.list[drop].text)
		drop++
	}
	if drop > 0 {
		h.list, h.first = h.list[drop:], h.first+int64(drop)
	}
}

// told is the number of the last message.
func (h *Hub) told() int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.first + int64(len(h.list)) - 1
}

// Listener is one open page. One goroutine at a time reads.
type Listener struct {
	hub    *Hub
	topics []string
	next   int64
	texts  [][]byte      // of the last read, to be used again
	wake   chan struct{} // holds one while there may be something to read
}

// Listen begins to listen to topics. after is the number of the last message
// that was heard, -1 = whatever comes from now on; ok is false when what came
// after it is not kept any more. The caller closes the listener.
func (h *Hub) Listen(topics []string, after int64) (l *Listener, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end := h.first + int64(len(h.list))
	l = &Listener{hub: h, topics: topics, next: end, wake: make(chan struct{}, 1)}
	ok = true
	if after >= 0 {
		ok = after+1 >= h.first && after < end
		if ok {
			l.next = after + 1
			l.wake <- struct{}{}
		}
	}
	for _, t := range topics {
		if h.listeners[t] == nil {
			h.listeners[t] = map[*Listener]bool{}
		}
		h.listeners[t][l] = true
	}
	return l, ok
}

// Close ends the listening.
func (l *Listener) Close() {
	l.hub.mu.Lock()
	defer l.hub.mu.Unlock()
	for _, t := range l.topics {
		delete(l.hub.listeners[t], l)
		if len(l.hub.listeners[t]) == 0 {
			delete(l.hub.listeners, t)
		}
	}
}

// heard is the number up to which everything was heard.
func (l *Listener) heard() int64 { return l.next - 1 }

// read takes all messages that there are, in order, as streams write them, with
// the number up to which everything was heard. ok is false when some were
// dropped before this listener came for them. The texts are good until the next
// read.
func (l *Listener) read() (texts [][]byte, upTo int64, ok bool) {
	l.hub.mu.RLock()
	defer l.hub.mu.RUnlock()
	clear(l.texts)
	texts = l.texts[:0]
	end := l.hub.first + int64(len(l.hub.list))
	if l.next < l.hub.first {
		l.next = end
		return nil, end - 1, false
	}
	list := l.hub.list[l.next-l.hub.first:]
	for n := range list {
		if slices.Contains(l.topics, list[n].Topic) {
			texts = append(texts, list[n].text)
		}
	}
	l.next, l.texts = end, texts
	return texts, end - 1, true
}

// topics are those that somebody listens to and that begin so.
func (h *Hub) topics(begin string) []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var out []string
	for t := range h.listeners {
		if strings.HasPrefix(t, begin) {
			out = append(out, t)
		}
	}
	return out
}

// listens says whether anybody listens to a project.
func (h *Hub) listens(project string) bool { return len(h.topics(project+"/")) > 0 }
