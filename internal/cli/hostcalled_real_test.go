//go:build real

package cli

import (
	"testing"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
)

func TestRealGiteaCalledOnAPullRequestOfAPerson(t *testing.T) {
	g := hosttest.StartCrowd(t, hosttest.AsShipped)
	repo := g.Repo(t, false)
	w := newWorld(t, calledScript)
	store, head := w.storeOf()
	h, err := gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: repo, Token: g.Tokens["forge"], Store: store, Transport: g.Transport()})
	check(t, err)
	check(t, h.Push(t.Context(), "main", head, ""))
	(&pullWorld{world: w, host: h, people: g.People(repo), store: store}).called("gitea", g.URL, "owner/"+repo, g.Tokens["forge"], head)
}
