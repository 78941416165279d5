// Package webtest holds a web server over a real journal, for tests.
package webtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/internal/journal"
	"forge/internal/work"
)

// World is a server with one project, "demo", as people reach it.
type World struct {
	TB     testing.TB
	Server *web.Server
	Keys   *web.Keys
	Store  *journal.Store
	Site   *Site
	HTTP   *httptest.Server
	Log    *Log
}

// Log is what the server said.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Tail is the last of it.
func (l *Log) Tail() string {
	lines := strings.SplitAfter(l.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-30):], "")
}

// New makes the world; change may change how the server is made.
func New(tb testing.TB, change ...func(*web.Config)) *World {
	tb.Helper()
	store, err := journal.Open(context.Background(), tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	w := &World{TB: tb, Store: store, Site: &Site{}, Log: &Log{}}
	w.AddProject("demo")
	if w.Keys, err = web.OpenKeys(tb.TempDir(), time.Now); err != nil {
		tb.Fatal(err)
	}
	c := web.Config{
		Site: w.Site, Keys: w.Keys, Hosts: []string{"127.0.0.1", "localhost"}, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(w.Log, nil)), Version: "test",
	}
	for _, do := range change {
		do(&c)
	}
	if w.Server, err = web.New(c); err != nil {
		tb.Fatal(err)
	}
	w.HTTP = httptest.NewServer(w.Server)
	tb.Cleanup(func() {
		w.Server.Close()
		w.HTTP.Close()
	})
	return w
}

// AddProject adds a project whose board is in the journal.
func (w *World) AddProject(id string) web.Project {
	w.TB.Helper()
	p := work.BoardProject{ID: id, Root: "/checkouts/" + id, Created: time.Now()}
	if err := w.Store.PutProject(context.Background(), p); err != nil {
		w.TB.Fatal(err)
	}
	out := web.Project{
		ID: id, Root: p.Root, Board: factory.Board{Store: w.Store, Project: id, Now: time.Now},
		Cards: w.Store, Watch: Watch{w.Store}, Questions: &Questions{}, Floor: &Floor{}, Jobs: Jobs{},
	}
	w.Site.mu.Lock()
	defer w.Site.mu.Unlock()
	w.Site.list = append(w.Site.list, out)
	return out
}

// Issue adds an issue to the board of demo.
func (w *World) Issue(title string, column work.Column, change ...func(*work.Issue)) work.Issue {
	w.TB.Helper()
	p, _ := w.Site.Project(context.Background(), "demo")
	i := work.Issue{Title: title, Column: column, Priority: work.PriorityNormal}
	for _, do := range change {
		do(&i)
	}
	stored, err := p.Board.Add(context.Background(), i, factory.Place{At: factory.Bottom}, factory.By{Name: "tester", Door: "cli"})
	if err != nil {
		w.TB.Fatal(err)
	}
	return stored
}

// Column is the numbers of the issues in a column of demo, in their order.
func (w *World) Column(column work.Column) []int64 {
	w.TB.Helper()
	list, err := w.Store.Issues(context.Background(), work.IssueFilter{Project: "demo", Column: column}, 1000, "")
	if err != nil {
		w.TB.Fatal(err)
	}
	var out []int64
	for _, i := range list {
		out = append(out, i.ID)
	}
	return out
}

// Questions are the questions of demo.
func (w *World) Questions() *Questions { return w.questions("demo") }

func (w *World) questions(project string) *Questions {
	p, _ := w.Site.Project(context.Background(), project)
	return p.Questions.(*Questions)
}

// Person is somebody with a browser.
type Person struct {
	w      *World
	Client *http.Client
	Token  string // "" = came by a link
	kept   string // what a sign-in left in the browser's storage; "" = nothing
}

// Somebody is a person who has not signed in.
func (w *World) Somebody() *Person {
	jar, _ := cookiejar.New(nil) // never fails
	p := &Person{w: w}
	p.Client = &http.Client{Jar: jar, Transport: p, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p
}

// RoundTrip makes a request as the scripts of the pages do: what asks for a page
// carries what a sign-in left.
func (p *Person) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.kept != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead) && r.Header.Get("X-Forge-Token") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("X-Forge-Token", p.kept)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// Enters takes what a sign-in answered; false when it was refused.
func (p *Person) Enters(a Answer) bool {
	if m := tokenMeta.FindStringSubmatch(a.Body); m != nil && a.Status == http.StatusOK {
		p.kept = m[1]
		return true
	}
	return a.Status == http.StatusSeeOther
}

