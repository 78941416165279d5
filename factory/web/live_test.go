package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// stream is a page that listens.
type stream struct {
	t     *testing.T
	lines chan [2]string // event and data; closed with the stream
	id    string         // at which it began
	ready chan struct{}
}

func listen(t *testing.T, w *webtest.World, p *webtest.Person, lastID string, topics ...string) *stream {
	t.Helper()
	return listenTo(t, w, p, lastID, url.Values{"topic": topics})
}

func listenSince(t *testing.T, w *webtest.World, p *webtest.Person, since string, topics ...string) *stream {
	t.Helper()
	return listenTo(t, w, p, "", url.Values{"topic": topics, "since": {since}})
}

func listenTo(t *testing.T, w *webtest.World, p *webtest.Person, lastID string, query url.Values) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.HTTP.URL+"/live?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	res, err := p.Client.Do(r) //nolint:bodyclose // the reader below closes it
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 {
		res.Body.Close()
		t.Fatalf("listening: %d", res.StatusCode)
	}
	s := &stream{t: t, lines: make(chan [2]string, 1000), ready: make(chan struct{})}
	go func() {
		defer res.Body.Close()
		defer close(s.lines)
		var event, data string
		first := true
		for in := bufio.NewScanner(res.Body); in.Scan(); {
			name, value, _ := strings.Cut(in.Text(), ": ")
			switch {
			case name == "id" && first:
				s.id, first = value, false
				close(s.ready)
			case name == "event":
				event = value
			case name == "data":
				data = value
			case in.Text() == "" && event != "":
				s.lines <- [2]string{event, data}
				event = ""
			}
		}
	}()
	<-s.ready
	return s
}

// next is the next message of that event, others being left out.
func (s *stream) next(event string) string {
	s.t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case m, open := <-s.lines:
			if !open {
				s.t.Fatalf("the stream ended before %s", event)
			}
			if m[0] == event {
				return m[1]
			}
		case <-late:
			s.t.Fatalf("no %s came", event)
		}
	}
}

// moved is what a board's message says.
type moved struct {
	Issue  int64
	Column string
	From   string
	HTML   string
	Action string
}

func read(t *testing.T, data string) (m moved) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), &m); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return m
}

// Every page hears of every change, whoever made it and by whichever door.
func TestEveryPageHears(t *testing.T) {
	w := webtest.New(t)
	w.Issue("One", work.ColumnBacklog)
	w.Issue("Two", work.ColumnBacklog, func(i *work.Issue) { i.Needs = []int64{1} })
	owner := w.Owner()
	pages := []*stream{listen(t, w, owner, "", web.BoardTopic("demo")), listen(t, w, w.User("vera", web.RoleViewer, "demo"), "", web.BoardTopic("demo"))}
	p, _ := w.Site.Project(t.Context(), "demo")
	if _, err := p.Board.Move(t.Context(), 1, work.ColumnReady, factory.Place{At: factory.Bottom}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
		t.Fatal(err)
	}
	for n, page := range pages {
		m := read(t, page.next("board"))
		if m.Issue != 1 || m.Column != "ready" || m.From != "backlog" || !strings.Contains(m.HTML, "One") {
			t.Errorf("page %d heard %+v", n, m)
		}
	}
	if a := owner.Send("/p/demo/issues/1/move", url.Values{"column": {"done"}}); a.Status != 303 {
		t.Fatalf("%d: %s", a.Status, a.Body)
	}
	for n, page := range pages {
		if m := read(t, page.next("board")); m.Issue != 1 || m.Column != "done" {
			t.Errorf("page %d heard %+v", n, m)
		}
		// What needed it is not blocked any more, and its card says so.
		if m := read(t, page.next("board")); m.Issue != 2 || strings.Contains(m.HTML, "Blocked") {
			t.Errorf("page %d heard %+v of the one that was blocked", n, m)
		}
	}
	// What waits is heard of with the next thing that is written.
	desk := listen(t, w, owner, "", web.QuestionsTopic("demo"))
	w.Questions().Put(work.Checkpoint{ID: "cp1", Run: "r", Kind: "final", Question: "Go on?", Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now()})
	w.Issue("Three", work.ColumnBacklog)
	for got := ""; got != `{"waiting":1}`; {
		got = desk.next("desk")
	}
}

