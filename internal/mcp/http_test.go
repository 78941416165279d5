package mcp

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"forge/factory/web"
	"forge/internal/token"
)

// site is some projects.
type site []web.Project

func (s site) Projects(context.Context) ([]web.Project, error) { return s, nil }

func (s site) Project(_ context.Context, id string) (web.Project, error) {
	for _, p := range s {
		if p.ID == id {
			return p, nil
		}
	}
	return web.Project{}, web.ErrNoProject
}

// served is two projects by HTTP behind the web server's own checks.
type served struct {
	*testing.T
	store token.Store
	url   string
	fakes map[string]*fake
}

func serve(t *testing.T) *served {
	t.Helper()
	s := &served{T: t, store: token.Store{Dir: t.TempDir(), Now: time.Now}, fakes: map[string]*fake{}}
	var all site
	for _, id := range []string{"a", "b"} {
		f, p := newFake(t, id)
		s.fakes[id] = f
		all = append(all, p)
	}
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	h, err := NewHandler(HandlerConfig{Site: all, Tokens: s.store, Record: func(Call) error { return nil }, Beat: 10 * time.Millisecond, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	keys, err := web.OpenKeys(t.TempDir(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := web.New(web.Config{Site: all, Keys: keys, Hosts: []string{"127.0.0.1"}, Now: time.Now, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	pages.HandleToken(Path, h.Who, h)
	server := httptest.NewServer(pages)
	s.url = server.URL + Path
	t.Cleanup(func() {
		h.Close()
		pages.Close()
		server.Close()
	})
	return s
}

func (s *served) token(g token.Grant) (text string, made token.Grant) {
	s.Helper()
	g.Name, g.By = "editor", "olga"
	text, made, err := s.store.New(g, time.Hour)
	if err != nil {
		s.Fatal(err)
	}
	return text, made
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (s *served) client(text string, updated chan string) (*client, error) {
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, req *sdk.ResourceUpdatedNotificationRequest) { updated <- req.Params.URI },
	}).Connect(s.Context(), &sdk.StreamableClientTransport{Endpoint: s.url, HTTPClient: &http.Client{Transport: bearer(text)}, MaxRetries: -1}, nil)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() { _ = session.Close() })
	return &client{TB: s.T, ClientSession: session}, nil
}

// By HTTP each token sees what it is for, hears of changes there, and ends at once
// when it is revoked.
func TestServedByHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t)
	text, made := s.token(token.Grant{Project: "/b", Run: "b-r1", Tier: token.Comment})
	updated := make(chan string, 10)
	c, err := s.client(text, updated)
	if err != nil {
		t.Fatal(err)
	}
	if said, refused := c.ask("status", nil); refused != "" || !strings.Contains(said, "mark:b/b-r1/1;") {
		t.Errorf("status: %q, refused %q", said, refused)
	}
	if said, refused := c.ask("status", map[string]any{"run": "a-r1"}); said != "" || !strings.Contains(refused, "no run a-r1 here") {
		t.Errorf("another project's run: %q, refused %q", said, refused)
	}
	if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "forge://runs/b-r1/events"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	c.ask("tell", map[string]any{"phase": "1", "text": "use tabs"})
	select {
	case <-updated:
	case <-time.After(30 * time.Second):
		t.Error("nobody heard of the message")
	}
	// Which of the two it is, is said at once.
	if said, refused := c.ask("tell", map[string]any{"phase": "1", "text": "use tabs"}); !strings.Contains(said, "with its next prompt, of iteration 2") {
		t.Errorf("a message: %q, refused %q", said, refused)
	}
	if said, refused := c.ask("tell", map[string]any{"phase": "1", "text": "while you work"}); !strings.Contains(said, "gets it while it works on iteration 2") {
		t.Errorf("a message midway: %q, refused %q", said, refused)
	}
	if err := s.store.Revoke(made.ID); err != nil {
		t.Fatal(err)
	}
	if said, refused := c.ask("status", nil); said != "" || refused == "" {
		t.Errorf("a revoked token reads %q", said)
	}
}

// send makes one request without the protocol's client.
func (s *served) send(text, session, origin, host string) int {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		s.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + text, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Session-Id": session, "Origin": origin, "Cookie": "forge=1",
	} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if host != "" {
		r.Host = host
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer a.Body.Close()
	return a.StatusCode
}

// Nobody comes in without a token, by another site or name, or on a session of
// another token.
func TestWhoDoesNotComeInByHTTP(t *testing.T) {
	t.Parallel()
	s := serve(t)
	mine, _ := s.token(token.Grant{Project: "/a", Tier: token.Answer})
	other, _ := s.token(token.Grant{Project: "/b", Tier: token.Read})
	c, err := s.client(mine, make(chan string, 1))
	if err != nil {
		t.Fatal(err)
	}
	id := c.ID()
	for name, one := range map[string]struct {
		token, session, origin, host string
		want                         int
	}{
		"the token of the session": {mine, id, "", "", 200},
		"another token":            {other, id, "", "", 403},
		"no token":                 {"", id, "", "", 401},
		"a token that is none":     {token.Prefix + "x", id, "", "", 401},
		"another site":             {mine, id, "https://evil.example", "", 403},
		"another name":             {mine, id, "", "evil.example", 403},
		"a session that is none":   {mine, "nope", "", "", 404},
	} {
		if got := s.send(one.token, one.session, one.origin, one.host); got != one.want {
			t.Errorf("%s: %d, want %d", name, got, one.want)
		}
	}
	last := 0
	for range 20 {
		last = s.send(token.Prefix+"guess", "", "", "")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the twentieth guess is answered with %d", last)
	}
}

// The sessions of a token are bounded.
func TestOneTokenHasNotManySessions(t *testing.T) {
	t.Parallel()
	s := serve(t)
	text, _ := s.token(token.Grant{Project: "/a", Tier: token.Read})
	opened := 0
	for ; opened <= mostSessions; opened++ {
		if _, err := s.client(text, make(chan string, 1)); err != nil {
			break
		}
	}
	// A client that asks for a newer protocol first has one more for a moment.
	if opened > mostSessions || opened < mostSessions-2 {
		t.Errorf("%d sessions are open", opened)
	}
}
