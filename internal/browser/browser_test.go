package browser

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/pixels"
	"forge/internal/work"
)

// fake is a browser that answers from a script: for a method, what it says before
// the answer, the answer itself, or nothing at all.
type fake struct {
	t       *testing.T
	before  map[string][]string      // events by method, raw
	answers map[string]string        // results by method; "-" = none ever
	slow    map[string]time.Duration // before an answer
	ended   string                   // the exit code of the page's command; "" = it goes on
	asked   []string
}

// look has the fake's page shown.
func (f *fake) look(p work.PageSettings) Seen {
	f.t.Helper()
	said, saying := io.Pipe()
	asking, ask := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer saying.Close()
		f.serve(asking, saying)
	}()
	seen := Look(f.t.Context(), said, ask, p, func() (int, bool) {
		code, err := strconv.Atoi(f.ended)
		return code, err == nil
	})
	<-over
	return seen
}

// serve answers what is read. Reading goes on while it writes, as with the pipes of
// a process, which hold more than a word.
func (f *fake) serve(in io.Reader, out io.Writer) {
	asked := make(chan message, 1000)
	go func() {
		defer close(asked)
		for r := bufio.NewReader(in); ; {
			data, err := r.ReadBytes(0)
			if err != nil {
				return
			}
			var m message
			if err := json.Unmarshal(data[:len(data)-1], &m); err != nil {
				f.t.Errorf("%q: %v", data, err)
				return
			}
			asked <- m
		}
	}()
	for m := range asked {
		f.asked = append(f.asked, m.Method)
		time.Sleep(f.slow[m.Method])
		for _, e := range f.before[m.Method] {
			if _, err := io.WriteString(out, e+"\x00"); err != nil {
				return
			}
		}
		switch answer := f.answers[m.Method]; answer {
		case "-":
		case "gone":
			return
		case "":
			fmt.Fprintf(out, "{\"id\":%d,\"result\":{}}\x00", m.ID)
		default:
			fmt.Fprintf(out, "{\"id\":%d,%s}\x00", m.ID, answer)
		}
	}
}

// newFake is one whose page loads and is white.
func newFake(t *testing.T) *fake {
	t.Helper()
	white, err := pixels.Write(image.NewRGBA(image.Rect(0, 0, 10, 10)))
	if err != nil {
		t.Fatal(err)
	}
	shot, err := json.Marshal(map[string]any{"data": white})
	if err != nil {
		t.Fatal(err)
	}
	return &fake{t: t, before: map[string][]string{"Page.navigate": {`{"method":"Page.loadEventFired"}`}}, answers: map[string]string{
		"Target.createTarget": `"result":{"targetId":"T"}`, "Target.attachToTarget": `"result":{"sessionId":"S"}`,
		"Page.navigate": `"result":{"loaderId":"L"}`, "Page.captureScreenshot": `"result":` + string(shot),
		"Runtime.evaluate": `"result":{"result":{"value":{"X":5,"Y":6}}}`,
	}}
}

func (f *fake) says(method string, events ...string) *fake {
	f.before[method] = append(f.before[method], events...)
	return f
}

func (f *fake) answering(method, answer string) *fake {
	f.answers[method] = answer
	return f
}

const failed = `{"method":"Network.loadingFailed","params":{"requestId":"%s","type":"%s","errorText":"%s","canceled":%t}}`

