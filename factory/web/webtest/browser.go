//go:build real

package webtest

import (
	"cmp"
	"context"
	_ "embed" // the check
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Patience is how long a page, or what it asked for, may take to become what a
// test waits for: also on a machine that has much else to do.
const Patience = 3 * time.Minute

// CheckScript comes to a list of what is wrong with the page that is shown: for
// people who use no mouse, see little contrast, or have a small screen.
//
//go:embed check.js
var CheckScript string

// Tab is a window of a browser.
type Tab struct {
	w   *World
	ctx context.Context

	mu     sync.Mutex
	errors []string // what the page said to its console
}

// Browser starts Chromium, FORGE_REAL_HEADLESS_SHELL, FORGE_REAL_CHROMIUM or the one on the
// path, and is its first window. Nobody is signed in.
func (w *World) Browser() *Tab {
	w.TB.Helper()
	path := cmp.Or(os.Getenv("FORGE_REAL_HEADLESS_SHELL"), os.Getenv("FORGE_REAL_CHROMIUM"))
	if path == "" {
		var err error
		if path, err = exec.LookPath("chromium"); err != nil {
			w.TB.Fatal("chromium is missing: scripts/real.sh installs it")
		}
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(w.profile()), chromedp.WSURLReadTimeout(Patience), chromedp.WindowSize(1400, 900))
	all, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	w.TB.Cleanup(cancel)
	return w.tab(all)
}

// At starts Chromium for pages that another process serves at url. Nobody is
// signed in.
func At(tb testing.TB, url string) *Tab {
	tb.Helper()
	return (&World{TB: tb, HTTP: &httptest.Server{URL: url}, Log: &Log{}}).Browser()
}

// profile is a folder for a browser's own files. Its processes may write there
// for a moment after the browser has ended.
func (w *World) profile() string {
	w.TB.Helper()
	dir, err := os.MkdirTemp("", "forge-browser-")
	if err != nil {
		w.TB.Fatal(err)
	}
	w.TB.Cleanup(func() {
		end := time.Now().Add(Patience)
		for err := os.RemoveAll(dir); err != nil; err = os.RemoveAll(dir) {
			if time.Now().After(end) {
				w.TB.Error(err)
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return dir
}

// Window is another window of the same browser, with the same sign-in.
func (b *Tab) Window() *Tab {
	b.w.TB.Helper()
	return b.w.tab(b.ctx)
}

func (w *World) tab(parent context.Context) *Tab {
	w.TB.Helper()
	ctx, cancel := chromedp.NewContext(parent)
	w.TB.Cleanup(cancel)
	b := &Tab{w: w, ctx: ctx}
	chromedp.ListenTarget(ctx, b.hear)
	// The first context begins the browser and ends it: it has no limit.
	if err := chromedp.Run(ctx); err != nil {
		w.TB.Fatal(err)
	}
	b.As(Looks[0])
	b.Run(emulation.SetFocusEmulationEnabled(true))
	return b
}

func (b *Tab) hear(ev any) {
	text := ""
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		text = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type != runtime.APITypeError && e.Type != runtime.APITypeWarning {
			return
		}
		var words []string
		for _, a := range e.Args {
			words = append(words, string(a.Value)+a.Description)
		}
		text = strings.Join(words, " ")
	default:
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.errors = append(b.errors, text)
}

// complaints is what the page said to its console, but for what holds one of
// the texts.
func (b *Tab) complaints(but ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.errors), func(line string) bool {
		return slices.ContainsFunc(but, func(text string) bool { return strings.Contains(line, text) })
	})
}

// Quiet fails when the page complained, also about what its policy forbids; but
// for lines that hold one of the texts.
func (b *Tab) Quiet(but ...string) {
	b.w.TB.Helper()
	if said := b.complaints(but...); len(said) > 0 {
		b.w.TB.Errorf("the pages complain:\n%s", strings.Join(said, "\n"))
	}
}

// Run does what a person does.
func (b *Tab) Run(actions ...chromedp.Action) {
	b.w.TB.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.w.TB.Fatalf("%v\nconsole: %s\nserver: %s\n%s", err, b.complaints(), b.w.Log.Tail(), b.html())
	}
}

// html is what the page shows, where it still answers.
func (b *Tab) html() (html string) {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	if err := chromedp.Run(ctx, chromedp.Evaluate("document.documentElement.outerHTML", &html)); err != nil {
		return "the page does not answer: " + err.Error()
	}
	return html
}

// CloseOthers closes the windows that pages opened. Each of Forge's keeps a
// connection for as long as it is seen, and a browser has six for a server.
func (b *Tab) CloseOthers() {
	b.w.TB.Helper()
	all, err := chromedp.Targets(b.ctx)
	if err != nil {
		b.w.TB.Fatal(err)
	}
	c := chromedp.FromContext(b.ctx)
	ctx, cancel := context.WithTimeout(cdp.WithExecutor(b.ctx, c.Browser), Patience)
	defer cancel()
	for _, info := range all {
		if info.Type == "page" && info.TargetID != c.Target.TargetID {
			_ = target.CloseTarget(info.TargetID).Do(ctx) // it may be gone
		}
	}
}

// SignIn signs the owner in.
func (b *Tab) SignIn() {
	b.w.TB.Helper()
	b.GoTo("/sign-in?link=" + b.w.Keys.Link())
}

// GoTo loads a page.
func (b *Tab) GoTo(path string) {
	b.w.TB.Helper()
	b.Open(b.w.HTTP.URL + path)
}

// Open loads a page of Forge at a whole address.
func (b *Tab) Open(address string) {
	b.w.TB.Helper()
	b.Run(chromedp.Navigate(address))
	b.Entered()
}

// Entered waits until the page that was asked for is there: over http the one
// before it asks for it with its token. What devtools know of a document's nodes
// does not always survive that, so that nothing here goes by them.
func (b *Tab) Entered() {
	b.w.TB.Helper()
	b.Until(`document.readyState === "complete" && !document.documentElement.dataset.entering && document.querySelector("main")`)
}

// Reload loads the page that is shown once more.
func (b *Tab) Reload() {
	b.w.TB.Helper()
	b.Run(chromedp.Reload())
	b.Entered()
}

// Late lets what a page loads, when its address holds a text, come only after a
// while: as a busy machine or a slow network does.
func (b *Tab) Late(text string, by time.Duration) {
	b.w.TB.Helper()
	chromedp.ListenTarget(b.ctx, func(ev any) {
		if paused, ok := ev.(*fetch.EventRequestPaused); ok {
			go func() {
				time.Sleep(by)
				// The page may be gone by now.
				_ = fetch.ContinueRequest(paused.RequestID).Do(cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Target))
			}()
		}
	})
	b.Run(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: "*" + text + "*"}}))
}

