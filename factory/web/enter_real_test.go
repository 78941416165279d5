//go:build real

package web_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"forge/factory"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

// A page that is asked for with its token is like any other: it is at its
// address, at the place that was named or where it was left, and the same goes
// for the one after a form and in another window.
func TestRealPagesAreEntered(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	fill(w)
	many := w.AddProject("many")
	for n := range 60 {
		if _, err := many.Board.Add(t.Context(), work.Issue{Title: fmt.Sprintf("Wish %d", n+1), Column: work.ColumnBacklog, Priority: work.PriorityNormal}, factory.Place{At: factory.Bottom}, factory.By{Name: "tester", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
	}
	b := w.Browser()

	// Nobody is signed in: the form, and nothing is tried.
	b.GoTo("/p/demo")
	b.Until(`document.querySelector("#token") && !document.body.innerText.includes("Cache the index")`)
	b.Open(w.HTTP.URL + "/sign-in?link=" + w.Keys.Link() + "&next=" + "%2Fp%2Fdemo%3Fmid%3D1")
	b.Until(`location.pathname + location.search === "/p/demo?mid=1" && document.body.innerText.includes("Cache the index")`)
	b.Until(`!document.documentElement.outerHTML.includes("link=")`)

	// The place that the address names.
	b.GoTo("/p/many#card-49")
	b.Until(`document.querySelector("#card-49:target") && scrollY + document.querySelector("#columns").scrollTop >= 0 && document.querySelector("#card-49").getBoundingClientRect().top < innerHeight`)
	// Where it was left.
	b.GoTo("/p/many")
	b.Live()
	b.JS(`scrollTo(0, 700)`, nil)
	b.Until(`scrollY === 700`)
	b.Reload()
	b.Until(`scrollY === 700`)
	b.GoTo("/inbox")
	b.Run(chromedp.NavigateBack())
	b.Entered()
	b.Until(`location.pathname === "/p/many" && scrollY === 700`)
	// A form, and the page that it leads to; what the page says by itself.
	b.GoTo("/p/demo/issues/new")
	b.Type("#title, [name=title]", "By a form")
	b.Click("main form button.main")
	b.Until(`location.pathname.startsWith("/p/demo") && document.body.innerText.includes("By a form")`)
	// Another window keeps the same; what is not there is said.
	two := b.Window()
	two.GoTo("/p/demo")
	two.Live()
	two.GoTo("/p/nothing")
	two.Until(`document.body.innerText.includes("There is nothing here")`)
	// Somebody else's token, and the end of the session, lead to the form.
	two.GoTo("/p/demo")
	two.JS(`localStorage.setItem("forge-token", "x")`, nil)
	two.GoTo("/p/demo")
	two.Until(`document.querySelector("#token") && getComputedStyle(document.body).visibility === "visible"`)
	b.Run(chromedp.Evaluate(`document.querySelector('form[action="/sign-out"]').submit()`, nil))
	b.Until(`location.pathname === "/sign-in" && document.querySelector("#token")`)
	b.GoTo("/p/demo")
	b.Until(`document.querySelector("#token")`)
	if said := w.Log.String(); strings.Contains(said, "panic") {
		t.Error(said)
	}
	b.Quiet()
	two.Quiet("404")
}

// A page whose request came to nothing is asked for again: nobody is sent
// to the sign-in for what the network did.
func TestRealEnteringSurvivesTheNetwork(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	fill(w)
	// A browser itself tries once more, at once, for each of the six connections that it
	// keeps; the page goes on for six seconds.
	const away = 2 * time.Second
	var first, cut atomic.Int64
	w.HTTP.Config.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Forge-Token") != "" && r.URL.Path == "/p/demo/issues/new" {
			first.CompareAndSwap(0, time.Now().UnixNano())
			if time.Since(time.Unix(0, first.Load())) < away {
				cut.Add(1)
				panic(http.ErrAbortHandler)
			}
		}
		w.Server.ServeHTTP(rw, r)
	})
	b := w.Browser()
	b.SignIn()
	b.GoTo("/p/demo/issues/new")
	b.Until(`document.querySelector('[name="title"]')`)
	if n := cut.Load(); n < 2 {
		t.Errorf("cut %d times", n)
	}
	b.Quiet("Failed to fetch", "net::ERR")
}

// Each of a page's scripts may come late, and alone: the page is entered all the
// same, and asks for nothing without its token, which would end at the sign-in.
func TestRealPagesWaitForTheirScripts(t *testing.T) {
	t.Parallel()
	for _, late := range []string{"/htmx-", "/hx-sse-", "/forge.js", "/board.js"} {
		t.Run(strings.Trim(late, "/-"), func(t *testing.T) {
			t.Parallel()
			w := webtest.New(t)
			fill(w)
			b := w.Browser()
			b.Late(late, time.Second)
			b.SignIn()
			b.GoTo("/p/demo")
			b.Live()
			b.Until(`location.pathname === "/p/demo" && document.body.innerText.includes("Cache the index")`)
			b.Quiet()
		})
	}
}
