//go:build real

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/cmd/forge-temporal/internal/postgres/pgtest"
	"forge/internal/journal"
	"forge/internal/pace"
)

// polls are the requests of a tracker without issues, by whose token they had.
type polls struct {
	mu   sync.Mutex
	seen map[string]int
}

func (p *polls) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/issues") {
		p.mu.Lock()
		p.seen[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]++
		p.mu.Unlock()
	}
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/user" {
		_, _ = io.WriteString(w, `{"login":"bot","id":1}`)
		return
	}
	_, _ = io.WriteString(w, `[]`)
}

func (p *polls) by(who string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[who]
}

// factoryServer is one of several servers.
type factoryServer struct {
	*station
	name, url, log string
	cmd            *exec.Cmd
	over           chan struct{}
}

var pagesAt = regexp.MustCompile(`the pages are at (http://\S+)`)

// factory starts a server that has a state folder of its own.
func (m *station) factory(name string) *factoryServer {
	m.Helper()
	dir := m.TempDir()
	f := &factoryServer{station: m.with("FORGE_STATE_DIR="+filepath.Join(dir, "state"), "GITHUB_TOKEN="+name), name: name, log: filepath.Join(dir, "log"), over: make(chan struct{})}
	out, err := os.Create(f.log)
	if err != nil {
		m.Fatal(err)
	}
	defer out.Close()
	f.cmd, _ = f.command("factory", "--listen", "127.0.0.1:0")
	f.cmd.Stdout, f.cmd.Stderr = out, out
	if err := f.cmd.Start(); err != nil {
		m.Fatal(err)
	}
	go func() {
		defer close(f.over)
		_ = f.cmd.Wait()
	}()
	m.Cleanup(func() {
		f.kill()
		if m.Failed() {
			m.Logf("server %s:\n%s", name, f.said())
		}
	})
	f.until("it serves its pages", func() bool {
		if at := pagesAt.FindStringSubmatch(f.said()); at != nil {
			f.url = at[1]
		}
		return f.url != ""
	})
	return f
}

func (f *factoryServer) kill() {
	_ = f.cmd.Process.Kill()
	<-f.over
}

func (f *factoryServer) said() string {
	text, _ := os.ReadFile(f.log)
	return string(text)
}

// until waits for something, for as long as the server lives.
func (f *factoryServer) until(what string, is func() bool) time.Duration {
	f.Helper()
	began := time.Now()
	for !is() {
		select {
		case <-f.over:
			f.Fatalf("waiting until %s: server %s has ended:\n%s", what, f.name, f.said())
		case <-time.After(50 * time.Millisecond):
		}
		if time.Since(began) > 2*time.Minute {
			f.Fatalf("it does not come about that %s", what)
		}
	}
	return time.Since(began)
}

// get asks the server as the browser with that session, and the word that its pages
// know, or as the program with that token.
func (f *factoryServer) get(ctx context.Context, path, cookie, token, last string) *http.Response {
	f.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.url+path, nil)
	if err != nil {
		f.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if session, word, ok := strings.Cut(cookie, " "); ok {
		r.AddCookie(&http.Cookie{Name: "forge_session_" + r.URL.Port(), Value: session})
		r.Header.Set("X-Forge-Token", word)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		f.Fatal(err)
	}
	return a
}

// hears reads a stream of events until a line has want, and returns the last id.
func (f *factoryServer) hears(path, token, last, want string) string {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), time.Minute)
	defer cancel()
	a := f.get(ctx, path, "", token, last)
	defer a.Body.Close()
	found := false
	for lines := bufio.NewScanner(a.Body); lines.Scan(); {
		line := lines.Text()
		if id, is := strings.CutPrefix(line, "id: "); is {
			last = id
		}
		found = found || strings.Contains(line, want)
		if found && line == "" {
			return last
		}
	}
	f.Fatalf("%s %s: %q is not heard (%s)", f.name, path, want, a.Status)
	return ""
}

const factorySettings = settings + `[factory]
default_policy = "full"
max_running = 4
triage = "off"
[[factory.schedules]]
name = "hourly"
cron = "%s"
title = "tidy"
column = "ready"
`

