//go:build real

package worker

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"forge/factory"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// TestRealPullRequestsLandTogether: pull requests on a real Gitea that are ready at the
// same time land in one push, by one proof; whoever is red beside the others is named.
func TestRealPullRequestsLandTogether(t *testing.T) {
	pace.Slow(t, "a Gitea, and runs of issues with their pull requests")
	g := hosttest.StartCrowd(t)
	t.Run("Together", func(t *testing.T) {
		w := hostedLine(t, g, true, "a", "b", "c", "d")
		got := w.landAll("a", "b", "c", "d")
		a, d := got["a"], got["d"]
		if a.Commit == "" || got["b"].Commit != a.Commit || got["c"].Commit != a.Commit {
			t.Errorf("a, b and c do not land in one move: %+v", got)
		}
		if d.Commit != "" || d.Hold != factory.HoldLandingRed {
			t.Errorf("d: %+v", d)
		}
		if trees := w.proven(); len(trees) != 3 || trees[0] != "a.txt b.txt c.txt d.txt" {
			t.Errorf("proven were %q", trees)
		}
		if heads := w.moves(); len(heads) != 3 || heads[0] != a.Commit {
			t.Errorf("the target holds %q, one commit for each of three", heads)
		}
		if states := w.states(); states != "a merged, b merged, c merged, d open" {
			t.Error(states)
		}
	})
	t.Run("OneByOne", func(t *testing.T) { // where nobody may mark them as merged
		w := hostedLine(t, g, false, "a", "b")
		got := w.landAll("a", "b")
		if a, b := got["a"].Commit, got["b"].Commit; a == "" || b == "" || a == b {
			t.Errorf("%+v", got)
		}
		if states := w.states(); states != "a merged, b merged" {
			t.Error(states)
		}
	})
	t.Run("Unmarked", func(t *testing.T) { // the push came through, and the rest did not
		w := hostedLine(t, g, true, "a", "b")
		w.proxy.Misbehave(func(r *http.Request) hosttest.Fault {
			if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/merge") {
				return hosttest.Fault{Status: http.StatusBadGateway}
			}
			return hosttest.Fault{}
		})
		if got := w.landAll("a", "b"); got["a"].Hold != factory.HoldHost || got["b"].Hold != factory.HoldHost || w.states() != "a open, b open" {
			t.Fatalf("%+v, %s", got, w.states())
		}
		before := w.moves()
		w.proxy.Misbehave(nil)
		for _, title := range []string{"b", "a"} {
			if l, err := w.worker.Land(t.Context(), w.of[title], "", func(work.IssuePull) error { return nil }); err != nil || l.Commit == "" {
				t.Errorf("%s: %+v, %v", title, l, err)
			}
		}
		if states := w.states(); states != "a merged, b merged" {
			t.Error(states)
		}
		if heads := w.moves(); len(heads) != 2 || !slices.Equal(heads, before) {
			t.Errorf("the target was at %q, and holds %q", before, heads)
		}
	})
	t.Run("ChangedMinds", func(t *testing.T) { // while all is proven, a person says no
		w := hostedLine(t, g, true, "a", "b")
		hold := filepath.Join(filepath.Dir(w.env.Dir), "hold")
		if err := os.WriteFile(hold, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		dones := w.line(nil, "a", "b")
		for {
			if _, err := os.Stat(filepath.Join(filepath.Dir(w.env.Dir), "proven")); err == nil {
				break
			}
			select {
			case <-t.Context().Done():
				t.Fatal("nothing was proven")
			case o := <-dones["a"]:
				t.Fatalf("a was not held: %+v", o)
			case <-time.After(5 * time.Millisecond):
			}
		}
		number := w.pull("b")
		w.g.People(w.repo).Review(t, "ann", number, w.head(number), work.PullChangesRequested, "not like that")
		if err := os.Remove(hold); err != nil {
			t.Fatal(err)
		}
		a, b := <-dones["a"], <-dones["b"]
		if a.err != nil || a.landed.Commit == "" || b.err != nil || b.landed.Commit != "" {
			t.Errorf("a %+v, b %+v", a, b)
		}
		if states := w.states(); states != "a merged, b open" {
			t.Error(states)
		}
	})
}

