//go:build real

package web_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"forge/factory"
	"forge/factory/web/webtest"
	"forge/internal/work"
)

func TestRealBoardInABrowser(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	for _, title := range []string{"First", "Second", "Third"} {
		w.Issue(title, work.ColumnBacklog)
	}
	one := w.Browser()
	one.SignIn()
	one.GoTo("/p/demo")
	one.Live()
	two := one.Window()
	two.GoTo("/p/demo")
	two.Live()

	column := func(name work.Column, want ...int64) {
		t.Helper()
		deadline := time.Now().Add(webtest.Patience)
		for got := w.Column(name); !slices.Equal(got, want); got = w.Column(name) {
			if time.Now().After(deadline) {
				t.Fatalf("%s holds %v, want %v\nserver: %s", name, got, want, w.Log)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	inColumn := func(issue, name string) string {
		return `document.querySelector('[data-column="` + name + `"] #card-` + issue + `')`
	}

	t.Run("add", func(t *testing.T) {
		one.Type("#new-title", "Fourth")
		one.Click(".quick-add button.main")
		one.Until(inColumn("4", "backlog"))
		two.Until(inColumn("4", "backlog"))
		one.Until(`document.querySelector("#added").textContent.includes("#4") && document.querySelector("#new-title").value === ""`)
		two.Until(`document.querySelector('[data-column="backlog"] .count').textContent === "4"`)
	})
	t.Run("drag", func(t *testing.T) {
		x, y := one.Middle(`[data-column="ready"] .stack-of-cards`)
		one.Drag("#card-2", x, y)
		one.Until(inColumn("2", "ready"))
		two.Until(inColumn("2", "ready"))
		column(work.ColumnReady, 2)
		column(work.ColumnBacklog, 1, 3, 4)
		// Above another card.
		x, y = one.Middle("#card-1")
		one.Drag("#card-4", x, y-12)
		column(work.ColumnBacklog, 4, 1, 3)
		two.Until(`document.querySelector('[data-column="backlog"] .card').id === "card-4"`)
		two.Until(`document.querySelector('[data-column="backlog"] .count').textContent === "3"`)
	})
	t.Run("keyboard", func(t *testing.T) {
		one.Focus("#card-1")
		one.Keys("Space")
		one.Until(`document.getElementById("said").textContent.startsWith("Picked up issue 1")`)
		one.Keys("ArrowRight")
		one.Until(`document.getElementById("said").textContent.startsWith("Ready, place")`)
		one.Keys("ArrowUp", "Enter")
		column(work.ColumnReady, 1, 2)
		one.Until(`document.activeElement.id === "card-1"`)
		two.Until(inColumn("1", "ready"))
		// Escape changes nothing.
		one.Keys("Space", "ArrowLeft", "Escape")
		one.Until(inColumn("1", "ready") + ` && document.activeElement.id === "card-1"`)
		// Arrows alone walk.
		one.Keys("ArrowDown")
		one.Until(`document.activeElement.id === "card-2"`)
		column(work.ColumnReady, 1, 2)
	})
	t.Run("refused", func(t *testing.T) {
		x, y := one.Middle(`[data-column="in_progress"] .stack-of-cards`)
		one.Drag("#card-3", x, y)
		one.Until(`document.getElementById("notice").textContent.includes("nobody but a claim")`)
		one.Until(inColumn("3", "backlog"))
		column(work.ColumnBacklog, 4, 3)
	})
	t.Run("from elsewhere", func(t *testing.T) {
		p, _ := w.Site.Project(context.Background(), "demo")
		if _, err := p.Board.Move(context.Background(), 3, work.ColumnDone, factory.Place{At: factory.Top}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
		one.Until(inColumn("3", "done"))
		two.Until(inColumn("3", "done"))
	})
	one.Quiet()
	two.Quiet()
}