func TestLook(t *testing.T) {
	t.Parallel()
	dialog := `{"method":"Page.javascriptDialogOpening","params":{}}`
	for _, c := range []struct {
		name    string
		fake    *fake
		problem string   // "" = it is shown
		errors  []string // said of the page
	}{
		{"a page", newFake(t), "", nil},
		{"errors", newFake(t).says("Page.navigate",
			`{"method":"Runtime.exceptionThrown","params":{"exceptionDetails":{"text":"Uncaught","exception":{"description":"TypeError: x\n    at a.js:1"}}}}`,
			`{"method":"Runtime.exceptionThrown","params":{"exceptionDetails":{"text":"Uncaught","exception":{"description":"TypeError: x\n    at a.js:7"}}}}`,
			`{"method":"Runtime.consoleAPICalled","params":{"type":"error","args":[{"value":"no"},{"value":7}]}}`,
			`{"method":"Runtime.consoleAPICalled","params":{"type":"log","args":[{"value":"fine"}]}}`,
			`{"method":"Network.requestWillBeSent","params":{"requestId":"1","request":{"method":"POST","url":"http://localhost:1/api?token=s3cret"}}}`,
			`{"method":"Network.responseReceived","params":{"requestId":"1","response":{"status":500,"url":"http://localhost:1/api?token=s3cret"}}}`,
			`{"method":"Network.loadingFinished","params":{"requestId":"1"}}`,
			`{"method":"Network.requestWillBeSent","params":{"requestId":"2","request":{"method":"GET","url":"http://a:pw@example.com/x?y"}}}`,
			fmt.Sprintf(failed, "2", "Image", "net::ERR_NAME_NOT_RESOLVED", false),
			fmt.Sprintf(failed, "3", "Fetch", "net::ERR_ABORTED", true),
			`{"method":"Network.responseReceived","params":{"requestId":"4","response":{"status":404,"url":"http://localhost:1/favicon.ico"}}}`,
			`{"method":"Log.entryAdded","params":{"entry":{"source":"security","level":"error","text":"refused"}}}`,
			`{"method":"Log.entryAdded","params":{"entry":{"source":"network","level":"error","text":"said above"}}}`,
		), "", []string{"uncaught TypeError: x", "console no 7", "POST /api: status 500", "GET http://example.com/x: net::ERR_NAME_NOT_RESOLVED", "security refused"}},
		{"events without a form", newFake(t).says("Page.navigate", `{"method":"Runtime.exceptionThrown","params":7}`, `{"method":"Network.loadingFailed","params":[]}`, `{"method":"Page.frameNavigated"}`, `{"method":"Nobody.knows","params":{}}`, `{"id":99,"result":{}}`), "", nil},
		{"a status", newFake(t).says("Page.navigate", `{"method":"Network.responseReceived","params":{"requestId":"L","loaderId":"L","type":"Document","response":{"status":503,"url":"http://localhost:1/"}}}`), "status 503", []string{"GET /: status 503"}},
		{"no page there", newFake(t).answering("Page.navigate", `"result":{"errorText":"net::ERR_SSL_PROTOCOL_ERROR"}`), "net::ERR_SSL_PROTOCOL_ERROR", nil},
		{"dialogs", newFake(t).says("Page.navigate", slices.Repeat([]string{dialog}, 21)...), "more than 20 dialogs", nil},
		{"some dialogs", newFake(t).says("Page.navigate", slices.Repeat([]string{dialog}, 20)...), "", nil},
		{"a crash", newFake(t).says("Page.captureScreenshot", `{"method":"Inspector.targetCrashed"}`).answering("Page.captureScreenshot", "-"), "crashed", nil},
		{"it goes away", newFake(t).says("Page.captureScreenshot", slices.Repeat([]string{`{"method":"Page.frameNavigated","params":{"frame":{"url":"http://localhost:1/x"}}}`}, 21)...), "more than 20 times", nil},
		{"a dead end", newFake(t).says("Page.captureScreenshot", `{"method":"Page.frameNavigated","params":{"frame":{"url":"chrome-error://x/","unreachableUrl":"http://example.com/?q"}}}`), "went to http://example.com/, which", nil},
		{"it ends", newFake(t).answering("Page.captureScreenshot", "gone"), "the browser ended", nil},
		{"it never began", newFake(t).answering("Target.createTarget", "gone"), "the browser ended", nil},
		{"no message", newFake(t).says("Page.navigate", `<html>`), "no message of its protocol", nil},
		{"an answer of another form", newFake(t).answering("Target.createTarget", `"result":[]`), "another form", nil},
		{"a refusal", newFake(t).answering("Page.captureScreenshot", `"error":{"message":"no"}`), "no", nil},
		{"too long a message", newFake(t).says("Page.navigate", `"`+strings.Repeat("x", mostMessage)), "more than 32 MB at once", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seen := c.fake.look(work.PageSettings{URL: "http://localhost:1/", Secs: 30})
			if c.problem == "" && (seen.Problem != "" || len(seen.Picture) == 0) || !strings.Contains(seen.Problem, c.problem) || c.problem != "" && seen.Picture != nil {
				t.Errorf("problem %q, want %q; %d bytes of picture", seen.Problem, c.problem, len(seen.Picture))
			}
			if !slices.Equal(seen.Errors, c.errors) {
				t.Errorf("errors %q, want %q", seen.Errors, c.errors)
			}
		})
	}
}

