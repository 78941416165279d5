package cli

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"forge/internal/host"
	"forge/internal/host/hosttest"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/pace"
	"forge/internal/pullrequest"
	"forge/internal/work"
)

// more writes further lines below [host], which is the last section.
func (w *pullWorld) more(lines string) {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.root, ".forge/forge.toml"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(".forge/forge.toml", string(text)+lines)
}

// pull is a pull request as it is now; zero = there is none.
func (w *pullWorld) pull(number int64) work.PullLook {
	w.t.Helper()
	look, err := w.host.Look(w.t.Context(), number)
	if err != nil && work.HostKindOf(err) != work.HostNoRepository && work.HostKindOf(err) != work.HostNoPull {
		w.t.Fatal(err)
	}
	return look
}

// eyes read the journal of a project while others write it.
type eyes struct {
	*pullWorld
	store *journal.Store
}

func (w *pullWorld) eyes() eyes {
	w.t.Helper()
	store, err := journal.Open(w.t.Context(), w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = store.Close() })
	return eyes{w, store}
}

// outcome is how the one run stands.
func (e eyes) outcome() (string, work.RunOutcome) {
	e.t.Helper()
	rows, err := e.store.Runs(e.t.Context())
	if err != nil || len(rows) != 1 {
		e.t.Fatalf("runs: %+v, %v", rows, err)
	}
	return rows[0].ID, rows[0].Outcome
}

// count are the events of the one run by kind.
func (e eyes) count() map[work.EventKind]int {
	e.t.Helper()
	run, _ := e.outcome()
	events, err := e.store.Events(e.t.Context(), run, 0)
	if err != nil {
		e.t.Fatal(err)
	}
	out := map[work.EventKind]int{}
	for _, e := range events {
		out[e.Kind]++
	}
	return out
}

