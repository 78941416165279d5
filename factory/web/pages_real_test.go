//go:build real

package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web"
	"forge/factory/web/webtest"
	"forge/internal/search"
	"forge/internal/work"
)

// fill puts a board together on which every kind of card stands.
func fill(w *webtest.World) {
	w.Issue("Read dates in every usual form", work.ColumnBacklog, func(i *work.Issue) { i.Labels = []string{"parser"}; i.Priority = work.PriorityHigh })
	w.Issue("Keep the width of a column whose header, such as customer_identifier_of_the_parent_account, is longer than its values", work.ColumnBacklog)
	w.Issue("Say which line is wrong", work.ColumnReady, func(i *work.Issue) {
		i.Needs = []int64{1, 2}
		i.Priority = work.PriorityUrgent
		i.Labels = []string{"errors", "parser"}
	})
	w.Issue("Retry the upload", work.ColumnReady)
	for _, s := range []struct {
		title  string
		column work.Column
		state  work.IssueState
		reason string
		hold   []string
	}{
		{"Cache the index", work.ColumnInProgress, "", "", nil},
		{"Ask before a large change", work.ColumnInProgress, work.IssueWaits, "the plan has to be approved", nil},
		{"Parse the header twice", work.ColumnInProgress, work.IssueFailed, "phase 02 ran out of iterations", nil},
		{"Sort by name", work.ColumnInProgress, work.IssueCancelled, "not wanted any more", nil},
		{"Rename the flag", work.ColumnInReview, "", "", []string{"review_warnings", "fix_attempts"}},
		{"Write the help page", work.ColumnDone, "", "landed on main as 0123456789ab", nil},
	} {
		i := w.Issue(s.title, work.ColumnReady)
		w.Put(i, func(i *work.Issue) {
			i.Column, i.State, i.Reason = s.column, s.state, s.reason
			if s.hold != nil {
				i.Hold = s.hold
			}
		})
	}
	hour := time.Now().Add(-time.Hour)
	for n, q := range []string{"Approve the plan of job ledger?", "2 findings are left. Go on?"} {
		w.Questions().Put(work.Checkpoint{ID: "cp-" + string(rune('1'+n)), Run: "r-0123456789abcdef", Kind: "plan.initial", Phase: "02", Question: q, Revision: 1, Who: []string{"", "reviewer"}[n], Status: work.CheckpointPending, OpenedAt: hour})
	}
	w.Floor().Set(web.Standing{Serving: true, Running: []int64{5}, Since: hour})
}

