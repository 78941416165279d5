//go:build real

package cli

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	pages "forge/factory/web"
	"forge/factory/web/webtest"
)

// signedIn is a browser of the owner.
func (w *siteWorld) signedIn() *webtest.Tab {
	w.TB.Helper()
	b := w.Browser()
	b.SignIn()
	return b
}

// A person looks at a change by keys and mouse, comments on lines, sends it
// back, sees the rework and approves; and what another door answers is seen.
func TestRealCockpitInABrowser(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("func f() int { return 1 }\n", 30)
	w := newWorld(t, writesMain(1, "package main\n\nvar a = 1\n"+long)+writesMain(2, "package main\n\nvar b = 2\n"+long), "true")
	w.plan(phase("01", "first", 3), phase("02", "second", 3, "01"), phase("03", "third", 3, "01"), phase("04", "last", 3, "02", "03"))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s := withPages(t, w)
	b := s.signedIn()
	run := s.runID()
	at := "/p/demo/checkpoints/" + run + ".1"
	for _, p := range [][2]string{{"runs", "/p/demo/runs"}, {"run", "/p/demo/runs/" + run}, {"job-new", "/p/demo/jobs/new"}, {"tree", at + "/tree"}, {"blob", at + "/blob?path=main.go"}, {"metrics", "/p/demo/metrics"}, {"settings", "/p/demo/settings"}} {
		b.GoTo(p[1])
		b.Check(p[0])
	}
	b.GoTo(at)
	b.Until(`document.querySelectorAll("article.file table.diff").length === 2`)
	b.Check("cockpit")

	// By keys: the next file, its first hunk, a comment on the line.
	b.Run(chromedp.KeyEvent("j"), chromedp.KeyEvent("n"), chromedp.KeyEvent("."), chromedp.KeyEvent("."), chromedp.KeyEvent("c"))
	b.Until(`document.activeElement.name === "body"`)
	b.Run(chromedp.KeyEvent("Call it b."), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.Until(`document.querySelector(".comment-row .comment") && document.querySelector(".comment-row .comment").textContent.includes("Call it b.")`)
	// By mouse, on a line of the other file; and by another way to look at it.
	b.Run(chromedp.Evaluate(`document.querySelector('article[data-file="notes.md"]').scrollIntoView()`, nil))
	b.Click(`article[data-file="notes.md"] td[data-side="new"][data-line="3"]`)
	b.Until(`document.activeElement.name === "body"`)
	b.Run(chromedp.KeyEvent("More of this."), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	b.Until(`document.querySelectorAll(".comment-row .comment").length === 2`)
	b.Until(`document.querySelector("#now").textContent.includes("2 comments on lines")`)
	b.Click(`article[data-file="notes.md"] a[href$="look=read"]`)
	b.Until(`document.querySelector("ins.block h3")`)
	b.Click(`article[data-file="main.go"] a[href$="look=inline"]`)
	b.Until(`document.querySelector("table.diff-inline")`)
	b.Check("cockpit-comments")

	// A file is added, and one deleted; both stand on the page.
	b.GoTo(at + "/edit?path=README.md")
	b.Check("edit")
	b.Click(`form:has([name="what"][value="delete"]) button`)
	b.Until(`document.querySelector("#now").textContent.includes("README.md deleted by owner")`)
	b.Click(`a[href$="/edit"]`)
	b.Until(`document.querySelector("#path")`)
	b.Type("#path", "../new.go")
	b.Type("#text", "package main")
	b.Click("form button.main")
	b.Until(`document.querySelector("[role=alert].bad") && document.querySelector("#text").value === "package main"`)
	b.Check("edit-refused")
	b.Set("#path", "new.go")
	b.Click("form button.main")
	b.Until(`document.querySelector("#now").textContent.includes("new.go added by owner")`)
	b.Check("cockpit-edited")
	// Somebody else is faster with the same file: both texts are there, and what
	// is sent then takes the place of theirs.
	b.GoTo(at + "/edit?path=main.go")
	b.Set("#text", "package main\n\nvar mine = 1\n")
	if a := wish(s.User("olga", pages.RoleOperator, "demo"), at, "edit", "main.go", "package main\n\nvar olgas = 1\n"); a.Status != 303 {
		t.Fatalf("olga's edit: %d", a.Status)
	}
	b.Click("form button.main")
	b.Until(`document.querySelector("#theirs")?.value.includes("olgas") && document.querySelector("#text").value.includes("mine")`)
	b.Check("edit-overtaken")
	b.Click("form button.main")
	b.Until(`document.querySelector("#now").textContent.includes("main.go edited by owner")`)

	// "r" asks for changes; the button is pressed by a person.
	b.Run(chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("r"))
	b.Until(`document.activeElement.value === "changes_requested"`)
	b.Run(chromedp.KeyEvent("\r"))
	b.Until(`document.querySelector("#now").textContent.includes("changes requested")`)
	at = "/p/demo/checkpoints/" + run + ".2"
	s.until(s.Owner(), at, "") // the server goes on with what it was answered
	b.GoTo(at)
	b.Until(`document.querySelector('article[data-file="main.go"] table.diff') && document.querySelector('article[data-file="main.go"]').textContent.includes("var b = 2")`)
	b.Check("cockpit-rework")
	// Another door answers: the page says so without being loaded again.
	b.Until(`document.documentElement.dataset.live === "on"`)
	w.forge("approve", run+".2").want(exitDone)
	b.Until(`document.querySelector("#now").textContent.includes("approved by tester")`)
	b.GoTo("/p/demo/runs/" + run)
	b.Quiet()
}

// A job from its form to its end, and the question about its plan between.
func TestRealJobInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, jobScript, "true")
	s := withPages(t, w)
	b := s.signedIn()
	b.GoTo("/p/demo/jobs/new")
	b.Type("#description", "Write the file.")
	b.Click("form.stack button.main")
	b.Until(`location.pathname.includes("/jobs/j-")`)
	b.Until(`document.querySelector("#now").textContent.includes("It waits for you")`)
	b.Reload()
	b.Until(`document.querySelector(".todo-open")`)
	b.Check("job")
	b.Click(`#now .notice a`)
	b.Until(`document.querySelector(".paper-section")`)
	b.Check("cockpit-job")
	b.Click(`[data-answer] button[data-key="a"]`)
	b.Until(`document.querySelector("#now").textContent.includes("approved")`)
	b.GoTo("/p/demo/jobs")
	b.Click(`table.list a`)
	b.Until(`document.querySelector("#now").textContent.includes("It waits for you")`)
	b.Click(`#now .notice a`)
	b.Until(`document.querySelector('[data-answer] button[data-key="a"]')`)
	b.Click(`[data-answer] button[data-key="a"]`)
	b.Until(`document.querySelector("#now").textContent.includes("approved")`)
	s.until(s.Owner(), "/p/demo/jobs", "state-completed")
	b.GoTo("/p/demo/jobs")
	b.Check("jobs")
	b.Quiet()
}
