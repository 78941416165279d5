package api_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/api"
	"forge/internal/journal/journaltest"
	"forge/internal/work"
)

const host = "forge.test"

// world is a server over projects in memory.
type world struct {
	testing.TB
	site   *fakeSite
	web    *web.Server
	api    *api.API
	keys   *web.Keys
	tokens map[string]string // by "role" in project p
	now    time.Time
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{TB: t, tokens: map[string]string{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	now := func() time.Time { return w.now }
	w.site = &fakeSite{now: now}
	for _, id := range []string{"p", "other"} {
		w.site.add(t, id)
	}
	keys, err := web.OpenKeys(t.TempDir(), now)
	if err != nil {
		t.Fatal(err)
	}
	w.keys = keys
	for _, word := range web.Roles() {
		role, err := web.ParseRole(word)
		if err != nil {
			t.Fatal(err)
		}
		if w.tokens[word], err = keys.PutUser("the "+word, role, "p"); err != nil {
			t.Fatal(err)
		}
	}
	if w.tokens["everywhere"], err = keys.PutUser("of all", web.RoleViewer, web.AnyProject); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if w.web, err = web.New(web.Config{Site: w.site, Keys: keys, Hosts: []string{host}, Now: now, Log: log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.web.Close)
	if w.api, err = api.New(api.Config{Site: w.site, Door: w.web, Figures: w.web.Figures, Look: 5 * time.Millisecond, Beat: 20 * time.Millisecond, Now: now, Log: log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.api.Close)
	w.api.Register(w.web)
	return w
}

// reply is an answer of the server.
type reply struct {
	testing.TB
	what   string
	status int
	header http.Header
	body   string
}

// ask makes a request as somebody; headers are pairs.
func (w *world) ask(who, method, path, body string, headers ...string) reply {
	w.Helper()
	r := httptest.NewRequest(method, "http://"+host+path, strings.NewReader(body))
	r.RemoteAddr = "192.0.2.1:1234"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+w.tokens[who])
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	rec := httptest.NewRecorder()
	w.web.ServeHTTP(rec, r)
	return reply{w.TB, method + " " + path, rec.Code, rec.Header(), rec.Body.String()}
}

// v1 is ask below the API's prefix, as project p's operator unless who is given.
func (w *world) v1(method, path, body string, headers ...string) reply {
	w.Helper()
	return w.ask("admin", method, api.Prefix+path, body, headers...)
}

// is holds the status and, of a problem, its code.
func (r reply) is(status int, code string) reply {
	r.Helper()
	if r.status != status {
		r.Fatalf("%s: status %d, want %d: %s", r.what, r.status, status, r.body)
	}
	if code == "" {
		return r
	}
	var p api.Problem
	if err := json.Unmarshal([]byte(r.body), &p); err != nil || p.Code != code || p.Status != status {
		r.Fatalf("%s: problem %q, want %s (%v)", r.what, r.body, code, err)
	}
	if got := r.header.Get("Content-Type"); got != "application/problem+json" {
		r.Fatalf("%s: a problem as %q", r.what, got)
	}
	return r
}

func (r reply) has(parts ...string) reply {
	r.Helper()
	for _, p := range parts {
		if !strings.Contains(r.body, p) {
			r.Fatalf("%s: no %q in %s", r.what, p, r.body)
		}
	}
	return r
}

func decode[T any](r reply) T {
	r.Helper()
	var v T
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		r.Fatalf("%s: %v in %s", r.what, err, r.body)
	}
	return v
}

// fakeSite is projects in memory; boards are journaltest's.
type fakeSite struct {
	board journaltest.MemoryBoard
	now   func() time.Time
	list  []web.Project
	ports map[string]*fakePorts
}

func (s *fakeSite) add(t testing.TB, id string) {
	if err := s.board.PutProject(t.Context(), work.BoardProject{ID: id, Root: "/" + id, Created: s.now()}); err != nil {
		t.Fatal(err)
	}
	p := &fakePorts{now: s.now, board: factory.Board{Store: &s.board, Project: id, Now: s.now}, events: map[string][]work.Event{}, points: map[string]*work.Checkpoint{}}
	if s.ports == nil {
		s.ports = map[string]*fakePorts{}
	}
	s.ports[id] = p
	s.list = append(s.list, web.Project{ID: id, Root: "/" + id, Board: p.board, Cards: cards{&s.board}, Runs: p, Questions: p, Code: p, Jobs: p, Floor: p, Schedules: &nightly{}, Lessons: &school{}, Cockpit: cockpit{p}, Edits: edits{p}, Watch: &watch{s, id}})
}

func (s *fakeSite) Projects(context.Context) ([]web.Project, error) { return s.list, nil }

func (s *fakeSite) Project(_ context.Context, id string) (web.Project, error) {
	for _, p := range s.list {
		if p.ID == id {
			return p, nil
		}
	}
	return web.Project{}, web.ErrNoProject
}