// hostedLine is a line world whose target is on a Gitea.
type hostedLineWorld struct {
	*lineWorld
	g     *hosttest.GiteaCrowd
	repo  string
	proxy *hosttest.Proxy
}

func hostedLine(t *testing.T, g *hosttest.GiteaCrowd, byHand bool, titles ...string) *hostedLineWorld {
	t.Helper()
	repo := g.Repo(t, false)
	g.Do(t, g.Tokens["owner"], http.MethodPatch, "/repos/owner/"+repo, map[string]any{"has_pull_requests": true, "allow_manual_merge": byHand}, nil)
	proxy := hosttest.StartProxy(t, g.URL)
	env := lineEnv(t, fmt.Sprintf("[host]\nkind = \"gitea\"\nurl = %q\nrepo = %q\ntoken_env = \"HOST_TOKEN\"\n", proxy.URL, "owner/"+repo))
	env.Environ = append(slices.DeleteFunc(env.Environ, func(v string) bool { return strings.HasPrefix(v, "HOST_TOKEN=") }), "HOST_TOKEN="+g.Tokens["forge"])
	w := &hostedLineWorld{lineWorld: &lineWorld{t: t, env: env}, g: g, repo: repo, proxy: proxy}
	w.git("push", "--quiet", strings.Replace(g.URL, "://", "://owner:"+g.Tokens["owner"]+"@", 1)+"/owner/"+repo+".git", "HEAD:refs/heads/main")
	w.lineWorld = openLineWorld(t, env, titles...)
	return w
}

func (w *hostedLineWorld) landAll(titles ...string) map[string]factory.Landed {
	w.t.Helper()
	got := map[string]factory.Landed{}
	for title, done := range w.line(nil, titles...) {
		o := <-done
		if o.err != nil {
			w.t.Fatalf("%s: %v", title, o.err)
		}
		got[title] = o.landed
	}
	return got
}

// moves are the commits of the target beside its first, the newest first.
func (w *hostedLineWorld) moves() (out []string) {
	w.t.Helper()
	var all []struct{ Sha string }
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.repo+"/commits?sha=main&stat=false", nil, &all)
	for _, c := range all[:len(all)-1] {
		out = append(out, c.Sha)
	}
	return out
}

// pull is the number of the pull request of an issue.
func (w *hostedLineWorld) pull(title string) (number int64) {
	w.t.Helper()
	for _, p := range w.pulls() {
		if strings.HasSuffix(p.Title, ": "+title) {
			number = p.Number
		}
	}
	if number == 0 {
		w.t.Fatalf("there is no pull request of %s", title)
	}
	return number
}

func (w *hostedLineWorld) head(number int64) string {
	w.t.Helper()
	var p struct{ Head struct{ Sha string } }
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, fmt.Sprintf("/repos/owner/%s/pulls/%d", w.repo, number), nil, &p)
	return p.Head.Sha
}

// linePull is a pull request as the host lists it.
type linePull struct {
	Number       int64
	Title, State string
	Merged       bool
}

func (w *hostedLineWorld) pulls() (all []linePull) {
	w.t.Helper()
	w.g.Do(w.t, w.g.Tokens["owner"], http.MethodGet, "/repos/owner/"+w.repo+"/pulls?state=all", nil, &all)
	return all
}

// states are the pull requests by the titles of their issues.
func (w *hostedLineWorld) states() string {
	w.t.Helper()
	var out []string
	for _, p := range w.pulls() {
		if p.Merged {
			p.State = "merged"
		}
		_, title, _ := strings.Cut(p.Title, ": ")
		out = append(out, title+" "+p.State)
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}