// JS is what a JavaScript expression comes to.
func (b *Tab) JS(expression string, v any) {
	b.w.TB.Helper()
	b.Run(chromedp.Evaluate(expression, v))
}

// Until waits until a JavaScript expression is true; one that cannot be worked
// out is not, nor is any while the page gives way to another. A page that does not
// come, as happens to a browser on a busy machine, is asked for again.
func (b *Tab) Until(expression string) {
	b.w.TB.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, Patience)
	defer cancel()
	again := time.Now().Add(Patience / 4)
	for {
		if time.Now().After(again) {
			var nothing bool
			if err := chromedp.Run(ctx, chromedp.Evaluate(`document.readyState === "loading" || !document.body?.childElementCount`, &nothing)); err == nil && nothing {
				b.w.TB.Logf("a page does not come, and is asked for again: %s", b.loaded())
				_ = chromedp.Run(ctx, page.Reload())
			}
			again = again.Add(Patience / 4)
		}
		var ok bool
		err := chromedp.Run(ctx, chromedp.Evaluate("(() => { try { return !!("+expression+") } catch { return false } })()", &ok))
		switch {
		case ok && err == nil:
			return
		case ctx.Err() != nil:
			var text string
			b.JS("(document.body ?? document.documentElement).innerText", &text)
			b.w.TB.Fatalf("never: %s\nconsole: %s\nserver: %s\n%s\npage: %s", expression, b.complaints(), b.w.Log.Tail(), b.loaded(), text)
		case err != nil && !gaveWay(err):
			b.w.TB.Fatalf("%s: %v\nconsole: %s\nserver: %s\n%s", expression, err, b.complaints(), b.w.Log.Tail(), b.html())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// loaded is where the page is, how many things it keeps, and what it asked for.
func (b *Tab) loaded() (text string) {
	b.JS(`location.href + (() => { try { return " keeps " + localStorage.length } catch { return "" } })() + performance.getEntriesByType("resource").map((e) => "\n  " + e.name + " " + e.responseStatus).join("")`, &text)
	return text
}

// gaveWay says that a page was asked while it was replaced by another.
func gaveWay(err error) bool {
	return slices.ContainsFunc([]string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find context with specified id", "Cannot find default execution context", "Promise was collected"}, func(text string) bool {
		return strings.Contains(err.Error(), text)
	})
}

// Live waits until the page hears of changes.
func (b *Tab) Live() {
	b.w.TB.Helper()
	b.Until(`document.documentElement.dataset.live === "on"`)
}

// Look is one way to look at a page.
type Look struct {
	Name   string
	Scheme string
	Width  int64
	Height int64
}

// Looks are those in which every page is held against the check.
var Looks = []Look{{"light", "light", 1280, 800}, {"dark", "dark", 1280, 800}, {"phone", "light", 390, 844}, {"phone-dark", "dark", 390, 844}}

// As shows the page in one look.
func (b *Tab) As(l Look) {
	b.w.TB.Helper()
	b.Run(chromedp.EmulateViewport(l.Width, l.Height),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.Scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}}))
}

