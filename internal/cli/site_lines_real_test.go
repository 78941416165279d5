//go:build real

package cli

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"forge/factory/web/webtest"
	"forge/internal/pace"
)

// Lines of the change that are chosen by their numbers go with what is said to the
// agent: by a click, with Shift, by a drag, by keys, by two taps; each can be taken
// away; and what is said quotes them to the agent.
func TestRealLinesGoWithAWordInABrowser(t *testing.T) {
	pace.Slow(t, "a browser chooses lines in each way, wide and on a phone")
	t.Parallel()
	w := newWorld(t, writesMain(1, "package main\n\nvar a = 1\n"+strings.Repeat("func f() int { return 1 }\n", 30)), "true")
	w.plan(phase("01", "first", 3))
	w.forge("run", "--level", "guided").want(exitFrozen)
	s := withPages(t, w)
	b := s.signedIn()
	run := s.runID()
	file := `article[data-file="main.go"] `
	line := func(n string) string { return file + `td.ln[data-side="new"][data-line="` + n + `"]` }
	chosen := func(want string) {
		t.Helper()
		b.Until(`document.querySelector("#tell-with").value === "` + strings.ReplaceAll(want, " ", `\n`) + `"`)
		b.Until(`[...document.querySelectorAll("#chosen li span")].map((e) => e.textContent).join(" ") === "` + want + `"`)
		b.Until(`document.querySelector("#chosen").hidden === ` + map[bool]string{true: "true", false: "false"}[want == ""])
	}
	opened := func(look webtest.Look) {
		t.Helper()
		b.As(look)
		b.GoTo("/p/demo/runs/" + run)
		b.Live()
		b.Until(`document.querySelector('` + line("3") + `')`)
		chosen("")
	}

	// By mouse.
	opened(webtest.Looks[0])
	b.Click(line("3"))
	chosen("main.go:3")
	b.ShiftClick(line("6"))
	chosen("main.go:3-6")
	b.ShiftClick(line("2"))
	chosen("main.go:2-3")
	b.Until(`[...document.querySelectorAll('` + file + `tr.chosen td[data-side="new"]')].map((e) => e.dataset.line).join() === "2,3"`)
	b.Click(line("10"))
	x, y := b.Middle(line("12"))
	b.Click(line("10")) // once more takes it away
	chosen("main.go:2-3")
	b.Drag(line("10"), x, y)
	chosen("main.go:2-3 main.go:10-12")
	b.Click(`article[data-file="notes.md"] td.ln[data-side="new"][data-line="3"]`)
	chosen("main.go:2-3 main.go:10-12 notes.md:3")
	for _, wrong := range b.Wrong() {
		t.Error(wrong)
	}
	b.Click(`#chosen li:nth-child(2) button`)
	chosen("main.go:2-3 notes.md:3")
	// What is typed counts as well.
	b.Set("#tell-with", "main.go:4-5")
	chosen("main.go:4-5")
	b.Until(`document.querySelectorAll('` + file + `tr.chosen').length === 2`)

	// By keys.
	opened(webtest.Looks[0])
	b.Until(`document.querySelectorAll('` + file + `td.ln[tabindex="0"]').length === 1`)
	b.Focus(line("1"))
	b.Keys("ArrowDown", "ArrowDown", "Enter")
	chosen("main.go:3")
	shifted := func(key string, code int64) {
		b.Run(input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithCode(key).WithWindowsVirtualKeyCode(code).WithModifiers(input.ModifierShift), input.DispatchKeyEvent(input.KeyUp).WithKey(key).WithCode(key).WithWindowsVirtualKeyCode(code))
	}
	shifted("ArrowDown", 40)
	shifted("ArrowDown", 40)
	chosen("main.go:3-5")
	shifted("ArrowUp", 38)
	chosen("main.go:3-4")
	b.Focus(`#chosen li button`)
	b.Keys("Enter")
	chosen("")
	b.Until(`document.activeElement.id === "tell-text"`)

	// No more than a message takes.
	for _, n := range []string{"3", "5", "7", "9", "11", "13", "15", "17", "19"} {
		b.Click(line(n))
	}
	b.Until(`document.querySelector("#notice").textContent.includes("At most 8")`)
	b.Until(`document.querySelectorAll("#chosen li").length === 8`)

	// On a phone: where it begins, where it ends; and then it is said.
	opened(webtest.Looks[2])
	b.Tap(line("4"))
	chosen("main.go:4")
	b.Tap(line("7"))
	chosen("main.go:4-7")
	b.Tap(line("9"))
	chosen("main.go:4-7 main.go:9")
	b.Tap(line("9"))
	chosen("main.go:4-7")
	b.Until(`document.documentElement.scrollWidth <= innerWidth`)
	for _, wrong := range b.Wrong() {
		t.Error("phone: " + wrong)
	}
	b.Tap(`#chosen a`)
	b.Type("#tell-text", "Why so many?")
	b.Tap("#tell form button:not([name])")
	b.Until(`document.querySelector("#now .told").textContent.includes("main.go:4-7")`)
	told := w.saidTo(run)
	if len(told) != 1 || told[0].Text != "Why so many?" || len(told[0].Attached) != 1 || told[0].Attached[0].String() != "main.go:4-7" || strings.Count(told[0].Attached[0].Text, "func f()") != 4 {
		t.Errorf("told: %+v", told)
	}

	// From a question about the change: its line goes with the word.
	b.As(webtest.Looks[0])
	b.GoTo("/p/demo/checkpoints/" + run + ".1")
	b.Until(`document.querySelector('` + line("3") + `')`)
	b.Click(line("3"))
	b.Until(`document.querySelector("tr.asking textarea")`)
	b.Run(chromedp.Evaluate(`document.querySelector("tr.asking a").click()`, nil))
	b.Until(`location.hash === "#tell" && location.pathname.endsWith("/runs/` + run + `")`)
	b.Entered()
	chosen("main.go:3")
	b.Quiet()
}
