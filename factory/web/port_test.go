package web_test

import (
	"net/url"
	"strings"
	"testing"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// cookieOf is the name and value of the cookie that an answer sets.
func cookieOf(t *testing.T, a webtest.Answer) string {
	t.Helper()
	cookie, _, _ := strings.Cut(a.Header.Get("Set-Cookie"), ";")
	if cookie == "" {
		t.Fatalf("no cookie: %d: %s", a.Status, a.Body)
	}
	return cookie
}

// Where a browser sends the cookie to other ports as well, who has the cookie
// and nothing else reads no page and answers nothing, whatever they say to be.
func TestACookieAloneOpensNothing(t *testing.T) {
	names := []string{"127.0.0.1", "localhost", "forge.localhost"}
	w := webtest.New(t, func(c *web.Config) { c.Hosts = names })
	withSomethingToTake(w)
	p := w.Somebody()
	a := p.Get("/sign-in?link=" + url.QueryEscape(w.Keys.Link()))
	cookie, another := cookieOf(t, a), w.Owner().FormToken()
	th := newThief(w)
	th.attack(cookie, names...)
	th.hold(t)
	isUnanswered(t, w)

	// With the token, which the sign-in left in the browser's storage, it does.
	if !p.Enters(a) {
		t.Fatalf("signing in: %d: %s", a.Status, a.Body)
	}
	if got := p.Get("/p/demo"); got.Status != 200 || !strings.Contains(got.Body, keptTitle) {
		t.Errorf("the owner's board: %d", got.Status)
	}
	if got := p.Send("/p/demo/checkpoints/cp1/answer", url.Values{"revision": {"1"}, "answer": {"approved"}}); got.Status != 303 {
		t.Errorf("the owner's answer: %d: %s", got.Status, got.Body)
	}
	// The token of another session is none, and neither is a token in an address.
	for name, got := range map[string]webtest.Answer{
		"another session's token": w.Somebody().Get("/p/demo", "Cookie", cookie, "X-Forge-Token", another),
		"a token in the address":  w.Somebody().Get("/p/demo?forge_token="+p.FormToken(), "Cookie", cookie),
		"a token without cookie":  w.Somebody().Get("/p/demo", "X-Forge-Token", p.FormToken()),
	} {
		if got.Status != 401 || strings.Contains(got.Body, "forge-token") {
			t.Errorf("%s: %d: %s", name, got.Status, got.Body)
		}
	}
}

// By https under a name of its own nobody else gets the cookie, and the cookie
// is enough to read. Names of this machine are another thing even then: browsers
// send secure cookies there without https, to any port.
func TestWhichCookieIsEnough(t *testing.T) {
	for _, c := range []struct {
		host   string
		tls    bool
		cookie string // its name
		enough bool
	}{
		{"127.0.0.1:7433", false, "forge_session_7433", false},
		{"localhost:7433", false, "forge_session_7433", false},
		{"LOCALHOST:7434", false, "forge_session_7434", false},
		{"[::1]:7433", false, "forge_session_7433", false},
		{"forge.localhost:7433", false, "forge_session_7433", false},
		{"localhost", false, "forge_session", false},
		{"localhost:7;x=y", false, "forge_session", false},
		{"forge.example:7433", false, "forge_session_7433", false},
		{"forge.example", true, "__Host-forge", true},
		{"forge.example:7433", true, "__Host-forge", true},
		{"192.0.2.7:7433", true, "__Host-forge", true},
		{"127.0.0.1:7433", true, "__Host-forge", false},
		{"127.1.2.3:7433", true, "__Host-forge", false},
		{"[::1]:7433", true, "__Host-forge", false},
		{"localhost:7433", true, "__Host-forge", false},
		{"forge.localhost", true, "__Host-forge", false},
		{"forge.localhost.:7433", true, "__Host-forge", false},
	} {
		w := webtest.New(t, func(k *web.Config) {
			k.TLS = c.tls
			k.Hosts = []string{"127.0.0.1", "127.1.2.3", "192.0.2.7", "localhost", "::1", "forge.localhost", "forge.localhost.", "forge.example"}
		})
		w.Issue(keptTitle, work.ColumnReady)
		p := w.Somebody()
		a := p.Get("/sign-in?link="+url.QueryEscape(w.Keys.Link()), "Host", c.host)
		set := a.Header.Get("Set-Cookie")
		if !strings.HasPrefix(set, c.cookie+"=") || strings.Contains(set, "Secure") != c.tls || strings.Contains(set, "Domain") || !strings.Contains(set, "HttpOnly") || !strings.Contains(set, "SameSite=Strict") || !strings.Contains(set, "Path=/;") {
			t.Errorf("%s, https %v: the cookie is %q", c.host, c.tls, set)
		}
		if (a.Header.Get("Strict-Transport-Security") != "") != c.tls {
			t.Errorf("%s, https %v: kept at https: %v", c.host, c.tls, a.Header)
		}
		if (a.Status == 303) != c.enough || strings.Contains(a.Body, "forge-token") == c.enough {
			t.Errorf("%s, https %v: the sign-in answers %d: %s", c.host, c.tls, a.Status, a.Body)
		}
		cookie := cookieOf(t, a)
		got := w.Somebody().Get("/p/demo", "Host", c.host, "Cookie", cookie)
		if opened := got.Status == 200 && strings.Contains(got.Body, keptTitle); opened != c.enough {
			t.Errorf("%s, https %v: the cookie alone: %d", c.host, c.tls, got.Status)
		}
		if tries := strings.Contains(got.Body, "/enter.js"); tries == c.enough {
			t.Errorf("%s, https %v: a page tries with its token: %v", c.host, c.tls, tries)
		}
		// To change something takes the token in either case.
		if got := w.Somebody().Post("/p/demo/issues/1/move", url.Values{"column": {"backlog"}}, "Host", c.host, "Cookie", cookie); got.Status != 403 || strings.Contains(got.Body, "forge-token") {
			t.Errorf("%s, https %v: a change by the cookie alone: %d", c.host, c.tls, got.Status)
		}
		if !p.Enters(a) {
			t.Fatalf("%s, https %v: signing in: %d", c.host, c.tls, a.Status)
		}
		if got := p.Get("/p/demo", "Host", c.host, "Cookie", cookie); got.Status != 200 || !strings.Contains(got.Body, keptTitle) {
			t.Errorf("%s, https %v: cookie and token: %d", c.host, c.tls, got.Status)
		}
	}
}

// Two servers of one machine do not sign each other's people out, and a program
// with a token needs neither cookie nor page.
func TestServersBesideEachOther(t *testing.T) {
	one, two := webtest.New(t), webtest.New(t)
	p := one.Owner()
	a := two.Somebody().Get("/sign-in?link=" + url.QueryEscape(two.Keys.Link()))
	own, other := cookieOf(t, one.Somebody().Get("/sign-in?link="+url.QueryEscape(one.Keys.Link()))), cookieOf(t, a)
	if name, _, _ := strings.Cut(own, "="); strings.HasPrefix(other, name+"=") {
		t.Errorf("both keep their session in %s", name)
	}
	if got := p.Get("/p/demo", "Cookie", other); got.Status != 200 {
		t.Errorf("with another server's cookie beside its own: %d", got.Status)
	}
	otto := one.User("otto", web.RoleViewer, "demo")
	if got := one.Somebody().Get("/p/demo", "Authorization", "Bearer "+otto.Token); got.Status != 200 {
		t.Errorf("a program's token: %d", got.Status)
	}
}
