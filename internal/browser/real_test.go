//go:build real

package browser_test

import (
	"context"
	"image"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/internal/browser"
	"forge/internal/pace"
	"forge/internal/pixels"
	"forge/internal/work"
)

// look shows a page of a real server in a real browser.
func look(t *testing.T, p work.PageSettings) browser.Seen {
	t.Helper()
	program := os.Getenv("FORGE_REAL_CHROMIUM")
	if program == "" {
		t.Skip("scripts/real.sh says where the browser is")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := exec.CommandContext(ctx, "sh", append([]string{"-c", browser.Script, "sh", "true", filepath.Join(t.TempDir(), "ended")}, browser.Command(program, t.TempDir())...)...)
	c.WaitDelay = time.Second
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c.Stderr = &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if p.Secs == 0 {
		p.Secs = 60
	}
	seen := browser.Look(ctx, out, in, p, func() (int, bool) { return 0, true })
	cancel()
	_ = c.Wait()
	if seen.Problem != "" {
		t.Logf("the browser printed: %.200s", said.String())
	}
	return seen
}

// served is a server of pages by their path.
func served(t *testing.T, pages map[string]http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range pages {
		mux.HandleFunc(path, h)
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

func says(html string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, html)
	}
}

func TestRealBrowserShowsAPage(t *testing.T) {
	pace.Slow(t, "starts a browser")
	at := served(t, map[string]http.HandlerFunc{
		"/{$}": says(`<!doctype html><title>x</title><body style="margin:0;background:#fff">
<input id=name value=old><button id=save onclick="
  const p=document.createElement('p'); p.className='done'; p.textContent='Hello '+document.querySelector('#name').value;
  setTimeout(()=>document.body.append(p), 250)">Save</button>
<script>console.error('no colour', 7); fetch('/api/none?token=secret'); setTimeout(()=>{undefinedThing()},0); fetch('http://127.0.0.1:9/x').catch(()=>{})</script>`),
	})
	seen := look(t, work.PageSettings{URL: at + "/", Wait: "#save", Width: 400, Height: 300, Steps: []work.PageStep{
		{Do: work.PageType, On: "#name", Text: "Ann"}, {Do: work.PageClick, On: "#save"}, {Do: work.PageWait, On: ".done"}, {Do: work.PagePress, On: "Tab"},
	}})
	if seen.Problem != "" || len(seen.Frames) != 5 {
		t.Fatalf("%s, %d frames: %v", seen.Problem, len(seen.Frames), seen.Errors)
	}
	for _, want := range []string{"console no colour 7", "GET /api/none: status 404", "uncaught ReferenceError: undefinedThing is not defined"} {
		if !slices.Contains(seen.Errors, want) {
			t.Errorf("it does not say %q: %q", want, seen.Errors)
		}
	}
	if n := len(seen.Errors); n != 4 {
		t.Errorf("%d errors, want 4, with the port where nobody listens: %q", n, seen.Errors)
	}
	first, err := pixels.Read(seen.Frames[0])
	if err != nil || first.Bounds().Dx() != 400 || first.Bounds().Dy() != 300 {
		t.Fatalf("the first picture: %v, %v", err, first.Bounds())
	}
	last, err := pixels.Read(seen.Picture)
	if err != nil {
		t.Fatal(err)
	}
	if d := pixels.Compare(first, last); d.Changed == 0 {
		t.Error("the page looks the same after its steps")
	}
}

// The same page is drawn the same, whenever that is: the caret of its field blinks. It has
// nothing against it.
func TestRealBrowserDrawsTheSameTwice(t *testing.T) {
	pace.Slow(t, "starts a browser twice")
	at := served(t, map[string]http.HandlerFunc{"/{$}": says(`<!doctype html><h1>Ledger</h1><input autofocus><p>What is due, in small <i>letters</i>.</p>`)})
	page := work.PageSettings{URL: at, Steps: slices.Repeat([]work.PageStep{{Do: work.PageWait, On: "input"}}, 4)}
	a, b := look(t, page), look(t, page)
	if a.Problem+b.Problem != "" || len(a.Errors)+len(b.Errors) > 0 {
		t.Fatalf("%q %q %q %q", a.Problem, b.Problem, a.Errors, b.Errors)
	}
	var first *image.RGBA
	for i, frame := range slices.Concat(a.Frames, b.Frames) {
		p, err := pixels.Read(frame)
		switch {
		case err != nil:
			t.Fatal(err)
		case first == nil:
			first = p
		}
		if d := pixels.Compare(first, p); d.Changed > 0 {
			t.Errorf("%d of %d pixels differ in picture %d", d.Changed, d.Of, i)
		}
	}
}

// What a page does to whoever looks at it: the visit ends within its time, says
// why, and shows nothing.
func TestRealBrowserOfHostilePages(t *testing.T) {
	pace.Slow(t, "starts a browser for each page")
	at := served(t, map[string]http.HandlerFunc{
		"/alerts":   says(`<script>for(;;) alert(1)</script>`),
		"/leave":    says(`<script>onbeforeunload=()=>"stay"; for(;;) confirm("stay?")</script>`),
		"/redirect": func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/redirect", http.StatusFound) },
		"/hop":      says(`<script>location.href = "/hop?" + Math.random()</script>`),
		"/busy":     says(`<script>for(;;){}</script>`),
		"/missing":  func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) },
		"/noanswer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"/selector": says(`<p>nothing`),
		"/log":      says(`<script>const s="x".repeat(1<<26); console.error(s); console.error(s+"y")</script>`),
		"/large": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			part := []byte("<p>" + strings.Repeat("x", 1<<20))
			for range 100 {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		},
		"/away": says(`<script>location.href = "http://example.invalid/"</script>`),
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename=x.bin")
			_, _ = w.Write(make([]byte, 1<<20))
		},
		"/crash": says(`<script>location.href="chrome://crash"; const a=[]; setInterval(()=>0)</script>`),
		"/popup": says(`<script>for(let i=0;i<200;i++) window.open("/popup"); </script><p id=here>here`),
	})
	for path, want := range map[string]string{
		"/alerts": "more than 20 dialogs", "/leave": "more than 20 dialogs", "/redirect": "ERR_TOO_MANY_REDIRECTS", "/hop": "another address more than 20 times",
		"/busy": "while it was to load", "/missing": "status 404", "/noanswer": "within", "/selector": "while it was to wait #never", "/away": "could not be loaded", "/file": "could not be loaded",
		"/log": "", "/large": "", "/crash": "", "/popup": "",
	} {
		t.Run(path[1:], func(t *testing.T) {
			t.Parallel()
			p := work.PageSettings{URL: at + path, Secs: 15}
			switch path {
			case "/busy", "/noanswer": // until its time is over
				p.Secs = 5
			case "/selector":
				p.Secs, p.Wait = 5, "#never"
			}
			began := time.Now()
			seen := look(t, p)
			t.Log(seen.Problem, seen.Errors, time.Since(began))
			if want != "" && (!strings.Contains(seen.Problem, want) || seen.Picture != nil) {
				t.Errorf("it ended with %q, want %q; %d bytes of picture", seen.Problem, want, len(seen.Picture))
			}
			if seen.Problem == "" && len(seen.Picture) == 0 {
				t.Error("shown without a picture")
			}
			for _, e := range seen.Errors {
				if len(e) > 320 {
					t.Errorf("an error of %d bytes", len(e))
				}
			}
		})
	}
}
