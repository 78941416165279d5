package gitlab_test

import (
	"testing"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/host/gitlab"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
)

var _ = pace.OnlyBeside("the suite of hosts, and git's time")

func TestGitLab(t *testing.T) {
	hosttest.Run(t, true, func(t testing.TB) *hosttest.World {
		g := hosttest.StartGitLab(t)
		store, start := hosttest.NewStore(t)
		g.Seed(t, store, "main", start)
		return &hosttest.World{
			Wait: g.Pass, Decisions: true, Rule: "pipeline", Pictures: true, Uploads: true,
			Host: adapter(t, g, hosttest.GitLabProject, hosttest.GitHubToken, store), People: g.People(), Store: store, Base: "main", Start: start,
			Token: hosttest.GitHubToken, Narrow: hosttest.GitHubNarrow,
			With: func(repo, token string) host.Host {
				if repo = "octo/" + repo; repo == "octo/" {
					repo = hosttest.GitLabProject
				}
				return adapter(t, g, repo, token, store)
			},
		}
	})
}

func adapter(t testing.TB, g *hosttest.GitLab, project, token string, store *git.Store) *gitlab.Host {
	t.Helper()
	h, err := gitlab.New(gitlab.Config{URL: g.URL, Project: project, Token: token, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
