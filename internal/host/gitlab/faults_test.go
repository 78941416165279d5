package gitlab_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/gitlab"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
	"forge/internal/work"
)

// A host that fails before or after its work, at each request in turn: asked again,
// there is one merge request, one comment and one merge.
func TestGitLabFaults(t *testing.T) {
	pace.Slow(t, "a host that fails is asked again, with pauses")
	g := hosttest.StartGitLab(t)
	proxy := hosttest.StartProxy(t, g.URL)
	store, start := hosttest.NewStore(t)
	h, err := gitlab.New(gitlab.Config{URL: proxy.URL, CloneURL: g.URL + "/" + hosttest.GitLabProject + ".git", Project: hosttest.GitLabProject, Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	g.Seed(t, store, "main", start)
	hosttest.Faults(t, proxy, h, &hosttest.World{Store: store, Wait: g.Pass}, "main")
}

// A token goes to no other host, and into no error.
func TestGitLabElsewhere(t *testing.T) {
	stolen := ""
	other := hosttest.Listen(t, func(_ http.ResponseWriter, req *http.Request) { stolen += req.Header.Get("Authorization") })
	away := hosttest.Listen(t, func(w http.ResponseWriter, req *http.Request) {
		http.Redirect(w, req, other+req.URL.RequestURI(), http.StatusTemporaryRedirect)
	})
	store, start := hosttest.NewStore(t)
	h, err := gitlab.New(gitlab.Config{URL: away, Project: "octo/repo", Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Access(t.Context(), "main")
	if work.HostKindOf(err) != work.HostWrong {
		t.Errorf("asked: %v", err)
	}
	perr := h.Push(t.Context(), "forge/x", start, "")
	if perr == nil {
		t.Error("pushed elsewhere")
	}
	if stolen != "" || strings.Contains(err.Error()+perr.Error(), hosttest.GitHubToken) {
		t.Errorf("the token went to another host (%q), or into %v, %v", stolen, err, perr)
	}
}
