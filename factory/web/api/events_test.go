package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/work"
)

// heard is one event of a stream.
type heard struct{ kind, data, id string }

// listen opens a stream as who, and closes it when the test ends or stop is
// called.
func (w *world) listen(who, query, last string) (next func() heard, stop func()) {
	w.Helper()
	server := httptest.NewServer(w.web)
	ctx, cancel := context.WithTimeout(w.Context(), 20*time.Second)
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/v1/events?"+query, nil)
	if err != nil {
		w.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Authorization", "Bearer "+w.tokens[who])
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	resp, err := server.Client().Do(r)
	if err != nil {
		w.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		w.Fatalf("stream: %d %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	stop = func() {
		cancel()
		_ = resp.Body.Close()
		server.Close()
	}
	w.Cleanup(stop)
	lines := bufio.NewScanner(resp.Body)
	return func() heard {
		w.Helper()
		var h heard
		for lines.Scan() {
			key, value, _ := strings.Cut(lines.Text(), ": ")
			switch key {
			case "event":
				h.kind = value
			case "data":
				h.data = value
			case "id":
				h.id = value
			case "":
				if h != (heard{}) {
					return h
				}
			}
		}
		w.Fatalf("the stream ended: %v", lines.Err())
		return h
	}, stop
}

// TestEventsResume: whoever is cut off and comes again with the last id hears
// everything that came since, and nothing again.
func TestEventsResume(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	ports.addRun("old", false)
	for range 1200 {
		ports.append("old", w.now.Add(-time.Minute), work.PhaseStarted)
	}
	w.v1("POST", "/projects/p/issues", `{"title":"before"}`).is(200, "")

	next, stop := w.listen("viewer", "project=p", "")
	next() // the place where it begins
	w.v1("POST", "/projects/p/issues", `{"title":"one\nhalf"}`).is(422, "")
	w.v1("POST", "/projects/p/issues", `{"title":"one"}`).is(200, "")
	h := next()
	if h.kind != "issue" || !strings.Contains(h.data, `"action":"added"`) || !strings.Contains(h.data, `"issue":2`) {
		t.Fatalf("heard %+v", h)
	}
	id := h.id
	stop()

	w.v1("POST", "/projects/p/issues/2/move", `{"column":"ready"}`).is(200, "")
	ports.append("old", w.now.Add(time.Second), work.RunResumed)
	ports.addRun("new", false)
	ports.append("new", w.now.Add(time.Second), work.RunStarted)
	ports.append("new", w.now.Add(2*time.Second), work.PhaseStarted)
	if _, err := w.site.ports["other"].board.Add(t.Context(), work.Issue{Title: "hidden", Priority: "low", Column: "ready"}, factory.Place{At: factory.Bottom}, factory.By{Name: "tester", Door: "cli"}); err != nil {
		t.Fatal(err)
	}
	next, stop = w.listen("viewer", "", id)
	next()
	var got []string
	for range 4 {
		h := next()
		got = append(got, short(t, h))
		if h.id != "" {
			id = h.id
		}
	}
	slices.Sort(got)
	if want := []string{"issue moved 2", "run new 1 run.started", "run new 2 phase.started", "run old 1201 run.resumed"}; !slices.Equal(got, want) {
		t.Fatalf("heard %q, want %q", got, want)
	}
	stop()
	ports.append("new", w.now.Add(3*time.Second), work.RunFinished)
	next, _ = w.listen("viewer", "project=p", id)
	next()
	if got := short(t, next()); got != "run new 3 run.finished" {
		t.Fatalf("heard %q", got)
	}
}

func TestEventsOfOneRun(t *testing.T) {
	w := newWorld(t)
	ports := w.site.ports["p"]
	for _, run := range []string{"a", "b"} {
		ports.addRun(run, false)
		for range 3 {
			ports.append(run, w.now, work.PhaseStarted)
		}
	}
	next, _ := w.listen("viewer", "project=p&run=b&from=start", "")
	next()
	for n := range 3 {
		if got, want := short(t, next()), fmt.Sprintf("run b %d phase.started", n+1); got != want {
			t.Fatalf("heard %q, want %q", got, want)
		}
	}
	for query, code := range map[string]string{"run=b": "invalid", "project=nope": "unknown_project", "project=other": "unknown_project", "project=p&run=c": "unknown_run"} {
		if got := w.v1("GET", "/events?"+query, ""); !strings.Contains(got.body, code) {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	for _, last := range []string{"x", "!", strings.Repeat("A", 70_000), "eyJ4IjoxfQ"} {
		w.v1("GET", "/events", "", "Last-Event-ID", last).is(422, "invalid")
	}
}

// A server that ends closes its streams, and lets no new ones begin.
func TestEventsEndWithTheServer(t *testing.T) {
	w := newWorld(t)
	next, _ := w.listen("viewer", "", "")
	next()
	w.api.Close()
	w.v1("GET", "/events", "").is(429, "too_many_requests")
}

func short(t *testing.T, h heard) string {
	t.Helper()
	var v struct {
		Project string
		Entry   *work.IssueEntry
		Event   work.Event
	}
	if err := json.Unmarshal([]byte(h.data), &v); err != nil || v.Project != "p" {
		t.Fatalf("%+v: %v", h, err)
	}
	if v.Entry != nil {
		return fmt.Sprintf("%s %s %d", h.kind, v.Entry.Action, v.Entry.Issue)
	}
	return fmt.Sprintf("%s %s %d %s", h.kind, v.Event.Run, v.Event.Seq, v.Event.Kind)
}

// TestAStreamEndsWithItsReader: whoever may not look any more is not told any
// more.
func TestAStreamEndsWithItsReader(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.web)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/v1/events?project=p", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	r.Header.Set("Authorization", "Bearer "+w.tokens["viewer"])
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := w.keys.RemoveUser("the viewer", web.AnyProject); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("the stream goes on: %v", err)
	}
}
