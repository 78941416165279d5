//go:build real

package cli

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"forge/factory/web/webtest"
	"forge/internal/fakemodel"
	"forge/internal/pace"
	"forge/internal/work"
)

// A person talks to the companion beside a run, in the cockpit and on the board: the
// answer comes while it is written, calls can be opened, proposals are confirmed,
// dismissed and refused, by mouse and keys, on a wide and on a small screen. What the
// model writes loads nothing and leads nowhere.
func TestRealCompanionInABrowser(t *testing.T) {
	pace.Slow(t, "a browser looks at each page in four looks, with an answer that comes slowly")
	t.Parallel()
	var outside atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { outside.Add(1) }))
	defer evil.Close()
	hostile := "\n\n![x](" + evil.URL + "/p.png) [click](" + evil.URL + "/?q=secret) <img src=\"" + evil.URL + "/i.png\"> " + evil.URL + "/bare"
	w := withTalker(t, fakemodel.Service{Turns: []fakemodel.Turn{
		calls(tool("file", map[string]any{"path": "main.go"}), tool("status", map[string]any{"run": "260101-none"})),
		{Text: "It sets a in main.go:3, and says so in `notes.md:1`; other.go:9 is not there.\n\n- one\n- two" + hostile, Fault: fakemodel.Fault{Slow: 300 * time.Millisecond}},
		calls(
			tool("propose_comment", map[string]any{"path": "main.go", "line": 3, "text": "Call it b.", "why": "a says nothing"}),
			tool("propose_edit", map[string]any{"path": "main.go", "old": "var a", "new": "var b"}),
			tool("propose_edit", map[string]any{"path": "main.go", "old": "var a", "new": "var c"}),
			tool("propose_level", map[string]any{"level": "full"}),
		),
		{Text: "See the proposals."},
		calls(tool("issues", nil), tool("propose_issue", map[string]any{"title": "Name it well", "description": "Everywhere."})),
		{Text: "An issue would do."},
	}}, "")
	s := withPages(t, w.world)
	b := s.signedIn()
	looks := map[string]webtest.Look{}
	for _, look := range webtest.Looks {
		looks[look.Name] = look
	}
	ask := func(question string) {
		t.Helper()
		b.Type("#companion-question", question)
		b.Click(".companion-ask button.main")
	}

	// Beside the run: by keys, while the answer comes.
	b.GoTo("/p/demo/runs/" + w.run)
	b.Live()
	b.Focus(".companion > summary")
	b.Keys("Enter")
	b.Until(`document.querySelector("#companion-question")`)
	b.Check("companion-empty")
	b.As(looks["light"])
	b.Focus("#companion-question")
	b.Run(chromedp.KeyEvent("What does it do?"), chromedp.KeyEvent("\r", chromedp.KeyModifiers(2)))
	b.Until(`document.querySelector(".turn .pulse") && document.querySelectorAll(".turn .talk-tool").length === 2`)
	b.Until(`document.querySelector(".turn .answered")?.textContent.length > 0 && document.querySelector(".turn .pulse")`) // it streams
	b.Click(".turn .talk-tool summary")
	b.Until(`document.querySelector(".turn .talk-tool").open && document.querySelector(".turn .talk-tool pre").textContent.includes("var a = 1")`)
	b.Until(`!document.querySelector(".turn .pulse") && document.querySelector(".turn .answered").textContent.includes("one")`)
	b.Until(`document.querySelector(".turn .talk-tool").open`) // also after all the words that came
	b.Until(`document.querySelector(".turn .talk-tool.bad").textContent.includes("refused")`)
	b.Until(`[...document.querySelectorAll(".turn .answered a")].map(a => a.getAttribute("href").split("/").pop()).join(" ") === "blob?path=main.go#L3 blob?path=notes.md#L1"`)
	b.Until(`!document.querySelector(".turn img") && document.querySelector(".turn .answered").textContent.includes("/?q=secret")`)
	b.Check("companion-answer")
	b.As(looks["light"])
	b.Click(`.turn .answered a`)
	b.Until(`location.pathname.endsWith("/blob") && location.hash === "#L3" && document.querySelector("#L3").textContent.includes("var a")`)
	b.Entered()

	// In the cockpit: proposals.
	at := "/p/demo/checkpoints/" + w.run + ".1"
	b.GoTo(at)
	b.Live()
	b.Click(".companion > summary")
	b.Until(`document.querySelectorAll(".turn").length === 1`) // it is the run's
	ask("Rename a")
	b.Until(`document.querySelectorAll(".proposal").length === 4 && !document.querySelector(".turn .pulse")`)
	b.Check("companion-proposals")
	b.As(looks["light"])
	proposal := func(n int) string {
		return ".proposal:nth-of-type(" + string(rune('0'+n)) + ")"
	}
	b.Click(proposal(1) + ` form[action$="confirm"] button`)
	b.Until(`document.querySelector("` + proposal(1) + `.proposal-done")`)
	b.Until(`document.querySelector("#now").textContent.includes("Call it b.")`)
	b.Focus(proposal(2) + ` form[action$="confirm"] button`)
	b.Keys("Enter")
	b.Until(`document.querySelector("` + proposal(2) + `.proposal-done")`)
	b.Click(proposal(3) + ` form[action$="confirm"] button`)
	b.Until(`document.querySelector("` + proposal(3) + `.proposal-refused").textContent.includes("meanwhile")`)
	b.Click(proposal(4) + ` form[action$="dismiss"] button`)
	b.Until(`document.querySelector("` + proposal(4) + `.proposal-dismissed")`)
	b.Check("companion-settled")
	b.As(looks["light"])
	cp := w.point(t, w.room(t))
	if len(cp.Comments) != 1 || len(cp.Edits) != 1 || cp.Status != work.CheckpointPending {
		t.Errorf("the question is %+v", cp)
	}
	b.Focus("#companion-question")
	b.Keys("Escape")
	b.Until(`!document.querySelector(".companion").open && document.activeElement.matches(".companion > summary")`)

	// On the board, on a phone; without a script by the page alone.
	b.As(looks["phone"])
	b.GoTo("/p/demo")
	b.Live()
	b.Click(".companion > summary")
	ask("What is open?")
	b.Until(`document.querySelector(".proposal form[action$=confirm] button") && !document.querySelector(".turn .pulse")`)
	b.Check("companion-board")
	b.As(looks["phone"])
	b.Click(`.proposal form[action$="confirm"] button`)
	b.Until(`document.querySelector(".proposal-done").textContent.includes("it is issue 1")`)
	b.Until(`document.querySelector('[data-column="backlog"] .card').textContent.includes("Name it well")`)
	b.Until(`document.documentElement.scrollWidth <= innerWidth`)
	b.GoTo("/p/demo/companion?run=" + w.run)
	b.Check("companion-page")
	if n := outside.Load(); n > 0 {
		t.Errorf("what the model wrote was loaded %d times", n)
	}
	b.Quiet()
}
