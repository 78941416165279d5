//go:build real

package e2e

import (
	"bytes"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"forge/factory/web/webtest"
)

// firstHourScript is the agent of somebody who tries Forge: what the text asks
// for, and then what an issue does.
const firstHourScript = `
[[step]]
phase = "add-a-count"
do = [{ write = "count.txt", content = "2\n" }, { print = "I added it. <promise>ADD A COUNT DONE</promise>" }]
[[step]]
phase = "Say hello"
do = [{ write = "hello.txt", content = "hello\n" }, { print = "It says hello. <promise>ISSUE 1 DONE</promise>" }]
`

// The first hour of a stranger, in a repository that knows nothing of Forge: a
// text becomes a commit on main; then an issue is written in a browser, worked
// on, looked at, approved, and found in main by what its page says.
func TestRealFirstHourInABrowser(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "auto", map[string]string{"Makefile": "test:\n\ttest -f start.txt\n", "start.txt": "here\n"})
	c.write("script.toml", firstHourScript)
	c.write("config/forge/config.toml", "[agent]\nuse = \"dry\"\n[agents.dry]\nkind = \"script\"\nfile = \""+c.at("script.toml")+"\"\n")

	stdout, stderr, code := c.forge("do", "--level", "full", "Add a count")
	if code != 0 || !strings.Contains(stdout, "+2\n") || !strings.Contains(stdout, "your branch main was moved to it") || !strings.Contains(stderr, "found the tests: make test") {
		t.Fatalf("forge do: exit code %d\n%s%s", code, stdout, stderr)
	}
	if got := c.must("git", "show", "main:count.txt"); got != "2\n" {
		t.Fatalf("main holds count.txt %q", got)
	}
	c.acknowledged("init")
	config, err := os.ReadFile(c.at("repo/.forge/forge.toml"))
	if err != nil {
		t.Fatal(err)
	}
	c.write("repo/.forge/forge.toml", string(config)+"\n[factory]\ntriage = \"off\"\nplan = \"single\"\n")

	b := c.factoryInABrowser()
	b.GoTo("/p/repo")
	b.Live()
	// What forge do did is found among the runs, with its change.
	b.GoTo("/p/repo/runs")
	b.Click("table.list a")
	b.Until(`document.querySelector("main").textContent.includes("count.txt")`)
	b.Check("first-hour-run")

	b.GoTo("/p/repo")
	b.Live()
	b.Set("#new-column", "ready")
	b.Type("#new-title", "Say hello")
	b.Click(".quick-add button.main")
	b.Until(`document.querySelector('[data-column="in_review"] #card-1 a.waits')`)
	b.Check("first-hour-board")
	b.Click("#card-1 a.waits")
	b.Until(`document.querySelector('article[data-file="hello.txt"] table.diff').textContent.includes("hello")`)
	b.Check("first-hour-cockpit")
	b.Click(`[data-answer] button[value="approved"]`)
	b.Until(`document.querySelector("#now").textContent.includes("approved")`)

	b.GoTo("/p/repo")
	b.Live()
	b.Until(`document.querySelector('[data-column="done"] #card-1')`)
	b.GoTo("/p/repo/issues/1")
	var page string
	b.Until(`document.querySelector("#changes").textContent.includes("hello.txt")`)
	b.JS(`document.querySelector("#issue").textContent`, &page)
	b.Check("first-hour-landed")
	b.Quiet()

	found := regexp.MustCompile(`landed on (\S+).* as ([0-9a-f]{12}).*(git merge \S+)\b`).FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the issue's page does not say where its result is:\n%s", page)
	}
	c.must("git", strings.Fields(found[3])[1:]...)
	if got := c.must("git", "show", "main:hello.txt"); got != "hello\n" {
		t.Errorf("after %s, main holds hello.txt %q", found[3], got)
	}
	if got := c.must("git", "rev-parse", "--short=12", found[1]); strings.TrimSpace(got) != found[2] {
		t.Errorf("the page says commit %s, %s is %s", found[2], found[1], got)
	}
}

// factoryInABrowser starts the factory as a process of its own, and a browser
// that is signed in by the link of forge factory url.
func (c *checkout) factoryInABrowser() *webtest.Tab {
	c.t.Helper()
	var said bytes.Buffer
	cmd := c.command(os.Args[0], "factory", "--listen", "127.0.0.1:0")
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	c.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := <-over; err != nil {
			c.t.Errorf("forge factory: %v\n%s", err, &said)
		}
	})

	for end := time.Now().Add(webtest.Patience); ; time.Sleep(50 * time.Millisecond) {
		link, stderr, code := c.quick("factory", "url")
		if code == 0 {
			at, err := url.Parse(strings.TrimSpace(link))
			if err != nil {
				c.t.Fatal(err)
			}
			b := webtest.At(c.t, at.Scheme+"://"+at.Host)
			b.GoTo(at.RequestURI())
			return b
		}
		if time.Now().After(end) {
			c.t.Fatalf("forge factory url: exit code %d\n%s", code, stderr)
		}
	}
}
