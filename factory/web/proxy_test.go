package web_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// Tries to sign in are counted by the address that the own proxy saw; what
// others wrote before it, or without a proxy, says nothing.
func TestProxyAddresses(t *testing.T) {
	now := time.Now()
	for _, c := range []struct {
		proxy bool
		again string // X-Forwarded-For of the try after too many from 203.0.113.1
		want  int
	}{
		{true, "203.0.113.1", http.StatusTooManyRequests},
		{true, "198.51.100.7, 203.0.113.1", http.StatusTooManyRequests},
		{true, "203.0.113.1, 198.51.100.7", http.StatusUnauthorized},
		{false, "198.51.100.7", http.StatusTooManyRequests},
	} {
		w := webtest.New(t, func(k *web.Config) {
			k.BehindProxy = c.proxy
			k.Now = func() time.Time { return now }
		})
		guess := func(from string) int {
			return w.Somebody().Post("/sign-in", url.Values{"token": {"forge_guess"}}, "X-Forwarded-For", from).Status
		}
		for range 11 {
			guess("203.0.113.1")
		}
		if got := guess(c.again); got != c.want {
			t.Errorf("behind a proxy %v, from %s: %d, want %d", c.proxy, c.again, got, c.want)
		}
	}
}

// Nobody changes things without end; others are not held up by it.
func TestWritesTooOften(t *testing.T) {
	now := time.Now()
	w := webtest.New(t, func(c *web.Config) { c.Now = func() time.Time { return now } })
	w.Issue("One", work.ColumnBacklog)
	otto, olga := w.User("otto", web.RoleOperator, "demo"), w.User("olga", web.RoleOperator, "demo")
	// Refused for what they ask, and counted.
	move := func(p *webtest.Person) int {
		return w.Somebody().Post("/p/demo/issues/1/move", url.Values{"column": {"nowhere"}}, "Authorization", "Bearer "+p.Token).Status
	}
	last := 0
	for n := 0; n < 900 && last != http.StatusTooManyRequests; n++ {
		last = move(otto)
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("after 900 changes in a moment: %d", last)
	}
	if got := move(olga); got == http.StatusTooManyRequests {
		t.Error("somebody else is held up")
	}
	now = now.Add(time.Second)
	if got := move(otto); got == http.StatusTooManyRequests {
		t.Error("a second later it is still refused")
	}
}