// Owner is signed in by a link.
func (w *World) Owner() *Person {
	w.TB.Helper()
	p := w.Somebody()
	if r := p.Get("/sign-in?link=" + url.QueryEscape(w.Keys.Link())); !p.Enters(r) {
		w.TB.Fatalf("the owner's link answers %d: %s", r.Status, r.Body)
	}
	return p
}

// User is signed in with a token of their own, with that role in project.
func (w *World) User(name string, role web.Role, project string) *Person {
	w.TB.Helper()
	token, err := w.Keys.PutUser(name, role, project)
	if err != nil {
		w.TB.Fatal(err)
	}
	p := w.Somebody()
	p.Token = token
	if r := p.Post("/sign-in", url.Values{"token": {token}}); !p.Enters(r) {
		w.TB.Fatalf("%s signs in: %d: %s", name, r.Status, r.Body)
	}
	return p
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Get asks for a page.
func (p *Person) Get(path string, header ...string) Answer {
	p.w.TB.Helper()
	return p.Do(http.MethodGet, path, "", header...)
}

// Post sends a form as it is.
func (p *Person) Post(path string, form url.Values, header ...string) Answer {
	p.w.TB.Helper()
	return p.Do(http.MethodPost, path, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

var tokenMeta = regexp.MustCompile(`<meta name="forge-token" content="([^"]+)">`)

// FormToken is what this person's forms carry.
func (p *Person) FormToken() string {
	p.w.TB.Helper()
	m := tokenMeta.FindStringSubmatch(p.Get("/").Body)
	if m == nil {
		p.w.TB.Fatal("the front page has no form token")
	}
	return m[1]
}

// Send sends a form with the token, as a page's form does.
func (p *Person) Send(path string, form url.Values, header ...string) Answer {
	p.w.TB.Helper()
	if form == nil {
		form = url.Values{}
	}
	form.Set("forge_token", p.FormToken())
	return p.Post(path, form, header...)
}

// Do makes a request; header is names and values. Host sets the host's name.
func (p *Person) Do(method, path, body string, header ...string) Answer {
	p.w.TB.Helper()
	r, err := http.NewRequest(method, p.w.HTTP.URL+path, strings.NewReader(body))
	if err != nil {
		p.w.TB.Fatal(err)
	}
	for n := 0; n+1 < len(header); n += 2 {
		if header[n] == "Host" {
			r.Host = header[n+1]
			continue
		}
		r.Header.Add(header[n], header[n+1])
	}
	res, err := p.Client.Do(r)
	if err != nil {
		p.w.TB.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		p.w.TB.Fatal(err)
	}
	return Answer{Status: res.StatusCode, Header: res.Header, Body: string(data)}
}

// JSON is the answer's body as v.
func (a Answer) JSON(tb testing.TB, v any) {
	tb.Helper()
	if err := json.Unmarshal([]byte(a.Body), v); err != nil {
		tb.Fatal(fmt.Errorf("%w: %s", err, a.Body))
	}
}

// Put stores an issue as only the machine may make it: in progress, failed, held.
func (w *World) Put(i work.Issue, change func(*work.Issue)) work.Issue {
	w.TB.Helper()
	now := i
	now.Labels, now.Needs, now.Hold = append([]string{}, i.Labels...), append([]int64{}, i.Needs...), append([]string{}, i.Hold...)
	change(&now)
	last, _, err := w.Store.RanksAround(context.Background(), "demo", now.Column, "")
	if err != nil {
		w.TB.Fatal(err)
	}
	rank, ok := factory.Between(last, "")
	if !ok {
		w.TB.Fatal("the column has no room")
	}
	now.Rank = rank
	stored, err := w.Store.ChangeBoard(context.Background(), work.BoardChange{Project: "demo", Issues: []work.IssueChange{{Issue: now, Low: last, Entry: work.IssueEntry{
		At: time.Now(), By: "factory", Door: "factory", Action: work.IssueMoved, Fields: factory.Changes(i, now),
	}}}})
	if err != nil {
		w.TB.Fatal(err)
	}
	return stored[0]
}

// Floor is the loop of demo.
func (w *World) Floor() *Floor {
	p, _ := w.Site.Project(context.Background(), "demo")
	return p.Floor.(*Floor)
}
