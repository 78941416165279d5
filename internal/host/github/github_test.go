package github_test

import (
	"testing"
	"time"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/host/github"
	"forge/internal/host/hosttest"
	"forge/internal/pace"
)

var _ = pace.OnlyBeside("the suite of hosts, and git's time")

func TestGitHub(t *testing.T) {
	hosttest.Run(t, true, func(t testing.TB) *hosttest.World {
		g := hosttest.StartGitHub(t)
		g.Pass(0)
		store, start := hosttest.NewStore(t)
		with := func(repo, token string) host.Host { return adapter(t, g, repo, token, store) }
		w := &hosttest.World{
			Wait: func() { g.Pass(time.Second) },
			Host: with("repo", hosttest.GitHubToken), People: g.People(), Store: store, Base: "main", Start: start, Token: hosttest.GitHubToken, Narrow: hosttest.GitHubNarrow,
			With: func(repo, token string) host.Host {
				if repo == "" {
					repo = "repo"
				}
				return with(repo, token)
			},
		}
		g.Seed(t, store, "main", start)
		return w
	})
}

func adapter(t testing.TB, g *hosttest.GitHub, repo, token string, store *git.Store) *github.Host {
	t.Helper()
	h, err := github.New(github.Config{URL: g.URL, Owner: "octo", Repo: repo, Token: token, Store: store})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
