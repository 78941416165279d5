//go:build real

package cli

import (
	"testing"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
)

func TestRealReviewOfAPullRequest(t *testing.T) {
	g := hosttest.StartCrowd(t)
	name := g.Repo(t, false)
	reviewStory(t, "gitea", g.URL, "owner/"+name, g.Tokens["forge"], g.People(name), func(store *git.Store) (host.Host, error) {
		return gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: name, Token: g.Tokens["forge"], Store: store})
	})
}
