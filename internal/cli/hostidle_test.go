package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"forge/internal/host"
	"forge/internal/host/gitea"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/hostwatch"
	"forge/internal/journal"
	"forge/internal/pullrequest"
	"forge/internal/text"
	"forge/internal/work"
)

// idleRuns is how many runs wait in the test of what that costs.
const idleRuns = 10

// However many runs wait, a poll is one request: a conditional one to GitHub,
// one page of the list to Gitea, which has none. Also where a rule of the
// branch is not met yet. A review costs a look at its own pull request alone.
func TestIdleRunsCostOneRequestAPoll(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitHub(t)
	w := hubAt(t, g, g.URL)
	// Checks are asked about until they are over, at most of one pull request a poll.
	w.write(".forge/forge.toml", w.read(".forge/forge.toml")+"ci_fixes = 0\n")
	w.plan(phase("01", "first", 2))
	w.forge("run").want(exitFrozen)
	first, _ := w.asked(1)
	run := strings.TrimPrefix(first.Base, "forge/run-")
	for n := 2; n <= idleRuns; n++ {
		rename := func(branch string) string { return strings.ReplaceAll(branch, run, copied(run, n)) }
		branch, base := rename(first.Branch), rename(first.Base)
		g.Seed(t, w.store, base, strings.TrimSpace(w.git("rev-parse", "HEAD")))
		g.Seed(t, w.store, branch, first.Head)
		if _, err := w.host.(*github.Host).OpenPull(t.Context(), work.PullProposal{Marker: branch, Branch: branch, Base: base, Title: text.Titled("%s", branch)}); err != nil {
			t.Fatal(err)
		}
		g.People().Protect(t, base, 1, "ci")
	}
	w.copies(idleRuns)
	g.People().Protect(t, first.Base, 1, "ci")
	g.Pass(time.Hour) // all of it is long ago
	tea := newIdleGitea(t)
	t.Run("GitHub", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			seen := &requests{next: &http.Transport{DisableKeepAlives: true}}
			h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Transport: seen})
			if err != nil {
				t.Fatal(err)
			}
			w.idle(t, seen, h, func(r *http.Request) bool {
				return r.URL.Path == "/repos/octo/repo/pulls" && r.Header.Get("If-None-Match") != ""
			},
				func() { g.People().Say(t, "ann", 5, "hm") }, "/5")
		})
	})
	t.Run("Gitea", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			seen := &requests{next: &http.Transport{DisableKeepAlives: true}}
			h, err := gitea.New(gitea.Config{URL: tea.url, Owner: "octo", Repo: "repo", Token: "t", Transport: seen})
			if err != nil {
				t.Fatal(err)
			}
			w.idle(t, seen, h, func(r *http.Request) bool { return r.URL.Path == "/api/v1/repos/octo/repo/pulls" },
				func() { tea.touch(5) }, "/5")
		})
	})
	t.Run("Held", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { w.heldThere(t, g, first) })
	})
}

// idle watches the runs for some polls in which nothing happens, and one before
// which something does, by the bubble's own clock.
func (w *pullWorld) idle(t *testing.T, seen *requests, h host.Host, isPoll func(*http.Request) bool, happen func(), touched string) {
	app := &App{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Environ: w.env, Dir: w.root, Now: time.Now}
	app.logTo(0)
	p, err := app.openProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.OpenStore(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	at, err := pullrequest.Settings(p.Checkout)
	if err != nil {
		t.Fatal(err)
	}
	watch := hostwatch.New(p.Checkout, h, *at)
	watch.Every = 30 * time.Second
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		watch.Loop(ctx, &hostwatch.Hooks{Env: app.env()}, func(bool) {})
	}()
	defer func() {
		cancel()
		<-over
	}()
	time.Sleep(time.Second)
	synctest.Wait()
	looked := map[string]bool{}
	for _, r := range seen.take() {
		if _, number, ok := strings.Cut(r.URL.Path, "/pulls/"); ok {
			looked[strings.Split(number, "/")[0]] = true
		}
	}
	if len(looked) != idleRuns {
		t.Fatalf("at the beginning it looked at %v", looked)
	}
	time.Sleep(watch.Every) // the first answer is what later ones are held against
	synctest.Wait()
	seen.take()
	for range 5 {
		time.Sleep(watch.Every)
		synctest.Wait()
		all := seen.take()
		if len(all) != 1 || !isPoll(all[0]) {
			t.Fatalf("%d requests while nothing happens: %s", len(all), paths(all))
		}
	}
	happen()
	time.Sleep(watch.Every)
	synctest.Wait()
	all := seen.take()
	// The words are read for calls by name, and by the run that goes on with them.
	if len(all) < 2 || len(all) > 5 || !isPoll(all[0]) {
		t.Fatalf("when something happened: %s", paths(all))
	}
	for _, r := range all[1:] {
		if number, of := cutPull(r); of && number != strings.TrimPrefix(touched, "/") {
			t.Errorf("it looked at pull request %s too: %s", number, paths(all))
		}
	}
}