// Two that watch the same project: a review reaches the agent, and is acted upon
// once; an outage of the host is said once, by forge host status too, and what
// was said in it is found afterwards; Ctrl-C ends them in order. What one of
// them answered and did not live to go on with, the next one goes on with.
func TestHostWatch(t *testing.T) {
	pace.Slow(t, "a host is asked once a while")
	t.Parallel()
	g := hosttest.StartGitHub(t)
	proxy := hosttest.StartProxy(t, g.URL)
	w := hubAt(t, g, proxy.URL)
	w.more("poll_secs = 1\n")
	w.forge("run").want(exitFrozen)
	first, id := w.asked(1)
	see := w.eyes()
	w.forge("host", "status").want(exitDone).says("nobody watches it")
	w.forge("show", id).want(exitDone).says("nobody watches the host")
	one, two := w.begin("host", "watch"), w.begin("host", "watch")
	w.people.Review(t, "ann", 1, first.Head, work.PullChangesRequested, "the second line", hosttest.Line{Path: "out-01.txt", Line: 2, Body: "louder"})
	w.eventually("the agent has worked on the review", func() bool {
		_, outcome := see.outcome()
		return outcome == work.RunFrozen && w.pull(1).Head != first.Head
	})
	w.forge("logs", "01", "--prompt", "--iteration", "2").want(exitDone).says("louder")

	proxy.Misbehave(func(*http.Request) hosttest.Fault { return hosttest.Fault{Status: http.StatusServiceUnavailable} })
	w.people.Review(t, "ann", 1, w.pull(1).Head, work.PullApproved, "thanks")
	w.eventually("the outage is said", func() bool {
		return strings.Contains(one.stderr.String(), "could not be read") && strings.Contains(two.stderr.String(), "could not be read")
	})
	down := w.forge("host", "status")
	_, id = w.asked(1)
	w.forge("show", id).want(exitDone).says("the host has not been read since", "503")
	if down.code == exitDone || !strings.Contains(down.stdout, "not to be read since") || !strings.Contains(down.stdout, "503") {
		t.Errorf("forge host status in an outage: exit code %d\n%s\n%s", down.code, down.stdout, down.stderr)
	}
	w.eventually("it fails again", func() bool {
		text, err := os.ReadFile(w.newsFile())
		var n pullrequest.News
		return err == nil && json.Unmarshal(text, &n) == nil && n.Why != "" && n.At.After(n.Since)
	})
	if at := w.pull(1); at.State != work.PullOpen {
		t.Errorf("in the outage the pull request became %s", at.State)
	}
	proxy.Misbehave(nil)
	w.eventually("the next phase asks", func() bool {
		_, outcome := see.outcome()
		return outcome == work.RunFrozen && w.pull(1).State == work.PullMerged && w.pull(2).State == work.PullOpen
	})
	w.eventually("it says that the host is back", func() bool {
		return strings.Contains(one.stderr.String(), "can be read again") && strings.Contains(two.stderr.String(), "can be read again")
	})
	w.forge("host", "status").want(exitDone).says("read ", " ago by process ")
	_, id = w.asked(2)
	if shown := w.forge("show", id).want(exitDone); strings.Contains(shown.stdout, "\n  news ") {
		t.Errorf("somebody watches, and it says\n%s", shown.stdout)
	}
	for name, s := range map[string]*started{"one": one, "two": two} {
		s.stop()
		end := s.wait().want(exitInterrupted)
		end.warns("stopped")
		if n := strings.Count(end.stderr, "could not be read"); n != 1 {
			t.Errorf("%s says %d times that the host cannot be read:\n%s", name, n, end.stderr)
		}
		if strings.Contains(end.stderr, "canceled") {
			t.Errorf("%s says how it ended inside:\n%s", name, end.stderr)
		}
	}
	events := see.count()
	if events[work.CheckpointAnswered] != 2 || events[work.IterationStarted] != 3 || events[work.PhaseMerged] != 1 {
		t.Errorf("events: %v\none:\n%s\ntwo:\n%s", events, one.stderr, two.stderr)
	}
	if third := w.pull(3); third.Number != 0 {
		t.Errorf("a third pull request: %+v", third.PullRequest)
	}

	// Answered, and nobody goes on; then somebody watches again.
	w.people.Review(t, "ann", 2, w.pull(2).Head, work.PullApproved, "fine")
	w.forge("host", "watch", "--once", "--answer-only").want(exitDone).warns("answered")
	if _, outcome := see.outcome(); outcome != work.RunFrozen || w.pull(2).State != work.PullOpen {
		t.Errorf("with --answer-only the run is %s", outcome)
	}
	again := w.begin("host", "watch")
	w.eventually("the run is completed", func() bool {
		_, outcome := see.outcome()
		return outcome == work.RunCompleted
	})
	again.stop()
	again.wait().want(exitInterrupted)
}

var takingAt = regexp.MustCompile(`taking webhooks at=(http://\S+)`)