func TestRealPagesInABrowser(t *testing.T) {
	t.Parallel()
	w := webtest.New(t, func(c *web.Config) { c.Adds = &shelf{roots: []string{"/code"}} })
	w.Site.Change("demo", func(p *web.Project) {
		p.Starts = &starts{sum: "one", drafts: []web.Draft{{
			ID: "interview-spec", Kind: "spec", Text: "People want to export their notes", State: web.DraftAsks, Question: "Which format do they get?",
			Choices: []string{"Markdown, one file for each note", "one archive"}, Fix: `forge interview --answer "…"`, Began: time.Now().Add(-time.Minute),
		}}}
		p.Search = found{[]search.Hit{
			{Kind: search.KindFinding, Run: "260131-abcd", Phase: "01", Path: "12", Who: "security", Excerpt: "the request has no timeout:\nclient.Get(" + strings.Repeat("very_long_name_", 20) + ")"},
			{Kind: search.KindFile, Path: "a/very/long/path/of/a/file/that/goes/on/and/on/client_timeout.go", Line: 12, Excerpt: "const timeout = 30 * time.Second"},
		}, new([]string)}
	})
	fill(w)
	w.AddProject("ledger")
	if _, err := w.Keys.PutUser("rosa", web.RoleReviewer, "demo"); err != nil {
		t.Fatal(err)
	}
	many := w.AddProject("many")
	for n := range 60 {
		if _, err := many.Board.Add(t.Context(), work.Issue{Title: fmt.Sprintf("Wish %d of many", n+1), Column: work.ColumnBacklog, Priority: work.PriorityNormal}, factory.Place{At: factory.Bottom}, factory.By{Name: "tester", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
	}
	b := w.Browser()
	b.GoTo("/sign-in")
	b.Check("sign-in")
	b.SignIn()
	for name, path := range map[string]string{
		"projects": "/", "board": "/p/demo", "board-empty": "/p/ledger", "board-filtered": "/p/demo?label=parser&q=line", "board-none": "/p/demo?q=nothing", "board-many": "/p/many",
		"inbox": "/inbox", "issue-new": "/p/demo/issues/new", "issue-edit": "/p/demo/issues/3/edit", "issue": "/p/demo/issues/7", "not-found": "/p/nothing",
		"search": "/search?q=timeout", "search-wrong": "/search?q=kind:x&project=demo", "project-new": "/projects/new", "run-new": "/p/demo/runs/new", "interview": "/p/demo/drafts/interview-spec",
	} {
		b.GoTo(path)
		b.Check(name)
	}
	b.GoTo("/p/demo/runs/new")
	b.Type("#text", "Add --count to wc")
	b.Click("form.stack button.main")
	b.Until(`document.querySelector("#forecast")`)
	b.Check("run-forecast")
	b.GoTo("/p/many")
	b.Click(`[data-column="backlog"] .more button`)
	b.Until(`document.querySelectorAll(".card").length === 60 && !document.querySelector(".more")`)
	// An issue beside the board leaves the bar in one line, and goes again.
	b.GoTo("/p/demo")
	const oneLine = `document.querySelector("header.bar").getBoundingClientRect().height < 60`
	b.Until(oneLine)
	b.Click("#card-5 .card-title")
	b.Until(`document.querySelector("#peek h2")`)
	b.Until(oneLine)
	b.Click("#peek .peek-bar button")
	b.Until(`!document.querySelector("#peek h2") && getComputedStyle(document.querySelector(".bar .find")).display !== "none"`)
	// On a small screen the column that needs somebody comes first; the others are a
	// tap away.
	looks := map[string]webtest.Look{}
	for _, look := range webtest.Looks {
		looks[look.Name] = look
	}
	b.As(looks["phone"])
	shown := func(column string) string {
		return `Math.abs(document.querySelector('[data-column="` + column + `"]').getBoundingClientRect().left - document.getElementById("columns").getBoundingClientRect().left) < 20`
	}
	b.GoTo("/p/demo")
	b.Until(`document.querySelector('#column-tabs .asks[data-shows="in_progress"]')`)
	b.Until(shown("in_progress"))
	b.Click(`#column-tabs [data-shows="ready"]`)
	b.Until(shown("ready"))
	// A tap may begin before the board changes and end after it.
	b.JS(`const tab = document.querySelector('#column-tabs [data-shows="ready"]'), card = document.querySelector(".card-title");
		card.append("!"); setTimeout(() => { window.tapped = tab.isConnected ? "the same" : "another"; card.lastChild.remove(); }, 50)`, nil)
	b.Until(`window.tapped`)
	b.Until(`window.tapped === "the same"`)
	b.Until(`document.querySelector("header.bar").getBoundingClientRect().height < 60`)
	// What a filter leaves is on show, wherever it stands.
	b.GoTo("/p/demo?label=parser&q=line")
	b.Until(shown("ready"))
	b.GoTo("/p/demo")
	// So it is where a wide window becomes a narrow one, and nothing stands beside it.
	b.As(looks["light"])
	b.Until(`document.getElementById("columns").scrollLeft === 0`)
	b.As(looks["phone"])
	b.Until(shown("in_progress"))
	b.Until(`document.documentElement.scrollWidth <= innerWidth`)
	// One that becomes narrower yet stays at its column.
	b.Click(`#column-tabs [data-shows="in_review"]`)
	b.Until(shown("in_review"))
	b.As(webtest.Look{Name: "narrow", Scheme: "light", Width: 340, Height: 700})
	b.Until(shown("in_review"))

	// Chromium says of each page that is not there that it is not there.
	b.Quiet("404")
}

// The check finds what it is there for.
func TestRealCheckFindsFaultsInABrowser(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	b := w.Browser()
	b.SignIn()
	for name, c := range map[string][2]string{
		"contrast":    {`document.querySelector("h1").style.color = getComputedStyle(document.body).backgroundColor`, "contrast 1.00"},
		"disabled":    {`document.querySelector("main").append(Object.assign(document.createElement("button"), {textContent: "x", disabled: true, style: "color: #777; background: #666"}))`, "contrast 1."},
		"name":        {`document.querySelector("main").append(document.createElement("button"))`, "no name"},
		"label":       {`document.querySelector("main").append(Object.assign(document.createElement("input"), {}))`, "no name"},
		"focus":       {`document.querySelector("a.brand").style.outline = "none"`, "focus is not seen"},
		"order":       {`document.querySelector("a.brand").tabIndex = 3`, "out of the order"},
		"turned":      {`document.querySelector("main").style.order = "-1"`, "another order"},
		"ids":         {`document.querySelector("h1").id = "main"`, "stands 2 times"},
		"wide":        {`document.querySelector("h1").style.minWidth = "9000px"`, "the page is"},
		"two firsts":  {`document.querySelector("main").append(Object.assign(document.createElement("h1"), {textContent: "x"}))`, "first headings"},
		"no banner":   {`document.querySelector("body > header").remove()`, "not one <header>"},
		"banners":     {`document.body.append(Object.assign(document.createElement("header"), {textContent: "x"}))`, "not one <header>"},
		"said first":  {`document.querySelector("h1").className = "prose"`, "what somebody wrote"},
		"cut off":     {`Object.assign(document.querySelector("h1").style, {width: "2rem", overflow: "hidden", whiteSpace: "nowrap"})`, "cut off"},
		"covered":     {`document.body.append(Object.assign(document.createElement("div"), {textContent: "x", style: "position: fixed; inset: 0 0 50% 0; z-index: 99; background: white; color: black"}))`, "has the focus below"},
		"lost target": {`document.querySelector("h1").setAttribute("aria-labelledby", "nothing")`, "which is not there"},
	} {
		b.GoTo("/")
		var done any
		b.JS("(() => { "+c[0]+"; return 1 })()", &done)
		wrong := b.Wrong()
		if !strings.Contains(strings.Join(wrong, "\n"), c[1]) {
			t.Errorf("%s is not found: %q", name, wrong)
		}
	}
}

// What a page takes away under the mouse is clicked again, and what was clicked is not,
// whatever the click has made of it.
func TestRealClicksAreMadeOnceInABrowser(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	b := w.Browser()
	b.SignIn()
	b.JS(`window.clicks = 0; window.downs = 0;
		document.querySelector("main").innerHTML = '<button id="aim">Aim</button>';
		const anew = () => document.querySelector("#aim").replaceWith(document.querySelector("#aim").cloneNode(true));
		addEventListener("pointerdown", () => { if (++downs === 1) anew(); });
		addEventListener("click", (e) => { if (e.target.id === "aim") { clicks++; anew(); } })`, nil)
	b.Click("#aim")
	b.Until(`clicks === 1 && downs === 2`)
	b.Click("#aim")
	b.Until(`clicks === 2 && downs === 3`)
	b.Quiet()
}
