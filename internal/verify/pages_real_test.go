//go:build real

package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"image"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"forge/internal/pace"
	"forge/internal/pixels"
	"forge/internal/proc"
	"forge/internal/work"
)

// gallery keeps pictures in memory.
type gallery struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (g *gallery) keep(_ context.Context, data []byte) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := sha256.Sum256(data)
	sha := hex.EncodeToString(sum[:])
	g.all[sha] = data
	return sha, nil
}

// picture is one that was kept.
func (g *gallery) picture(t *testing.T, sha string) *image.RGBA {
	t.Helper()
	p, err := pixels.Read(g.all[sha])
	if err != nil {
		t.Fatalf("picture %q: %v", sha, err)
	}
	return p
}

// shop is a bench with the states of a small site, each a commit.
func shop(t *testing.T, commits map[string]files) (*bench, *gallery) {
	t.Helper()
	b := newBench(t, files{})
	maps.Copy(b.commits.all, commits)
	caps := proc.Detect(t.Context())
	if !caps.Bubblewrap {
		t.Skipf("bubblewrap does not work here: %s", caps.Why)
	}
	b.Bench = New(b.commits, caps, b.environ, filepath.Join(b.state, "cache"), nil)
	return b, &gallery{all: map[string][]byte{}}
}

func (b *bench) show(g *gallery, commit, before string, pages ...work.PageSettings) []work.PageShown {
	b.t.Helper()
	req := work.PagesRequest{Verify: b.req(), Before: before, Pages: pages}
	req.Verify.Commit, req.Verify.Sandbox.Mode = commit, "auto"
	rep, err := Pages{b.Bench, g.keep}.Show(b.t.Context(), req, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if b.t.Failed() {
		return rep.Pages
	}
	for _, name := range []string{".pages", ".pages.bench-home", ".pages.bench-home.kept"} {
		if _, err := os.Stat(req.Verify.Dir + name); err == nil {
			b.t.Errorf("%s is still there", name)
		}
	}
	return rep.Pages
}

const (
	serve = "python3 -m http.server --bind 127.0.0.1 8017"
	index = `<!doctype html><title>Shop</title><h1>Shop</h1><input id=name><button id=save>Save</button><p id=said></p>
<script src="shop.js"></script>`
	script = `document.querySelector('#save').onclick = () => {
	document.querySelector('#said').textContent = 'Saved ' + document.querySelector('#name').value
	document.querySelector('#said').className = 'done'
}`
)

// TestRealPages: a change is shown beside what was there, and one that breaks the
// script of a page is found, although nothing else would notice.
func TestRealPages(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "starts browsers")
	b, g := shop(t, map[string]files{
		"base":   {"index.html": index, "shop.js": script},
		"good":   {"index.html": strings.Replace(index, "<h1>Shop</h1>", "<h1 style='color:#b00'>The Shop</h1>", 1), "shop.js": script},
		"broken": {"index.html": index, "shop.js": strings.Replace(script, "#save", "#safe", 1)},
		"empty":  {"readme": "nothing"},
	})
	steps := work.PageSettings{URL: "http://localhost:8017/", Start: serve, Wait: "#save", Width: 500, Height: 300, Secs: 60, Steps: []work.PageStep{
		{Do: work.PageType, On: "#name", Text: "Ann"}, {Do: work.PageClick, On: "#save"}, {Do: work.PageWait, On: ".done"},
	}}
	still := steps
	still.Steps = nil

	got := b.show(g, "good", "base", steps)[0]
	if got.Red() != "" || got.Changed == 0 || got.Of != 150_000 || got.Unlike != "" || got.NewAll+got.OldAll != 0 {
		t.Errorf("a good change: %+v", got)
	}
	marked := g.picture(t, got.Marked)
	if marked.Bounds().Dx() != 500 || g.picture(t, got.Before).Bounds() != g.picture(t, got.After).Bounds() {
		t.Errorf("pictures of another size: %v", marked.Bounds())
	}
	if g.picture(t, got.Moving); !strings.Contains(string(g.all[got.Moving]), "acTL") {
		t.Error("the recording does not move")
	}

	if got = b.show(g, "base", "base", still)[0]; got.Changed != 0 || got.Marked != "" || got.Red() != "" {
		t.Errorf("the same page twice: %+v", got)
	}
	if got = b.show(g, "broken", "base", still)[0]; !strings.Contains(got.Red(), "uncaught TypeError") || got.NewAll != 1 {
		t.Errorf("a broken script: %q, %+v", got.Red(), got)
	}
	if got = b.show(g, "broken", "broken", still)[0]; got.Red() != "" || got.OldAll != 1 {
		t.Errorf("a script that was broken before: %+v", got)
	}
	stuck := steps
	stuck.Secs = 10
	if got = b.show(g, "broken", "base", stuck)[0]; !strings.Contains(got.Red(), "wait .done") || got.After != "" {
		t.Errorf("steps that do not come to their end: %+v", got)
	}
	still.Secs = 10 // a page that is not there is waited for as long
	got = b.show(g, "base", "empty", still)[0]
	if got.Red() != "" || got.Before != "" || got.Unlike == "" && got.OldAll != 0 {
		t.Errorf("a page that is new: %+v", got)
	}
	log, err := os.ReadFile(strings.TrimSuffix(b.req().LogPath, ".log") + ".pages.log")
	if err != nil || !strings.Contains(string(log), "GET /shop.js") {
		t.Errorf("the log does not have what the server printed: %v", err)
	}
}

