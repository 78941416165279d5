//go:build real

package web_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"forge/factory/web"
	"forge/factory/web/webtest"
)

// hostilePage is what the page of another port does in the browser itself, in
// which somebody is signed in to Forge at %[1]s: it reads, frames, posts and
// opens. What it can read or keep stands in window.got; done says that all was
// tried.
const hostilePage = `
const forge = "%[1]s", got = window.got = [];
const paths = ["/", "/p/demo", "/inbox", "/p/demo/columns", "/api/v1/projects", "/sign-in"];
const tries = [];
// A browser has few connections to a server: whoever waits for one for long has taken nothing.
const signal = AbortSignal.timeout(20000);
for (const path of paths) for (const mode of ["cors", "no-cors", "same-origin"]) for (const headers of [{}, {"X-Forge-Token": "x"}, {"HX-Request": "true"}]) {
  tries.push(fetch(forge + path, { mode, headers, credentials: "include", signal }).then(async (a) => {
    const text = a.type === "opaque" ? "" : await a.text();
    if (text) got.push(mode + " " + path + ": " + text.slice(0, 80));
  }).catch(() => {}));
}
const form = (path, fields, target, type) => {
  const f = Object.assign(document.createElement("form"), { method: "post", action: forge + path, target, enctype: type });
  for (const [name, value] of Object.entries(fields)) f.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  document.body.append(f);
  f.submit();
};
const frames = ["/", "/p/demo", "/sign-in", "/inbox"].map((path) => {
  const frame = Object.assign(document.createElement("iframe"), { src: forge + path, name: "f" + path });
  document.body.append(frame);
  return new Promise((done) => { frame.onload = frame.onerror = () => done(frame); setTimeout(done, 5000, frame); });
});
for (const path of ["/p/demo/issues/1/move", "/p/demo/checkpoints/cp1/answer"]) {
  const fields = { column: "backlog", revision: "1", answer: "approved", forge_token: "x" };
  for (const type of ["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"]) {
    const sink = Object.assign(document.createElement("iframe"), { name: "sink" + Math.random() });
    document.body.append(sink);
    form(path, fields, sink.name, type);
    tries.push(fetch(forge + path, { method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams(fields), signal }).catch(() => {}));
  }
}
for (const key of Object.keys(localStorage)) got.push("localStorage " + key);
if (document.cookie.includes("forge")) got.push("document.cookie " + document.cookie);
Promise.all([...tries, ...frames]).then(async (all) => {
  for (const frame of all.filter(Boolean)) {
    try { if (frame.contentDocument?.body?.innerText.trim()) got.push("frame " + frame.name + ": " + frame.contentDocument.body.innerText); } catch {}
    try { if (frame.contentWindow.length) got.push("frame " + frame.name + " has frames"); } catch {}
  }
  const other = open(forge + "/p/demo", "other");
  await new Promise((done) => setTimeout(done, 1500));
  try { if (other.document.body.innerText.trim()) got.push("window: " + other.document.body.innerText); } catch {}
  try { if (other.localStorage.length) got.push("its localStorage"); } catch {}
  document.documentElement.dataset.done = "true";
});`

// An agent serves a page on another port, and the owner, who is signed in to
// Forge in the same browser, opens it: under the same name, under another one
// and under one below localhost. The server of that page receives the cookies,
// for which there is no port; it can do nothing with them, and neither can the
// page itself.
func TestRealAPageOnAnotherPortTakesNothing(t *testing.T) {
	t.Parallel()
	names := []string{"127.0.0.1", "localhost", "forge.localhost"}
	w := webtest.New(t, func(c *web.Config) { c.Hosts = names })
	withSomethingToTake(w)
	forge, _ := url.Parse(w.HTTP.URL)
	for _, name := range names {
		home := "http://" + name + ":" + forge.Port()
		b := w.Browser()
		b.Open(home + "/sign-in?link=" + w.Keys.Link())
		b.Open(home + "/p/demo")
		b.Until(fmt.Sprintf("document.body.innerText.includes(%q)", keptTitle))

		th := newThief(w)
		page := th.serve(t, fmt.Sprintf(hostilePage, home), names...)
		hostile, _ := url.Parse(page.URL)
		for _, at := range append([]string{"preview.localhost"}, names...) {
			b.Run(chromedp.Navigate("http://"+at+":"+hostile.Port()+"/"), chromedp.WaitReady("html[data-done]"))
			var got []string
			b.JS("window.got", &got)
			if len(got) > 0 {
				t.Errorf("a page at %s, beside %s, reads: %s", at, name, strings.Join(got, "\n"))
			}
			b.CloseOthers()
			// Once it is open, its own address is of the same site as itself.
			b.Run(chromedp.Reload(), chromedp.WaitReady("html[data-done]"))
			b.CloseOthers()
		}
		if !strings.Contains(strings.Join(th.saw, "\n"), "forge_session") {
			t.Errorf("beside %s the thief was sent %q: nothing was tried", name, th.saw)
		}
		th.hold(t)
		isUnanswered(t, w)

		// Whose page it is goes on working.
		b.Open(home + "/p/demo")
		b.Until(fmt.Sprintf("document.body.innerText.includes(%q)", keptTitle))
		b.Live()
	}
}