// Check holds the page that is shown, in every look, against CheckScript, and
// keeps pictures of it as FORGE_SHOTS/name-….png.
func (b *Tab) Check(name string) {
	b.w.TB.Helper()
	b.Until(`document.readyState === "complete"`)
	for _, l := range Looks {
		b.As(l)
		b.Run(chromedp.Evaluate("document.activeElement?.blur(); scrollTo(0, 0)", nil))
		b.shoot(name, l)
	}
	// The check walks over everything that takes the focus.
	for _, l := range Looks {
		b.As(l)
		for _, w := range b.Wrong() {
			b.w.TB.Errorf("%s (%s): %s", name, l.Name, w)
		}
	}
	b.As(Looks[0])
	b.Run(chromedp.Evaluate("document.activeElement?.blur(); scrollTo(0, 0)", nil))
}

// Wrong is what the check finds now.
func (b *Tab) Wrong() []string {
	b.w.TB.Helper()
	var wrong []string
	b.JS(CheckScript, &wrong)
	return wrong
}

// shoot keeps a picture of the whole page in a look, where FORGE_SHOTS names a
// folder.
func (b *Tab) shoot(name string, l Look) {
	b.w.TB.Helper()
	dir := os.Getenv("FORGE_SHOTS")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.w.TB.Fatal(err)
	}
	// A window of the page's height, since a picture beyond the window scrolls what is
	// in it back. What a page does about its size takes it some frames.
	frames := chromedp.Evaluate("new Promise((done) => { const next = (n) => n ? requestAnimationFrame(() => next(n - 1)) : done(); next(4); })", nil,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) })
	var height int64
	var picture []byte
	b.Run(frames, chromedp.Evaluate("document.documentElement.scrollHeight", &height))
	b.Run(chromedp.EmulateViewport(l.Width, max(height, l.Height)), frames, chromedp.CaptureScreenshot(&picture), chromedp.EmulateViewport(l.Width, l.Height))
	if err := os.WriteFile(filepath.Join(dir, name+"-"+l.Name+".png"), picture, 0o644); err != nil {
		b.w.TB.Fatal(err)
	}
}
