package gitlab_test

import (
	"net/http"
	"strings"
	"testing"

	"forge/internal/host/gitlab"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// What a merge train answers beside a plain yes puts nothing in: a branch that moved in
// between is told as such, a train that is not for this project and one that does not
// take it yet are held with a way out.
func TestGitLabMergeTrainRefuses(t *testing.T) {
	t.Parallel()
	g := hosttest.StartGitLab(t)
	proxy := hosttest.StartProxy(t, g.URL)
	store, start := hosttest.NewStore(t)
	h, err := gitlab.New(gitlab.Config{URL: proxy.URL, CloneURL: g.URL + "/" + hosttest.GitLabProject + ".git", Project: hosttest.GitLabProject, Token: hosttest.GitHubToken, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	g.Seed(t, store, "main", start)
	g.MergesByTrain()
	w := &hosttest.World{Store: store, Start: start, Base: "main"}
	at := w.Commit(t, start, "one", map[string]string{"one.txt": "one\n"})
	if err := h.Push(t.Context(), "forge/a", at, ""); err != nil {
		t.Fatal(err)
	}
	p, err := h.OpenPull(t.Context(), work.PullProposal{Branch: "forge/a", Base: "main", Title: text.Titled("t"), Marker: "one"})
	if err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		method string
		status int
		want   work.HostKind
	}{
		{http.MethodPost, http.StatusConflict, work.HostHeadMoved},
		{http.MethodPost, http.StatusForbidden, work.HostProtected},
		{http.MethodPost, http.StatusBadRequest, work.HostProtected},
		{http.MethodPost, http.StatusUnprocessableEntity, work.HostProtected},
		{http.MethodGet, http.StatusForbidden, work.HostForbidden},
	} {
		proxy.Misbehave(func(req *http.Request) hosttest.Fault {
			if req.Method == c.method && strings.Contains(req.URL.Path, "/merge_trains/") {
				return hosttest.Fault{Status: c.status}
			}
			return hosttest.Fault{}
		})
		_, err := h.Merge(t.Context(), work.PullMerge{Number: p.Number, Branch: "forge/a", Base: "main", Head: at, Title: text.Titled("t")})
		if got := work.HostKindOf(err); got != c.want {
			t.Errorf("%s answered with %d: %q, want %q: %v", c.method, c.status, got, c.want, err)
		}
		if in := g.Train(); len(in) != 0 {
			t.Errorf("%s answered with %d: in the train are %v", c.method, c.status, in)
		}
	}
}
