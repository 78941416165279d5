//go:build real

package cli

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// storyScript does what two issues ask for; the second one in two goes.
const storyScript = `
[[step]]
phase = "Say hello"
do = [{ write = "hello.txt", content = "hello\n" }, { print = "<promise>ISSUE 1 DONE</promise>" }]
[[step]]
phase = "Count the words"
iteration = 1
do = [{ write = "count.go", content = "package main\n\nvar a = 1\n" }, { print = "I counted. <promise>ISSUE 2 DONE</promise>" }]
[[step]]
phase = "Count the words"
iteration = 2
do = [{ write = "count.go", content = "package main\n\nvar words = 2\n" }, { print = "I renamed it. <promise>ISSUE 2 DONE</promise>" }]
`

// Two issues from their first word to Done, all of it in a browser: one lands by
// itself; the other one is held with its reason, commented on, sent back, done
// again and approved.
func TestRealStoryInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, storyScript, "true")
	w.configure("[factory]\ntriage = \"off\"\n", "true")
	s := withPages(t, w)
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() {
		_, err := s.worker.Loop().Run(ctx)
		over <- err
	}()
	t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
	b := s.signedIn()
	in := func(column, issue string) string {
		return `document.querySelector('[data-column="` + column + `"] #card-` + issue + `')`
	}

	b.GoTo("/p/demo/issues/new")
	b.Type(`[name="title"]`, "Say hello")
	b.Set(`[name="level"]`, "full")
	b.Set(`[name="column"]`, "ready")
	b.Click("main form button.main")
	b.Until(`location.pathname !== "/p/demo/issues/new"`)
	b.GoTo("/p/demo")
	b.Until(`document.documentElement.dataset.live === "on"`)
	b.Until(in("done", "1"))

	b.Set("#new-column", "ready")
	b.Type("#new-title", "Count the words")
	b.Click(".quick-add button.main")
	b.Until(in("in_review", "2"))
	b.Until(in("in_review", "2") + `.textContent.includes("your level asks you before a result is merged")`)
	b.Until(in("in_review", "2") + `.querySelector("a.waits")`)
	b.Check("story-held")

	// The card leads to its cockpit.
	b.Follow("#card-2 a.waits", "/checkpoints/")
	b.Until(`document.querySelector('article[data-file="count.go"] td[data-side="new"][data-line="3"]')`)
	b.Click(`article[data-file="count.go"] td[data-side="new"][data-line="3"]`)
	b.Until(`document.activeElement.name === "body"`)
	b.Run(chromedp.KeyEvent("Call it words."), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.Until(`document.querySelector("#now").textContent.includes("1 comment on")`)
	b.Click(`[data-answer] button[value="changes_requested"]`)
	b.Until(`document.querySelector("#now").textContent.includes("changes requested")`)

	// The agent does it again, and it is held again; what it made is approved.
	b.GoTo("/p/demo")
	b.Until(`document.documentElement.dataset.live === "on"`)
	b.Until(in("in_review", "2") + `.querySelector("a.waits") && !` + in("in_review", "2") + `.querySelector("a.waits").href.endsWith(".1")`)
	b.Follow("#card-2 a.waits", "/checkpoints/")
	b.Until(`document.querySelector('article[data-file="count.go"]').textContent.includes("var words = 2")`)
	b.Check("story-rework")
	b.Click(`[data-answer] button[value="approved"]`)
	b.Until(`document.querySelector("#now").textContent.includes("approved")`)
	b.GoTo("/p/demo")
	b.Until(in("done", "2"))
	b.Check("story-done")
	b.GoTo("/p/demo/issues/2")
	b.Until(`document.querySelector("#issue").textContent.includes("completed")`)
	b.Check("story-issue")
	b.Quiet()
	if got := w.git("show", "forge/landed:count.go"); got != "package main\n\nvar words = 2" && got != "package main\n\nvar words = 2\n" {
		t.Errorf("landed is %q", got)
	}
}
