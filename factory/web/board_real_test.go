//go:build real

package web_test

import (
	"context"
	"fmt"
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
	t.Run("an answer that is late takes nobody from where they went", func(t *testing.T) {
		one.JS(`(() => {
			const send = window.forgeSend;
			window.forgeSend = async (...all) => {
				window.forgeSend = send;
				const now = await send(...all);
				await new Promise((on) => { window.answer = on; });
				return now;
			};
		})()`, nil)
		one.Focus("#card-1")
		one.Keys("Space", "ArrowDown", "Enter")
		column(work.ColumnReady, 2, 1)
		one.Until(`window.answer`)
		one.Keys("ArrowUp", "Space")
		one.Until(`document.activeElement.id === "card-2" && document.activeElement.matches(".picked")`)
		one.JS(`window.answer()`, nil)
		one.Until(`document.getElementById("said").textContent === "Issue 1 is in Ready now."`)
		var at string
		one.JS(`document.activeElement.id + " " + (document.querySelector(".picked")?.id ?? "nothing picked up")`, &at)
		if at != "card-2 card-2" {
			t.Errorf("the answer came while card-2 was picked up; now the focus is at, and picked up is: %s", at)
		}
		one.Keys("Escape")
	})
	t.Run("what came for a card in somebody's hand is shown when it is let go", func(t *testing.T) {
		one.Focus("#card-2")
		one.Keys("Space")
		one.Until(`document.querySelector("#card-2.picked")`)
		p, _ := w.Site.Project(context.Background(), "demo")
		if _, err := p.Board.Move(context.Background(), 2, work.ColumnBacklog, factory.Place{At: factory.Top}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
		two.Until(inColumn("2", "backlog"))
		one.Until(`document.querySelector('[data-column="backlog"] .count').textContent === "3"`)
		one.Keys("Escape")
		one.Until(inColumn("2", "backlog") + ` && document.activeElement.id === "card-2"`)
		one.Focus("#card-1")
		one.JS(`document.getElementById("columns").dataset.shown = "before"`, nil)
		one.JS(`document.dispatchEvent(new Event("forge:behind", { cancelable: true }))`, nil)
		one.Until(`!document.getElementById("columns").dataset.shown && document.activeElement.id === "card-1"`)
		if _, err := p.Board.Move(context.Background(), 2, work.ColumnReady, factory.Place{At: factory.Bottom}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
		one.Until(inColumn("2", "ready"))
	})
	// The next drawing of the columns is answered when the test says so.
	holdDrawing := func() {
		t.Helper()
		one.JS(`(() => {
			document.getElementById("columns").dataset.shown = "before";
			window.drawn = null;
			const get = window.fetch;
			window.fetch = async (...all) => {
				if (!String(all[0]).includes("/columns")) return get(...all);
				window.fetch = get;
				const now = await get(...all);
				await new Promise((on) => { window.drawn = on; });
				return now;
			};
			document.dispatchEvent(new Event("forge:behind", { cancelable: true }));
		})()`, nil)
		one.Until(`window.drawn`)
	}
	anew := `!document.getElementById("columns").dataset.shown`
	t.Run("a new drawing leaves the focus where it is", func(t *testing.T) {
		one.Focus("#card-2")
		holdDrawing()
		// What a key that comes at once would meet.
		one.JS(`new MutationObserver((_, o) => {
			if (document.getElementById("columns").dataset.shown) return;
			o.disconnect();
			window.met = document.activeElement.id;
		}).observe(document.getElementById("board"), { subtree: true, childList: true })`, nil)
		one.JS(`window.drawn()`, nil)
		one.Until(anew + ` && window.met`)
		var met string
		one.JS(`window.met`, &met)
		if met != "card-2" {
			t.Errorf("where the columns had just been drawn anew, the focus was at %q, want card-2", met)
		}
	})
	t.Run("a new drawing takes no card out of somebody's hand", func(t *testing.T) {
		one.Focus("#card-2")
		holdDrawing()
		one.Keys("Space")
		one.Until(`document.querySelector("#card-2.picked")`)
		one.JS(`document.addEventListener("htmx:finally:request", (e) => {
			window.answered ||= e.detail.ctx.request.action.includes("/columns");
		})`, nil)
		one.JS(`window.drawn()`, nil)
		one.Until(`window.answered`)
		var at string
		one.JS(`document.activeElement.id + " " + (document.querySelector(".picked")?.id ?? "nothing picked up")`, &at)
		if at != "card-2 card-2" {
			t.Errorf("the columns were to be drawn anew while card-2 was picked up; now the focus is at, and picked up is: %s", at)
		}
		one.Keys("Escape")
		one.Until(anew + ` && document.activeElement.id === "card-2"`)
	})
	t.Run("a drawing that is older than what came since is drawn once more", func(t *testing.T) {
		holdDrawing()
		p, _ := w.Site.Project(context.Background(), "demo")
		if _, err := p.Board.Move(context.Background(), 2, work.ColumnBacklog, factory.Place{At: factory.Top}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
		one.Until(inColumn("2", "backlog"))
		one.JS(`window.drawn()`, nil)
		one.Until(anew + " && " + inColumn("2", "backlog"))
		if _, err := p.Board.Move(context.Background(), 2, work.ColumnReady, factory.Place{At: factory.Bottom}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
		one.Until(inColumn("2", "ready"))
	})
	t.Run("a card that is dragged is there once, whatever comes for it", func(t *testing.T) {
		pointer := func(kind, at string, dy int) {
			t.Helper()
			one.JS(fmt.Sprintf(`(() => {
				const box = document.querySelector(%q).getBoundingClientRect();
				document.getElementById("card-3").dispatchEvent(new PointerEvent(%q, {
					bubbles: true, pointerId: 1, pointerType: "mouse", clientX: box.left + box.width / 2, clientY: box.top + box.height / 2 + %d,
				}));
			})()`, at, kind, dy), nil)
		}
		pointer("pointerdown", "#card-3", 0)
		pointer("pointermove", "#card-4", 12)
		one.Until(`document.querySelector("#card-3.moving")`)
		p, _ := w.Site.Project(context.Background(), "demo")
		if _, err := p.Board.Move(context.Background(), 3, work.ColumnDone, factory.Place{At: factory.Top}, factory.By{Name: "somebody", Door: "cli"}); err != nil {
			t.Fatal(err)
		}
		one.Until(`document.querySelector('[data-column="done"] .count').textContent === "1"`)
		pointer("pointermove", "#card-4", 13)
		pointer("pointerup", "#card-4", 13)
		var there int
		one.JS(`document.querySelectorAll("[id=card-3]").length`, &there)
		if there != 1 {
			t.Errorf("card-3 is there %d times", there)
		}
		column(work.ColumnBacklog, 4, 3)
		one.Until(inColumn("3", "backlog") + ` && document.querySelector('[data-column="done"] .count').textContent === "0"`)
		two.Until(inColumn("3", "backlog"))
	})
	t.Run("what comes without a pause does not put a drawing off", func(t *testing.T) {
		one.JS(`(() => {
			document.getElementById("columns").dataset.shown = "before";
			window.again = setInterval(() => document.dispatchEvent(new Event("forge:behind", { cancelable: true })), 50);
		})()`, nil)
		one.Until(anew)
		one.JS(`clearInterval(window.again)`, nil)
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