// A browser that says nothing any more is left when the time is over, with what it
// was asked for.
func TestLookEndsInTime(t *testing.T) {
	t.Parallel()
	for method, doing := range map[string]string{"Page.navigate": "reach http://localhost:1/", "Runtime.evaluate": "click #a", "Page.captureScreenshot": "be drawn"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f := newFake(t).answering(method, "-")
			began := time.Now()
			seen := f.look(work.PageSettings{URL: "http://localhost:1/", Secs: 1, Steps: []work.PageStep{{Do: work.PageClick, On: "#a"}}})
			if method == "Page.captureScreenshot" && seen.Problem == "" || method != "Page.captureScreenshot" && !strings.Contains(seen.Problem, "while it was to "+doing) && !strings.Contains(seen.Problem, "be drawn") {
				t.Errorf("%q after %s", seen.Problem, time.Since(began))
			}
		})
	}
}

// A browser that is slow to start takes nothing of the page's time; one that never
// does is left.
func TestABrowserMayBeSlowToStart(t *testing.T) {
	t.Parallel()
	page := work.PageSettings{URL: "http://localhost:1/", Secs: 1}
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.slow = map[string]time.Duration{"Target.createTarget": starting - time.Second, "Page.navigate": 500 * time.Millisecond}
		if seen := f.look(page); seen.Problem != "" || seen.Took < starting-time.Second {
			t.Errorf("%q after %s", seen.Problem, seen.Took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.slow = map[string]time.Duration{"Page.navigate": 2 * time.Second}
		if seen := f.look(page); !strings.Contains(seen.Problem, "within 1s, which ended while it was to reach") {
			t.Errorf("%q after %s", seen.Problem, seen.Took)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		seen := newFake(t).answering("Target.createTarget", "-").look(page)
		if !strings.Contains(seen.Problem, "while it was to start the browser") || seen.Took != starting {
			t.Errorf("%q after %s", seen.Problem, seen.Took)
		}
	})
}

// A page whose command ended with a failure is not waited for until the time is over; one
// that goes on, or left a server behind itself, is.
func TestACommandThatFailedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	page := work.PageSettings{URL: "http://localhost:1/", Secs: 30}
	for ended, c := range map[string]struct {
		problem string
		took    time.Duration
	}{
		"127": {"ended with exit code 127, and nothing listens at http://localhost:1/", 0},
		"0":   {"within 30s, which ended while it was to reach http://localhost:1/, where nothing listens", 30 * time.Second},
		"":    {"within 30s, which ended while it was to reach http://localhost:1/, where nothing listens", 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t).answering("Page.navigate", `"result":{"errorText":"net::ERR_CONNECTION_REFUSED"}`)
			f.ended = ended
			if seen := f.look(page); !strings.Contains(seen.Problem, c.problem) || seen.Took != c.took {
				t.Errorf("ended %q: %q after %s", ended, seen.Problem, seen.Took)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // what it left listens
		f := newFake(t)
		f.ended = "1"
		if seen := f.look(page); seen.Problem != "" {
			t.Errorf("a page that is there: %q", seen.Problem)
		}
	})
}

