package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/factory/web/webtest"
	"forge/internal/work"
)

// What only who is signed in may read, and the question that only they may
// answer.
const (
	keptTitle    = "Move the money over night"
	keptQuestion = "May the plan of the money begin?"
)

// withSomethingToTake puts an issue and a question into the world.
func withSomethingToTake(w *webtest.World) {
	w.Issue(keptTitle, work.ColumnReady)
	w.Questions().Put(work.Checkpoint{ID: "cp1", Run: "r1", Kind: "final", Question: keptQuestion, Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now()})
}

// isUnanswered fails when somebody answered the question or moved the issue.
func isUnanswered(t *testing.T, w *webtest.World) {
	t.Helper()
	if j, err := w.Questions().Judged(t.Context(), "cp1"); err != nil || j.Checkpoint.Status != work.CheckpointPending {
		t.Errorf("the question is %s, answered by %q (%v)", j.Checkpoint.Status, j.Checkpoint.AnsweredBy, err)
	}
	if got := w.Column(work.ColumnReady); len(got) != 1 {
		t.Errorf("ready holds %v: something was moved", got)
	}
}

// thief is a server on another port of the same machine, which tries all it can
// with the cookies that a browser brings it.
type thief struct {
	forge  string // address of Forge's server, without http://
	client *http.Client

	mu    sync.Mutex
	saw   []string // Cookie headers that browsers sent
	taken []string // what it could read or find out
}

func newThief(w *webtest.World) *thief {
	return &thief{
		forge:  strings.TrimPrefix(w.HTTP.URL, "http://"),
		client: &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// anyToken is whatever might be a token of Forge's pages.
var anyToken = regexp.MustCompile(`(?:content|value)="([A-Za-z0-9_-]{43})"`)

// attack tries everything with a cookie, under every name of the server.
func (th *thief) attack(cookie string, names ...string) {
	_, port, _ := strings.Cut(th.forge, ":")
	for _, name := range names {
		host := name + ":" + port
		tokens := []string{"", "x", cookie}
		if _, value, ok := strings.Cut(cookie, "="); ok {
			tokens = append(tokens, value)
		}
		for _, headers := range th.disguises(host, tokens) {
			tokens = append(tokens, th.read(host, cookie, headers)...)
		}
		// Pages that refuse may say more than they mean to.
		for _, path := range []string{"/p/demo/checkpoints/cp1/answer", "/p/demo/issues/1/move", "/sign-out", "/sign-in", "/theme", "/nothing"} {
			tokens = append(tokens, th.found(th.send("POST", host, path, cookie, nil, url.Values{"forge_token": {"x"}}))...)
		}
		slices.Sort(tokens)
		for _, token := range slices.Compact(tokens) {
			headers := map[string]string{"X-Forge-Token": token, "Origin": "http://" + host, "Sec-Fetch-Site": "same-origin"}
			th.read(host, cookie, headers)
			th.send("POST", host, "/p/demo/checkpoints/cp1/answer", cookie, headers, url.Values{"revision": {"1"}, "answer": {"approved"}, "forge_token": {token}})
			th.send("POST", host, "/p/demo/issues/1/move", cookie, headers, url.Values{"column": {"backlog"}, "forge_token": {token}})
			th.send("POST", host, "/sign-in", cookie, nil, url.Values{"token": {token}})
		}
	}
}

// disguises are headers by which it may pass for a page of Forge's own.
func (th *thief) disguises(host string, tokens []string) []map[string]string {
	out := []map[string]string{
		{}, {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
		{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
		{"HX-Request": "true"}, {"Accept": "application/json"}, {"Accept": "text/event-stream"}, {"Origin": "http://" + host, "Referer": "http://" + host + "/p/demo"},
		{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-Host": host, "X-Forwarded-Proto": "https"},
	}
	for _, token := range tokens {
		out = append(out, map[string]string{"X-Forge-Token": token}, map[string]string{"Authorization": "Bearer " + token})
	}
	return out
}

// read asks for what a signed-in person may read, and returns the tokens that
// it found there.
func (th *thief) read(host, cookie string, headers map[string]string) (tokens []string) {
	for _, path := range []string{
		"/", "/inbox", "/inbox/count", "/p/demo", "/p/demo/columns", "/p/demo/columns/ready", "/p/demo/issues/1", "/p/demo/issues/1/edit", "/p/demo/issues/new",
		"/p/demo/floor", "/p/demo/runs", "/p/demo/jobs/new", "/p/nothing", "/sign-in", "/sign-in?link=x", "/nothing",
	} {
		tokens = append(tokens, th.found(th.send("GET", host, path, cookie, headers, nil))...)
		th.send("HEAD", host, path, cookie, headers, nil)
	}
	return tokens
}

// found is what may be tokens in a text.
func (th *thief) found(text string) (tokens []string) {
	for _, m := range anyToken.FindAllStringSubmatch(text, -1) {
		tokens = append(tokens, m[1])
		th.take("a token: " + m[0])
	}
	return tokens
}

// send makes a request and keeps what it should not have been told.
func (th *thief) send(method, host, path, cookie string, headers map[string]string, form url.Values) string {
	r, err := http.NewRequest(method, "http://"+th.forge+path, strings.NewReader(form.Encode()))
	if err != nil {
		return ""
	}
	r.Host = host
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	res, err := th.client.Do(r)
	if err != nil {
		return ""
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	text := string(data)
	for _, kept := range []string{keptTitle, keptQuestion, "/p/demo/issues", ">owner<"} {
		if strings.Contains(text, kept) && !strings.Contains(path, kept) {
			th.take(method + " " + host + path + " tells " + kept)
		}
	}
	// Everything but the two pages that are for anybody, and what they send to.
	signInFirst := res.StatusCode == http.StatusNoContent && res.Header.Get("HX-Redirect") == "/sign-in"
	if res.StatusCode < 400 && !signInFirst && !strings.HasPrefix(path, "/sign-in") && path != "/theme" {
		th.take(method + " " + host + path + " answers " + res.Status)
	}
	if cookie := res.Header.Get("Set-Cookie"); cookie != "" && path != "/theme" {
		th.take(method + " " + host + path + " sets " + cookie)
	}
	return text
}

// see keeps a cookie, and says whether it is new: what has been tried with one
// fails again.
func (th *thief) see(cookie string) bool {
	th.mu.Lock()
	defer th.mu.Unlock()
	if slices.Contains(th.saw, cookie) {
		return false
	}
	th.saw = append(th.saw, cookie)
	return true
}

func (th *thief) take(what string) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.taken = append(th.taken, what)
}

// hold fails when the thief got anything.
func (th *thief) hold(t *testing.T) {
	t.Helper()
	th.mu.Lock()
	defer th.mu.Unlock()
	if len(th.taken) > 0 {
		t.Errorf("the thief got %d things, of which:\n%s", len(th.taken), strings.Join(th.taken[:min(len(th.taken), 12)], "\n"))
	}
}

// serve is the thief's page: what it asks of the browser is in script.
func (th *thief) serve(t *testing.T, script string, names ...string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cookie := r.Header.Get("Cookie"); cookie != "" && th.see(cookie) {
			th.attack(cookie, names...)
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>Preview</title><main>Look at my work</main><script>"+script+"</script>")
	}))
	t.Cleanup(s.Close)
	return s
}
