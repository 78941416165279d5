package web

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// mostTopics is how many topics one page may listen to.
	mostTopics = 64
	// beat is how often a silent stream says that it lives.
	beat = 20 * time.Second
	// slowest is how long one write to a page may take; a page that does not
	// read is let go, and loads again.
	slowest = 10 * time.Second
)

func (s *Server) liveRoutes() {
	s.mux.Handle("GET /live", s.need(RoleViewer, s.live))
}

// live is the address of the stream for the topics of a page; "" = none.
func (v *visit) live() string {
	topics := v.Live
	if v.Project.ID != "" && !slices.Contains(topics, QuestionsTopic(v.Project.ID)) {
		topics = append(slices.Clip(topics), QuestionsTopic(v.Project.ID))
	}
	if len(topics) == 0 {
		return ""
	}
	return "/live?" + url.Values{"topic": topics, "since": {v.server.hub.id(v.since)}}.Encode()
}

// live streams what happens to the topics asked for. A message is named after
// its topic's kind; "reload" says that some were lost. An id is good for the
// life of this process; after it a page reloads. since is the id that a page
// was made at: it hears of all that came after.
func (s *Server) live(v *visit) error {
	topics := v.URL.Query()["topic"]
	if len(topics) == 0 || len(topics) > mostTopics {
		return &Complaint{http.StatusBadRequest, fmt.Sprintf("A stream is of 1 to %d topics.", mostTopics), ""}
	}
	for _, t := range topics {
		project, rest, ok := strings.Cut(t, "/")
		if !ok || rest == "" || !v.Who.May(project, RoleViewer) {
			return ErrNoProject
		}
	}
	was := v.Header.Get("Last-Event-ID")
	if was == "" {
		was = v.URL.Query().Get("since")
	}
	after, resumed := s.hub.after(was)
	l, kept := s.hub.Listen(topics, after)
	defer l.Close()
	if err := s.feeds.follow(v.Context(), topics); err != nil {
		return err
	}
	out := http.NewResponseController(v.W)
	// The server's own limits are for answers that end.
	if err := out.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("stream: %w", err)
	}
	h := v.W.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	v.W.WriteHeader(http.StatusOK)
	send := func(texts ...[]byte) bool {
		if out.SetWriteDeadline(time.Now().Add(slowest)) != nil {
			return false
		}
		for _, text := range texts {
			if _, err := v.W.Write(text); err != nil {
				return false
			}
		}
		// Until the next one there is nothing to be slow with: by HTTP/2 a limit
		// that passes ends the stream, also where nobody writes.
		return out.Flush() == nil && out.SetWriteDeadline(time.Time{}) == nil
	}
	first := fmt.Sprintf(": hello\nid: %s\n\n", s.hub.id(l.heard()))
	if was != "" && (!resumed || !kept) {
		first += "event: reload\ndata: 1\n\n"
	}
	if !send([]byte(first)) {
		return nil
	}
	timer := time.NewTimer(beat)
	defer timer.Stop()
	for {
		timer.Reset(beat)
		texts, ok := s.nextTexts(v, l, timer)
		if !ok || !send(texts...) {
			return nil
		}
	}
}

// nextTexts is what is to be sent next; false = the stream ends.
func (s *Server) nextTexts(v *visit, l *Listener, timer *time.Timer) ([][]byte, bool) {
	for {
		select {
		case <-v.Context().Done():
			return nil, false
		case <-s.stop:
			return nil, false
		case <-timer.C:
			// Whoever may not look any more is not told any more.
			if _, err := s.identify(v.Request); err != nil {
				return nil, false
			}
			return [][]byte{[]byte(": beat\n\n")}, true
		case <-l.wake:
			texts, upTo, ok := l.read()
			if !ok {
				return [][]byte{[]byte("id: " + s.hub.id(upTo) + "\nevent: reload\ndata: 1\n\n")}, true
			}
			if len(texts) == 0 {
				continue
			}
			return texts, true
		}
	}
}

// id is a message's number as streams write it.
func (h *Hub) id(seq int64) string { return h.epoch + "-" + strconv.FormatInt(seq, 10) }

// after reads an id; false when it is none of this process.
func (h *Hub) after(id string) (int64, bool) {
	epoch, number, _ := strings.Cut(id, "-")
	seq, err := strconv.ParseInt(number, 10, 64)
	if epoch != h.epoch || err != nil || seq < 0 {
		return -1, false
	}
	return seq, true
}