// Two servers over one database, each with a state folder of its own: they know the
// same people, each issue and each due schedule is worked on once, and one of them
// polls. When that one is killed, the other polls within the lease, and who looked at
// it goes on there.
func TestRealServersOverOneDatabase(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "two servers, a dead one, and the pause after which another polls")
	hub := &polls{seen: map[string]int{}}
	tracker := httptest.NewServer(hub)
	defer tracker.Close()
	cluster := pgtest.Start(t)
	m := newMachine(t, "")
	m.install("forge-temporal")
	database := cluster.Schema(t)
	m = m.with("TEAM_DB=" + database)
	m.configure(inPostgres + "[sandbox]\nmode = \"off\"\n[trackers.work]\nkind = \"github\"\nurl = \"" + tracker.URL + "\"\nrepo = \"o/work\"\npoll_secs = 5\nsandbox = \"as_configured\"\n")
	due := time.Now().UTC().Add(-time.Hour) // the next one is tomorrow
	if err := os.WriteFile(filepath.Join(m.root, ".forge", "forge.toml"), []byte(fmt.Sprintf(factorySettings, due.Format("4 15 * * *"))), 0o644); err != nil {
		t.Fatal(err)
	}
	script := ""
	for n, title := range []string{"thing1", "thing2", "thing3", "thing4", "tidy"} {
		script += fmt.Sprintf("[[step]]\nphase = %q\ndo = [{ write = \"%d.txt\", content = \"1\\n\" }, { print = \"<promise>ISSUE %d DONE</promise>\" }]\n", title, n, n+1)
	}
	if err := os.WriteFile(filepath.Join(m.root, "script.toml"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	commit := exec.Command("git", "commit", "-qam", "factory")
	commit.Dir, commit.Env = m.root, m.env
	if out, err := commit.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for n := range 4 {
		m.forge(0, "", "issue", "add", fmt.Sprint("thing", n+1), "--column", "ready")
	}
	m.forge(0, "", "factory", "pause")
	add, out := m.command("factory", "user", "add", "anna", "--role", "admin")
	if err := add.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	token := regexp.MustCompile(`(?m)^forge_\S+`).FindString(out.String())
	schema := regexp.MustCompile(`search_path=(\w+)`).FindStringSubmatch(database)[1]
	// It was due an hour ago, when nobody was there.
	cluster.Exec(t, fmt.Sprintf(`INSERT INTO %s.schedules SELECT n, 'hourly', (extract(epoch FROM now())::bigint - 7200) * 1000000000, 0, 0, '' FROM %s.projects`, schema, schema))

	one, two := m.factory("one"), m.factory("two")
	m.forge(0, "", "factory", "resume")
	both := func(what string) int { return strings.Count(one.said(), what) + strings.Count(two.said(), what) }
	two.until("all issues are done", func() bool { return both("done: landed") >= 5 })
	if n := both("a schedule put an issue on the board"); n != 1 {
		t.Errorf("the schedule put %d issues there, want 1", n)
	}
	if n := both(" works on: "); n != 5 {
		t.Errorf("%d runs began, want one of each issue", n)
	}

	// Who signed in at one server is known at the other.
	a, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).PostForm(one.url+"/sign-in", url.Values{"token": {token}})
	if err != nil {
		t.Fatal(err)
	}
	welcome, _ := io.ReadAll(a.Body)
	_ = a.Body.Close()
	cookie := ""
	for _, c := range a.Cookies() {
		if strings.HasPrefix(c.Name, "forge_session") {
			cookie = c.Value
		}
	}
	word := regexp.MustCompile(`forge-token"? content="?([^">]+)`).FindSubmatch(welcome)
	if cookie == "" || word == nil {
		t.Fatalf("sign in: %s, no session\n%s", a.Status, welcome)
	}
	cookie += " " + string(word[1])
	for _, f := range []*factoryServer{one, two} {
		got := f.get(t.Context(), "/", cookie, "", "")
		_ = got.Body.Close()
		if got.StatusCode >= 300 && !strings.HasPrefix(got.Header.Get("Location"), "/p/") {
			t.Errorf("the session at server %s: %s to %s", f.name, got.Status, got.Header.Get("Location"))
		}
	}

	dies, goes := one, two
	if hub.by("two") > 0 {
		dies, goes = two, one
	}
	if hub.by(dies.name) == 0 || hub.by(goes.name) != 0 {
		t.Fatalf("asked by one %d times, by two %d times; want one of them alone", hub.by("one"), hub.by("two"))
	}
	const events = "/api/v1/events?from=start"
	last := dies.hears(events, token, "", `"issue":5`)
	dies.kill()
	took := goes.until("the other one polls", func() bool { return hub.by(goes.name) > 0 })
	t.Logf("the other one polled %s after the death", took.Round(100*time.Millisecond))
	if took > journal.LeaseTimeout+10*time.Second {
		t.Errorf("it took %s, want the lease of %s at most", took, journal.LeaseTimeout)
	}
	m.forge(0, "6", "issue", "add", "after the death") // five were there
	goes.hears(events, token, last, `"issue":6`)
	page := goes.get(t.Context(), "/live?topic="+url.QueryEscape("project/board")+"&since=another.1", cookie, "", "")
	_ = page.Body.Close()
	if page.StatusCode == http.StatusUnauthorized || page.StatusCode == http.StatusSeeOther {
		t.Errorf("a page's stream at the other server: %s", page.Status)
	}
}