// What a command's end is read from belongs to the sandbox.
func TestEnded(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "ended")
	if _, ok := Ended(file); ok {
		t.Error("a command that goes on ended")
	}
	if err := os.WriteFile(file, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, ok := Ended(file); ok {
		t.Error("a file was read")
	}
	for to, want := range map[string]int{"0": 0, "127": 127, "255": 255, "256": -1, "-1": -1, "/etc/passwd": -1, "1\n": -1} {
		if err := errors.Join(os.Remove(file), os.Symlink(to, file)); err != nil {
			t.Fatal(err)
		}
		if code, ok := Ended(file); ok != (want >= 0) || ok && code != want {
			t.Errorf("%q: %d, %t", to, code, ok)
		}
	}
}

// What is said at the moment at which a pause ends is heard: nothing comes twice.
func TestPauseLosesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := &visit{conn: &conn{out: io.Discard, in: make(chan message)}}
		const said = 100
		go func() {
			for range said {
				v.in <- message{Method: "Page.javascriptDialogOpening"}
			}
		}()
		for range 100 * said {
			synctest.Wait() // what is said waits to be heard, and the pause is over
			if err := v.pause(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if v.dialogs == said {
				return
			}
		}
		t.Errorf("%d of %d are heard", v.dialogs, said)
	})
}

// Steps are done in their order, each with a picture after it and one before all.
func TestLookDoesSteps(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	seen := f.look(work.PageSettings{URL: "http://localhost:1/", Secs: 60, Steps: []work.PageStep{{Do: work.PageType, On: "#a", Text: "x"}, {Do: work.PageClick, On: "#b"}, {Do: work.PagePress, On: "Enter"}}})
	if seen.Problem != "" || len(seen.Frames) != 4 || !bytes.Equal(seen.Picture, seen.Frames[3]) {
		t.Fatalf("%q, %d frames", seen.Problem, len(seen.Frames))
	}
	var did []string
	for _, m := range f.asked {
		if strings.HasPrefix(m, "Input.") || m == "Page.captureScreenshot" {
			did = append(did, strings.TrimPrefix(strings.TrimPrefix(m, "Input."), "Page."))
		}
	}
	want := []string{
		"captureScreenshot", "insertText", "captureScreenshot", "dispatchMouseEvent", "dispatchMouseEvent", "dispatchMouseEvent", "captureScreenshot",
		"dispatchKeyEvent", "dispatchKeyEvent", "captureScreenshot",
	}
	if !slices.Equal(did, want) {
		t.Errorf("it did %q", did)
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"google-chrome": 0o755, "chromium": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got := Find([]string{"PATH=/nowhere:" + dir}); got != filepath.Join(dir, "google-chrome") {
		t.Errorf("found %q", got)
	}
	if got := Find([]string{"PATH=/nowhere:relative"}); got != "" {
		t.Errorf("found %q", got)
	}
}

// Every key that a step may press has a number.
func TestKeysHaveNumbers(t *testing.T) {
	for _, k := range work.PageKeys() {
		if keyCodes(k) == 0 {
			t.Errorf("%s has none", k)
		}
	}
}

// Whatever a page says in an event, the visit goes on or ends with a reason, and
// what is kept of it is short.
func FuzzHeard(f *testing.F) {
	for _, method := range []string{"Page.frameNavigated", "Network.requestWillBeSent", "Network.responseReceived", "Network.loadingFailed", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"} {
		f.Add(method, []byte(`{"requestId":"1","type":"error","args":[{"value":"x"}],"frame":{"url":"http://x/"},"response":{"status":500,"url":"http://x/"},"entry":{"level":"error","text":"\u001b[2J"}}`))
	}
	f.Fuzz(func(t *testing.T, method string, params []byte) {
		v := &visit{conn: &conn{out: io.Discard}, loading: map[string]bool{}, sought: map[string]bool{}}
		for range 3 {
			v.heard(message{Method: method, Params: params})
		}
		for _, e := range v.errors {
			if len(e) > 400 || strings.ContainsAny(e, "\n\x1b\x00") {
				t.Errorf("kept %q", e)
			}
		}
	})
}