// cutPull is the pull request that a request is about.
func cutPull(r *http.Request) (string, bool) {
	for _, of := range []string{"/pulls/", "/issues/"} {
		if _, rest, ok := strings.Cut(r.URL.Path, of); ok {
			return strings.Split(rest, "/")[0], true
		}
	}
	return "", false
}

func paths(all []*http.Request) string {
	var out []string
	for _, r := range all {
		out = append(out, r.Method+" "+r.URL.RequestURI())
	}
	return strings.Join(out, "\n")
}

// copied is the name of the nth run beside run.
func copied(run string, n int) string { return fmt.Sprintf("%s%02d", run[:len(run)-2], n) }

// copies makes runs beside the newest one that wait as it does, each with a pull
// request of its own, until there are n.
func (w *pullWorld) copies(n int) {
	t := w.t
	ctx := t.Context()
	store, err := journal.Open(ctx, w.state)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows, err := store.Runs(ctx)
	if err != nil || len(rows) != 1 {
		t.Fatalf("runs: %+v, %v", rows, err)
	}
	run := rows[0].ID
	events, err := store.Events(ctx, run, 0)
	if err != nil {
		t.Fatal(err)
	}
	open, err := store.Checkpoints(ctx, journal.CheckpointFilter{Run: run, Status: work.CheckpointPending}, 10, "")
	if err != nil {
		t.Fatal(err)
	}
	for i := 2; i <= n; i++ {
		id := copied(run, i)
		rename := func(s string) string { return strings.ReplaceAll(s, run, id) }
		lease, err := store.CreateRun(ctx, id, journal.Self())
		if err != nil {
			t.Fatal(err)
		}
		var a journal.Append
		numbered := 0
		for _, e := range events {
			text := rename(string(e.Data))
			numbered += strings.Count(text, `"number":1,`)
			e.Run, e.Data = id, json.RawMessage(strings.ReplaceAll(text, `"number":1,`, fmt.Sprintf(`"number":%d,`, i)))
			a.Events = append(a.Events, e)
		}
		if numbered != 1 {
			t.Fatalf("the pull request is numbered in %d places", numbered)
		}
		for _, cp := range open {
			cp.ID, cp.Run = rename(cp.ID), id
			a.Open = append(a.Open, cp)
		}
		if err := store.Append(ctx, lease, a); err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

// requests notes what is asked.
type requests struct {
	next http.RoundTripper
	mu   sync.Mutex
	all  []*http.Request
}

func (r *requests) RoundTrip(req *http.Request) (*http.Response, error) {
	r.mu.Lock()
	r.all = append(r.all, req)
	r.mu.Unlock()
	return r.next.RoundTrip(req)
}

// take are those since the last call.
func (r *requests) take() []*http.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.all
	r.all = nil
	return out
}

// idleGitea answers what is asked about open pull requests that nobody has
// reviewed, as Gitea does.
type idleGitea struct {
	url     string
	mu      sync.Mutex
	updated [idleRuns + 1]time.Time
	touched int // since it was asked last; its clock is not that of the bubble
}

func newIdleGitea(t *testing.T) *idleGitea {
	g := &idleGitea{}
	for n := range g.updated {
		g.updated[n] = time.Now().Add(-time.Hour)
	}
	g.url = hosttest.Listen(t, g.serve)
	return g
}

func (g *idleGitea) touch(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.touched = n
}

func (g *idleGitea) pull(n int) map[string]any {
	return map[string]any{"number": n, "state": "open", "updated_at": g.updated[n], "mergeable": true, "user": map[string]any{"login": "forge"},
		"head": map[string]any{"ref": fmt.Sprint("waits-", n), "sha": "abc"}, "base": map[string]any{"ref": "run", "sha": "def"}}
}

func (g *idleGitea) serve(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.touched > 0 {
		g.updated[g.touched], g.touched = time.Now(), 0
	}
	say := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	path := strings.TrimPrefix(r.URL.Path, "/api/v1/repos/octo/repo")
	var n int
	switch {
	case path == "/pulls":
		var order []int
		for n := 1; n <= idleRuns; n++ {
			order = append(order, n)
		}
		slices.SortFunc(order, func(a, b int) int { return g.updated[b].Compare(g.updated[a]) })
		var list []any
		for _, n := range order {
			list = append(list, g.pull(n))
		}
		w.Header().Set("X-Total-Count", fmt.Sprint(idleRuns))
		say(list)
	case strings.HasSuffix(path, "/reviews"), strings.HasSuffix(path, "/comments"):
		say([]any{})
	case scan(path, "/pulls/%d", &n):
		say(g.pull(n))
	case strings.HasPrefix(path, "/branches/"):
		say(map[string]any{"name": "run", "user_can_merge": true, "required_approvals": 1, "protected": true})
	case strings.HasSuffix(path, "/status"):
		say(map[string]any{"state": "", "total_count": 0})
	case strings.HasSuffix(r.URL.Path, "/user"):
		say(map[string]any{"login": "forge"})
	default:
		w.WriteHeader(http.StatusNotFound)
		say(map[string]any{"message": "not here: " + r.URL.Path})
	}
}