// Who was away hears what it missed; who was away for too long, or over a new
// start of the server, loads again.
func TestResume(t *testing.T) {
	w := webtest.New(t)
	owner := w.Owner()
	topic := web.BoardTopic("demo")
	one := listen(t, w, owner, "", topic)
	other := listen(t, w, owner, "", topic)
	id := one.id
	for n := range 3 {
		w.Issue(fmt.Sprint("Issue ", n), work.ColumnBacklog)
		other.next("board")
	}
	again := listen(t, w, owner, id, topic)
	for n := range int64(3) {
		if m := read(t, again.next("board")); m.Issue != n+1 {
			t.Errorf("missed message %d is of issue %d", n+1, m.Issue)
		}
	}
	listen(t, w, owner, "othertime-3", topic).next("reload")
	for range 9000 {
		w.Server.Hub().Publish(topic, "{}")
	}
	listen(t, w, owner, id, topic).next("reload")
}

// A stream shows nobody what they may not see, and ends when they may no more.
func TestStreamsOfOthers(t *testing.T) {
	w := webtest.New(t)
	w.AddProject("other")
	vera := w.User("vera", web.RoleViewer, "demo")
	for _, topic := range []string{"other/board", "other/run/x", "nothing/board", "demo", ""} {
		if a := vera.Get("/live?topic=" + url.QueryEscape(topic)); a.Status != 404 {
			t.Errorf("topic %q: %d", topic, a.Status)
		}
	}
	if a := vera.Get("/live?" + url.Values{"topic": make([]string, 65)}.Encode()); a.Status != 400 {
		t.Errorf("65 topics: %d", a.Status)
	}
	if a := w.Somebody().Get("/live?topic=demo/board"); a.Status != 401 {
		t.Errorf("nobody: %d", a.Status)
	}
	s := listen(t, w, vera, "", "demo/board")
	w.Server.Hub().Publish("other/board", `{"secret":1}`)
	w.Server.Hub().Publish("demo/board", `{"issue":0}`)
	if got := s.next("board"); got != `{"issue":0}` {
		t.Errorf("heard %s", got)
	}
	// The server's end is the stream's.
	w.Server.Close()
	for range s.lines {
	}
}

// Nobody looks: nothing is asked.
func TestNobodyListens(t *testing.T) {
	var late atomic.Int64 // seconds that the clock was put forward
	w := webtest.New(t, func(c *web.Config) {
		c.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load()) * time.Second) }
	})
	asked := &countingWatch{Watch: webtest.Watch{Store: w.Store}}
	w.Site.Change("demo", func(p *web.Project) { p.Watch = asked })
	time.Sleep(250 * time.Millisecond)
	if n := asked.count.Load(); n != 0 {
		t.Errorf("asked %d times while nobody listened", n)
	}
	owner := w.Owner()
	ctx, cancel := context.WithCancel(t.Context())
	r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.HTTP.URL+"/live?topic=demo/board", nil)
	res, err := owner.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	for asked.count.Load() == 0 {
		time.Sleep(5 * time.Millisecond)
	}
	cancel()
	res.Body.Close()
	late.Store(60)
	// It ends by itself: two looks in a row without a question in between.
	deadline := time.Now().Add(20 * time.Second)
	for was := int64(-1); was != asked.count.Load(); {
		if was = asked.count.Load(); time.Now().After(deadline) {
			t.Fatal("it is asked on and on")
		}
		time.Sleep(400 * time.Millisecond)
	}
}

// Between the making of a page and the beginning of its stream nothing is
// missed.
func TestNothingIsMissedBeforeTheStream(t *testing.T) {
	w := webtest.New(t)
	owner := w.Owner()
	body := owner.Get("/p/demo").Body
	_, rest, _ := strings.Cut(body, `hx-sse:connect="`)
	address, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("the page names no stream:\n%s", body)
	}
	w.Issue("In between", work.ColumnBacklog)
	time.Sleep(300 * time.Millisecond) // it was told of, and nobody heard
	query, err := url.ParseQuery(strings.TrimPrefix(strings.ReplaceAll(address, "&amp;", "&"), "/live?"))
	if err != nil {
		t.Fatal(err)
	}
	s := listenSince(t, w, owner, query.Get("since"), query["topic"]...)
	if m := read(t, s.next("board")); m.Issue != 1 {
		t.Errorf("heard %+v", m)
	}
}