// TestRealPagesOfAHostileServer: whatever a server does in there, it comes to
// nothing outside, and the page is not shown for it.
func TestRealPagesOfAHostileServer(t *testing.T) {
	t.Parallel()
	pace.Slow(t, "starts browsers")
	var heard atomic.Int64
	outside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { heard.Add(1) }))
	defer outside.Close()
	_, port, _ := net.SplitHostPort(outside.Listener.Addr().String())
	call := fmt.Sprintf(`<script>fetch("http://127.0.0.1:%s/fetched"); new Image().src="http://127.0.0.1:%s/image"; navigator.sendBeacon("http://127.0.0.1:%s/b")</script>`, port, port, port)
	b, g := shop(t, map[string]files{"evil": {
		"index.html": "<h1>x</h1>" + call,
		"out.sh":     "python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:" + port + "/python\")'; " + serve,
		"noise.sh":   "yes noise | head -c 100000000; " + serve,
		"kill.sh":    "(sleep 2; kill -9 -1) & " + serve,
		"stay.sh":    "setsid sh -c 'trap \"\" TERM INT; while :; do sleep 1; done' & " + serve,
		"write.sh":   "echo x > /etc/forge-was-here; echo x > " + filepath.Join(t.TempDir(), "x") + "; " + serve,
		// It speaks in place of the browser, whose pipes it can open.
		"speak.sh": "for p in /proc/[0-9]*/fd/1 /proc/[0-9]*/fd/4; do printf '{\"id\":1,\"result\":{\"targetId\":\"x\"}}\\0' > $p; done 2>/dev/null; " + serve,
	}})
	page := func(start string) work.PageSettings {
		p := work.PageSettings{URL: "http://localhost:8017/", Start: start, Width: 300, Height: 200, Secs: 20}
		if start == "sleep 100" {
			p.Secs = 3 // nothing is ever there
		}
		return p
	}
	never := map[string]string{"exit 1": "exit code 1,", "no-such-program": "exit code 127,", "sleep 100": "within 3s"} // shown, and why
	for _, start := range []string{serve, "sh out.sh", "sh noise.sh", "sh kill.sh", "sh stay.sh", "sh write.sh", "sh speak.sh", "exit 1", "no-such-program", "sleep 100"} {
		got := b.show(g, "evil", "", page(start))[0]
		t.Logf("%s: %s %v", start, got.Problem, got.New)
		if got.Problem == "" && got.After == "" || got.Problem != "" && got.After != "" {
			t.Errorf("%s: %+v", start, got)
		}
		if why := never[start]; !strings.Contains(got.Problem, why) {
			t.Errorf("%s: %+v, want %q", start, got, why)
		}
	}
	if n := heard.Load(); n > 0 {
		t.Errorf("%d requests came out", n)
	}
	if _, err := os.Stat("/etc/forge-was-here"); err == nil {
		t.Error("a file was written outside")
	}
	if log, err := os.Stat(strings.TrimSuffix(b.req().LogPath, ".log") + ".pages.log"); err != nil || log.Size() > 6*(logBytes+logTailBytes+1<<16) {
		t.Errorf("the log: %v", err)
	}
}
