package cli

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/work"
)

// With always, what nobody has to look at is proposed and merged at once; where
// the host does not do it, a person is asked, and nothing goes on without it.
func TestEveryPhaseHasAPullRequest(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitHub(t)
	proxy := hosttest.StartProxy(t, g.URL)
	store, start := hosttest.NewStore(t)
	g.Seed(t, store, "main", start)
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: "repo", Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	w := newPullWorld(t, "github", proxy.URL, "octo/repo", hosttest.GitHubToken, store, h, g.People())
	w.configure(fmt.Sprintf("[autonomy]\nlevel = \"autonomous\"\n[host]\nkind = \"github\"\nurl = %q\nrepo = \"octo/repo\"\ntoken_env = \"HOST_TOKEN\"\nalways = true\n", proxy.URL), "test -f README.md")
	// The answer to the first merge is lost, and the second request is refused.
	var merges, opened atomic.Int64
	proxy.Misbehave(func(req *http.Request) hosttest.Fault {
		switch {
		case strings.HasSuffix(req.URL.Path, "/merge") && merges.Add(1) == 1:
			return hosttest.Fault{After: true, Cut: true}
		case req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "/pulls") && opened.Add(1) == 2:
			return hosttest.Fault{Status: http.StatusForbidden}
		}
		return hosttest.Fault{}
	})
	w.forge("run").want(exitFrozen)
	first, err := w.host.Look(t.Context(), 1)
	if err != nil || first.State != work.PullMerged || !strings.HasSuffix(first.Branch, "/phase-1-tactical") || !strings.Contains(first.Body, "Nobody has to: Forge merges it at once") {
		t.Fatalf("%+v, %v", first.PullRequest, err)
	}
	second, id := w.asked(2)
	if second.State != work.PullOpen {
		t.Fatalf("%+v", second.PullRequest)
	}
	w.forge("approve", id, "--resume").want(exitDone)
	if second, err = w.host.Look(t.Context(), 2); err != nil || second.State != work.PullMerged {
		t.Errorf("%+v, %v", second.PullRequest, err)
	}
	if other, err := w.host.Pull(t.Context(), 3); err == nil {
		t.Errorf("there is a third pull request: %+v", other)
	}
	if got := w.git("rev-list", "--count", "HEAD"); got != "3" {
		t.Errorf("the history has %s commits", got)
	}
}
