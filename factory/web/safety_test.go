package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// What comes from elsewhere, or does not say that it comes from here, is
// refused before anything is looked at.
func TestRequestsFromElsewhere(t *testing.T) {
	w := webtest.New(t)
	i := w.Issue("Stay", work.ColumnBacklog)
	owner := w.Owner()
	token := owner.FormToken()
	move := url.Values{"column": {"ready"}, "forge_token": {token}}
	without := url.Values{"column": {"ready"}}
	other := url.Values{"column": {"ready"}, "forge_token": {w.Owner().FormToken()}}
	for name, c := range map[string]struct {
		method string
		path   string
		form   url.Values
		header []string
		want   int
	}{
		"another name":             {"GET", "/p/demo", nil, []string{"Host", "evil.example"}, 403},
		"another name, to sign in": {"GET", "/sign-in", nil, []string{"Host", "evil.example:7433"}, 403},
		"another name, for a file": {"GET", "/static/x/forge.js", nil, []string{"Host", "127.0.0.1.evil.example"}, 403},
		"no name":                  {"GET", "/p/demo", nil, []string{"Host", ":80"}, 403},
		"our name in capitals":     {"GET", "/sign-in", nil, []string{"Host", "LOCALHOST:7433"}, 200},
		"cross-site script":        {"GET", "/p/demo", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"}, 403},
		"cross-site fetch":         {"GET", "/inbox", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "cors", "Sec-Fetch-Dest", "empty"}, 403},
		"cross-site frame":         {"GET", "/p/demo", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		"same-site picture":        {"GET", "/p/demo", nil, []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"}, 403},
		"a link from elsewhere":    {"GET", "/p/demo", nil, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 200},
		"cross-site form":          {"POST", "/p/demo/issues/1/move", move, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"same-site form":           {"POST", "/p/demo/issues/1/move", move, []string{"Sec-Fetch-Site", "same-site"}, 403},
		"form of another origin":   {"POST", "/p/demo/issues/1/move", move, []string{"Origin", "http://evil.example"}, 403},
		"form of no origin":        {"POST", "/p/demo/issues/1/move", move, []string{"Origin", "null"}, 403},
		"no token":                 {"POST", "/p/demo/issues/1/move", without, nil, 403},
		"another session's token":  {"POST", "/p/demo/issues/1/move", other, nil, 403},
		"token in the address":     {"POST", "/p/demo/issues/1/move?forge_token=" + url.QueryEscape(token), without, nil, 403},
		"change by GET":            {"GET", "/p/demo/issues/1/move?column=ready&forge_token=" + url.QueryEscape(token), nil, nil, 405},
		"sign-in from elsewhere":   {"POST", "/sign-in", url.Values{"token": {"x"}}, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"sign-out from elsewhere":  {"POST", "/sign-out", nil, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		"override of the method":   {"POST", "/p/demo", move, []string{"X-HTTP-Method-Override", "GET"}, 405},
		// To /key, which is nothing.
		"traversal":               {"GET", "/static/../../key", nil, nil, 307},
		"encoded traversal":       {"GET", "/static/x/..%2f..%2fkey", nil, nil, 404},
		"project by traversal":    {"GET", "/p/..%2f..%2fetc", nil, nil, 404},
		"column that is none":     {"GET", "/p/demo/columns/secret", nil, nil, 404},
		"issue that is no number": {"GET", "/p/demo/issues/1%20OR%201=1/edit", nil, nil, 404},
	} {
		t.Run(name, func(t *testing.T) {
			var a webtest.Answer
			if c.method == "POST" {
				a = owner.Post(c.path, c.form, c.header...)
			} else {
				a = owner.Get(c.path, c.header...)
			}
			if a.Status != c.want {
				t.Errorf("%d, want %d: %s", a.Status, c.want, a.Body)
			}
		})
	}
	if got := w.Column(work.ColumnBacklog); len(got) != 1 || got[0] != i.ID {
		t.Errorf("the backlog holds %v: something was moved", got)
	}
	if a := owner.Send("/p/demo/issues/1/move", url.Values{"column": {"ready"}}, "Sec-Fetch-Site", "same-origin", "Origin", w.HTTP.URL); a.Status != 303 {
		t.Errorf("the page's own form: %d: %s", a.Status, a.Body)
	}
	if a := owner.Post("/p/demo/issues/1/move", url.Values{"column": {"backlog"}}, "X-Forge-Token", token, "Accept", "application/json"); a.Status != 200 {
		t.Errorf("the page's own script: %d: %s", a.Status, a.Body)
	}
}

func TestWhoMay(t *testing.T) {
	w := webtest.New(t)
	w.AddProject("other")
	w.Issue("One", work.ColumnBacklog)
	people := map[string]*webtest.Person{
		"nobody": w.Somebody(), "viewer": w.User("vera", web.RoleViewer, "demo"), "reviewer": w.User("rosa", web.RoleReviewer, "demo"),
		"operator": w.User("otto", web.RoleOperator, "demo"), "admin": w.User("anna", web.RoleAdmin, "demo"),
		"elsewhere": w.User("emil", web.RoleAdmin, "other"), "everywhere": w.User("ella", web.RoleViewer, web.AnyProject), "owner": w.Owner(),
	}
	for _, c := range []struct {
		method, path string
		form         url.Values
		may          string // who gets an answer that is no refusal
		hidden       bool   // others do not hear that it exists
	}{
		{"GET", "/", nil, "viewer reviewer operator admin elsewhere everywhere owner", false},
		{"GET", "/inbox", nil, "viewer reviewer operator admin elsewhere everywhere owner", false},
		{"GET", "/search?q=x", nil, "viewer reviewer operator admin elsewhere everywhere owner", false},
		{"GET", "/p/demo", nil, "viewer reviewer operator admin everywhere owner", true},
		{"GET", "/p/demo/columns/ready", nil, "viewer reviewer operator admin everywhere owner", true},
		{"GET", "/p/other", nil, "elsewhere everywhere owner", true},
		{"GET", "/p/nothing", nil, "", true},
		{"GET", "/p/demo/issues/new", nil, "operator admin owner", false},
		{"GET", "/p/demo/issues/1/edit", nil, "operator admin owner", false},
		{"POST", "/p/demo/issues/1/move", url.Values{"column": {"ready"}, "place": {"top"}}, "operator admin owner", false},
		{"POST", "/p/demo/issues/1/edit", url.Values{"title": {"One"}, "version": {"1"}}, "operator admin owner", false},
		{"POST", "/p/demo/issues", url.Values{"title": {"Another"}}, "operator admin owner", false},
		{"POST", "/p/demo/issues/1/retry", nil, "operator admin owner", false},
		{"POST", "/p/demo/floor/pause", nil, "admin owner", false},
		{"POST", "/p/demo/floor/drain", nil, "admin owner", false},
	} {
		for name, p := range people {
			var a webtest.Answer
			if c.method == "GET" {
				a = p.Get(c.path)
			} else if name == "nobody" {
				a = p.Post(c.path, c.form)
			} else {
				form := url.Values{}
				for k, v := range c.form {
					form[k] = v
				}
				a = p.Send(c.path, form)
			}
			refused := a.Status == 401 || a.Status == 403 || a.Status == 404
			may := strings.Contains(" "+c.may+" ", " "+name+" ")
			if refused == may {
				t.Errorf("%s %s as %s: %d: %s", c.method, c.path, name, a.Status, a.Body)
			}
			if name == "nobody" && a.Status != 401 {
				t.Errorf("%s %s as nobody: %d, want 401", c.method, c.path, a.Status)
			}
			if c.hidden && !may && name != "nobody" && (a.Status != 404 || strings.Contains(a.Body, "takes the role")) {
				t.Errorf("%s as %s: %d, which says that it exists: %s", c.path, name, a.Status, a.Body)
			}
		}
	}
}

// The level of an issue may free it of gates: that is an admin's to say.
func TestOnlyAnAdminChangesALevel(t *testing.T) {
	w := webtest.New(t)
	w.Issue("One", work.ColumnBacklog)
	form := func() url.Values { return url.Values{"title": {"One"}, "version": {"1"}, "level": {"full"}} }
	if a := w.User("otto", web.RoleOperator, "demo").Send("/p/demo/issues/1/edit", form()); a.Status != 403 {
		t.Errorf("an operator: %d: %s", a.Status, a.Body)
	}
	if i, _ := w.Store.Issue(t.Context(), "demo", 1); i.Level != "" {
		t.Errorf("the level is %q", i.Level)
	}
	if a := w.Owner().Send("/p/demo/issues/1/edit", form()); a.Status != 303 {
		t.Errorf("an admin: %d: %s", a.Status, a.Body)
	}
	if i, _ := w.Store.Issue(t.Context(), "demo", 1); i.Level != "full" {
		t.Errorf("the level is %q", i.Level)
	}
}

func TestHeaders(t *testing.T) {
	w := webtest.New(t)
	owner := w.Owner()
	for _, path := range []string{"/", "/p/demo", "/nothing", "/sign-in", "/static/x/y"} {
		a := owner.Get(path)
		for name, want := range map[string]string{
			"Content-Security-Policy":      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Cross-Origin-Opener-Policy":   "same-origin",
			"X-Frame-Options":              "DENY",
		} {
			if got := a.Header.Get(name); got != want {
				t.Errorf("%s: %s: %q", path, name, got)
			}
		}
		for _, forbidden := range []string{"<style", " style=", " onclick=", " onload=", "javascript:", "hx-on", "http://", "https://"} {
			if strings.Contains(strings.ReplaceAll(a.Body, w.HTTP.URL, ""), forbidden) {
				t.Errorf("%s holds %q:\n%s", path, forbidden, a.Body)
			}
		}
	}
	if got := owner.Get("/p/demo").Header.Get("Cache-Control"); got != "no-store" {
		t.Errorf("a page may be kept: %q", got)
	}
}

func TestSigningIn(t *testing.T) {
	w := webtest.New(t)
	link := "/sign-in?link=" + url.QueryEscape(w.Keys.Link())
	p := w.Somebody()
	a := p.Get(link)
	if !p.Enters(a) || !strings.Contains(a.Body, `<meta name="forge-next" content="/">`) {
		t.Fatalf("the link: %d: %s", a.Status, a.Body)
	}
	cookie := a.Header.Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/"} {
		if !strings.Contains(cookie, want) {
			t.Errorf("the cookie %q lacks %s", cookie, want)
		}
	}
	if strings.Contains(cookie, "Secure") || strings.Contains(cookie, "Domain") {
		t.Errorf("the cookie is %q", cookie)
	}
	if a := p.Get("/p/demo"); a.Status != 200 {
		t.Errorf("signed in: %d", a.Status)
	}
	if a := w.Somebody().Get(link); a.Status != 401 {
		t.Errorf("the link a second time: %d", a.Status)
	}
	for _, bad := range []string{"x", "x.y.z", w.Keys.Link() + "x", strings.Replace(w.Keys.Link(), ".", ".a", 1)} {
		if a := w.Somebody().Get("/sign-in?link=" + url.QueryEscape(bad)); a.Status != 401 || a.Header.Get("Set-Cookie") != "" {
			t.Errorf("link %q: %d", bad, a.Status)
		}
	}
	if a := p.Send("/sign-out", nil); a.Status != 303 {
		t.Errorf("signing out: %d", a.Status)
	}
	// The cookie alone, kept by somebody, opens nothing any more.
	value, _, _ := strings.Cut(cookie, ";")
	if a := w.Somebody().Get("/p/demo", "Cookie", value); a.Status != 401 {
		t.Errorf("after signing out the cookie opens %d", a.Status)
	}
}

func TestTokens(t *testing.T) {
	w := webtest.New(t)
	w.Issue("One", work.ColumnBacklog)
	otto := w.User("otto", web.RoleOperator, "demo")
	bearer := []string{"Authorization", "Bearer " + otto.Token}
	if a := w.Somebody().Get("/p/demo", bearer...); a.Status != 200 {
		t.Errorf("a token: %d", a.Status)
	}
	// Who shows a token in the header need not show another one.
	if a := w.Somebody().Post("/p/demo/issues/1/move", url.Values{"column": {"ready"}}, bearer...); a.Status != 303 {
		t.Errorf("a change by token: %d: %s", a.Status, a.Body)
	}
	if a := w.Somebody().Get("/p/demo", "Authorization", "Bearer forge_wrong"); a.Status != 401 {
		t.Errorf("a wrong token: %d", a.Status)
	}
	if a := w.Somebody().Get("/p/demo?token=" + otto.Token); a.Status != 401 {
		t.Errorf("a token in the address: %d", a.Status)
	}
	fresh, err := w.Keys.NewToken("otto")
	if err != nil {
		t.Fatal(err)
	}
	for name, a := range map[string]webtest.Answer{
		"the old token": w.Somebody().Get("/p/demo", bearer...), "the session of the old token": otto.Get("/p/demo"),
	} {
		if a.Status != 401 {
			t.Errorf("%s opens %d", name, a.Status)
		}
	}
	if a := w.Somebody().Get("/p/demo", "Authorization", "Bearer "+fresh); a.Status != 200 {
		t.Errorf("the new token: %d", a.Status)
	}
	// A role that is taken away is gone at once, also for who is signed in.
	vera := w.User("vera", web.RoleAdmin, "demo")
	if err := w.Keys.RemoveUser("vera", web.AnyProject); err != nil {
		t.Fatal(err)
	}
	if a := vera.Get("/p/demo"); a.Status != 401 {
		t.Errorf("a removed user: %d", a.Status)
	}
}

func TestTooOften(t *testing.T) {
	now := time.Now()
	w := webtest.New(t, func(c *web.Config) { c.Now = func() time.Time { return now } })
	var last webtest.Answer
	for range 12 {
		last = w.Somebody().Post("/sign-in", url.Values{"token": {"forge_guess"}})
	}
	if last.Status != http.StatusTooManyRequests {
		t.Errorf("the twelfth guess: %d", last.Status)
	}
	if a := w.Somebody().Get("/p/demo", "Authorization", "Bearer forge_guess"); a.Status != http.StatusTooManyRequests {
		t.Errorf("a guess in the header: %d", a.Status)
	}
	now = now.Add(time.Minute)
	if a := w.Somebody().Post("/sign-in", url.Values{"token": {"forge_guess"}}); a.Status != 401 {
		t.Errorf("a minute later: %d", a.Status)
	}
}

func TestTooMuch(t *testing.T) {
	w := webtest.New(t)
	owner := w.Owner()
	if a := owner.Send("/p/demo/issues", url.Values{"title": {"x"}, "description": {strings.Repeat("x", 2<<20)}}); a.Status != 413 && a.Status != 400 {
		t.Errorf("two megabytes: %d", a.Status)
	}
	if got := w.Column(work.ColumnBacklog); len(got) != 0 {
		t.Errorf("stored %v", got)
	}
}

// Whatever people write is text on every page.
func TestNothingWrittenRuns(t *testing.T) {
	w := webtest.New(t)
	const script = `<script>alert(1)</script><img src=x onerror=alert(1)>" onmouseover="alert(1)`
	w.Issue(script, work.ColumnReady, func(i *work.Issue) {
		i.Description = script
		i.Labels = []string{`a"><script>`}
		i.Criteria = []work.Criterion{{ID: "c1", Text: script}}
	})
	w.Questions().Put(work.Checkpoint{ID: "cp1", Run: "r1", Kind: "final", Question: script, Status: work.CheckpointPending, Revision: 1, OpenedAt: time.Now()})
	owner := w.Owner()
	for _, path := range []string{"/p/demo", "/p/demo/issues/1/edit", "/inbox", "/search?q=" + url.QueryEscape(script), "/p/demo?q=" + url.QueryEscape(script), "/p/demo?label=" + url.QueryEscape(script),
		"/p/demo/issues/new?title=" + url.QueryEscape(script), "/p/" + url.PathEscape(script), "/sign-in?link=" + url.QueryEscape(script)} {
		a := owner.Get(path)
		for _, live := range []string{"<script>alert", "<img src=x", `" onmouseover="`} {
			if strings.Contains(a.Body, live) {
				t.Errorf("%s holds %s:\n%s", path, live, a.Body)
			}
		}
	}
}

// A form sends nobody to another server.
func TestNowhereElse(t *testing.T) {
	w := webtest.New(t)
	secure := webtest.New(t, func(c *web.Config) { c.TLS, c.Hosts = true, append(c.Hosts, "forge.example") })
	safe, err := secure.Keys.PutUser("otto", web.RoleViewer, "demo")
	if err != nil {
		t.Fatal(err)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example/`, "javascript:alert(1)", "/\t/evil.example"} {
		token, err := w.Keys.NewToken("otto")
		if err != nil {
			w.User("otto", web.RoleViewer, "demo")
			if token, err = w.Keys.NewToken("otto"); err != nil {
				t.Fatal(err)
			}
		}
		a := w.Somebody().Post("/sign-in", url.Values{"token": {token}, "next": {next}})
		if !strings.Contains(a.Body, `<meta name="forge-next" content="/">`) || a.Header.Get("Location") != "" {
			t.Errorf("next %q leads to %q: %s", next, a.Header.Get("Location"), a.Body)
		}
		a = secure.Somebody().Post("/sign-in", url.Values{"token": {safe}, "next": {next}}, "Host", "forge.example")
		if got := a.Header.Get("Location"); got != "/" {
			t.Errorf("by https next %q leads to %q", next, got)
		}
		if got := w.Somebody().Post("/theme", url.Values{"theme": {"dark"}, "next": {next}}).Header.Get("Location"); got != "/" {
			t.Errorf("the theme with next %q leads to %q", next, got)
		}
	}
}
