//go:build real

package web_test

import (
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"forge/factory/web/webtest"
)

// Everything can be reached by Ctrl-K, and an issue is looked at beside the board.
func TestRealMenuInABrowser(t *testing.T) {
	t.Parallel()
	w := webtest.New(t)
	fill(w)
	b := w.Browser()
	b.SignIn()
	b.GoTo("/p/demo")
	open := func() {
		t.Helper()
		b.Until(`document.querySelector("[data-everything]:not([hidden])")`) // the page's script has run
		b.Run(chromedp.Evaluate(`document.activeElement?.blur()`, nil), chromedp.KeyEvent("k", chromedp.KeyModifiers(input.ModifierCtrl)))
		b.Until(`document.querySelector("#everything").open && document.activeElement.id === "everything-find"`)
	}

	open()
	b.Until(`![...document.querySelectorAll("#everything li")].some(li => /Go to…|^Forge$|^demo$|^Light$/.test(li.textContent))`)
	b.Check("menu")
	open() // the field has the focus again
	b.Run(chromedp.KeyEvent("line"))
	b.Until(`document.querySelector("#everything li")`)
	b.Check("menu-typed")
	open()
	b.Keys("Escape")
	b.Until(`!document.querySelector("#everything").open`)
	open()
	b.Run(chromedp.KeyEvent("inbo"), chromedp.KeyEvent("\r"))
	b.Until(`location.pathname === "/p/demo" && location.search === "?q=inbo"`) // what is typed is searched for first
	open()
	b.Run(chromedp.KeyEvent("inbo"))
	b.Keys("ArrowDown", "ArrowDown")
	b.Run(chromedp.KeyEvent("\r"))
	b.Until(`location.pathname === "/inbox"`)
	b.GoTo("/p/demo")
	open()
	b.Run(chromedp.KeyEvent("#7"), chromedp.KeyEvent("\r"))
	b.Until(`location.pathname === "/p/demo/issues/7"`)

	b.GoTo("/p/demo")
	b.Until(`document.querySelector("#card-7").tabIndex === -1`) // the board is dressed
	b.Click("#card-7 .card-title")
	b.Until(`document.querySelector("#peek h2").textContent.includes("Parse the header twice")`)
	b.Until(`location.pathname === "/p/demo"`)
	b.Check("peek")
	b.Keys("Escape")
	b.Until(`!document.querySelector("#peek").firstChild && document.activeElement.id === "card-7"`)
	b.Quiet()
}