// A webhook lets forge host watch look at what it names, at once and without
// asking for anything else.
func TestHostWatchTakesWebhooks(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitHub(t)
	proxy := hosttest.StartProxy(t, g.URL)
	w := hubAt(t, g, proxy.URL)
	w.more("poll_secs = 86400\n")
	w.plan(phase("01", "first", 2))
	w.forge("host", "watch", "--listen", "127.0.0.1:0").want(exitUsage).warns("WEBHOOK_SECRET, which webhooks are signed with, is not set")
	const secret = "what both sides know"
	w.env = append(w.env, "WEBHOOK_SECRET="+secret)
	w.forge("host", "watch", "--once", "--listen", "127.0.0.1:0").want(exitUsage).warns("--once")
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	w.forge("host", "watch", "--listen", busy.Addr().String()).want(exitUsage).warns("for webhooks", "--listen")
	w.forge("run").want(exitFrozen)
	first, _ := w.asked(1)
	see := w.eyes()
	watch := w.begin("host", "watch", "--listen", "127.0.0.1:0")
	w.eventually("it has looked", func() bool {
		text, err := os.ReadFile(w.newsFile())
		return err == nil && strings.Contains(string(text), `"at"`)
	})
	at := takingAt.FindStringSubmatch(watch.stderr.String())
	if at == nil {
		t.Fatalf("it does not say where it takes webhooks:\n%s", watch.stderr)
	}
	send := func(d hosttest.Delivery, want int) {
		t.Helper()
		a, err := http.DefaultClient.Do(d.Request(t, http.MethodPost, at[1]+"/any/path"))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != want {
			t.Errorf("a webhook: %d, want %d", a.StatusCode, want)
		}
	}
	w.people.Review(t, "ann", 1, first.Head, work.PullApproved, "fine")
	send(hosttest.Delivery{Secret: "a guess", ID: "d1", Body: hosttest.HookBody("octo/repo", 1, "forged")}, http.StatusForbidden)
	send(hosttest.Delivery{Secret: secret, ID: "d2", Body: hosttest.HookBody("octo/repo", 77, "of nobody's")}, http.StatusNoContent)
	proxy.Seen()
	send(hosttest.Delivery{Secret: secret, ID: "d3", Body: hosttest.HookBody("octo/repo", 1, "submitted")}, http.StatusNoContent)
	w.eventually("the run is completed", func() bool {
		_, outcome := see.outcome()
		return outcome == work.RunCompleted
	})
	lists := 0
	for _, r := range proxy.Seen() {
		if strings.Contains(r, "sort=updated") {
			lists++
		}
	}
	// One is that of the resumed run, which reads for itself.
	if lists > 1 {
		t.Errorf("the list was asked for %d times", lists)
	}
	watch.stop()
	watch.wait().want(exitInterrupted).warns("refused a webhook")
}

// newsFile is where whoever watches notes how the news stand.
func (w *pullWorld) newsFile() string {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.state, "news", "*.json"))
	if err != nil {
		w.t.Fatal(err)
	}
	if len(found) == 0 {
		return filepath.Join(w.state, "news", "none")
	}
	return found[0]
}

// A webhook that comes before its question stands is not lost: the pull request
// is looked at as soon as somebody looks again, without a poll.
func TestWebhooksThatComeEarly(t *testing.T) {
	t.Parallel()
	w := fakeHub(t)
	w.plan(phase("01", "first", 2))
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(0)
	p, err := app.openProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	watch, err := hostwatch.Open(t.Context(), p.Checkout)
	if err != nil {
		t.Fatal(err)
	}
	hinted := func() int {
		t.Helper()
		rows, err := watch.Hinted(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(rows)
	}
	watch.Hints().Add(host.Hint{Number: 1})
	if n := hinted(); n != 0 {
		t.Fatalf("%d answers before there was a question", n)
	}
	w.forge("run").want(exitFrozen)
	first, _ := w.asked(1)
	w.people.Review(t, "ann", 1, first.Head, work.PullApproved, "fine")
	if n := hinted(); n != 1 {
		t.Errorf("%d answers, want the one that came early", n)
	}
	if n := hinted(); n != 0 || !watch.Hints().Empty() {
		t.Error("it is looked at again and again")
	}
}

// Whoever resumes without anybody watching reads the host first.
func TestResumeReadsTheHost(t *testing.T) {
	t.Parallel()
	w := fakeHub(t)
	w.plan(phase("01", "first", 2))
	w.forge("run").want(exitFrozen)
	first, id := w.asked(1)
	w.forge("resume").want(exitFrozen)
	w.people.Review(t, "ann", 1, first.Head, work.PullApproved, "fine")
	w.forge("resume").want(exitDone)
	var cp work.Checkpoint
	if err := json.Unmarshal([]byte(w.forge("show", id, "--output", "json").want(exitDone).stdout), &cp); err != nil {
		t.Fatal(err)
	}
	if cp.Status != work.CheckpointApproved || cp.AnsweredBy != "ann" {
		t.Errorf("checkpoint: %+v", cp)
	}
}
