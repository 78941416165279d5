package pullrequest

import (
	"context"
	"errors"
	"path/filepath"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/host/gitea"
	"forge/internal/host/github"
	"forge/internal/host/local"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/work"
)

// CodeHost is what forge host asks of every adapter.
type CodeHost interface {
	Access(ctx context.Context, base string) (work.HostAccess, error)
}

// HookHost is one that can tell Forge by webhook.
type HookHost interface {
	EnsureHook(ctx context.Context, address, secret string) (int64, error)
	TestHook(ctx context.Context, id int64) error
}

// OpenHost is the adapter that [host] names. store nil is enough to look at
// it. Nothing is asked yet.
func OpenHost(p *project.Checkout, set config.CodeHost, store *git.Store) (CodeHost, error) {
	merger := set.MergerToken.Value
	switch set.Kind {
	case "gitea":
		return gitea.New(gitea.Config{URL: set.URL, Owner: set.Owner, Repo: set.Repo, Token: set.Token.Value, MergeToken: merger, ReviewToken: set.ReviewerToken.Value, Store: store})
	case "github":
		return github.New(github.Config{URL: set.URL, Owner: set.Owner, Repo: set.Repo, Token: set.Token.Value, MergeToken: merger, ReviewToken: set.ReviewerToken.Value, Store: store})
	}
	return local.New(local.Config{Store: store, Dir: filepath.Join(p.State, "pulls")}), nil
}

// HostSettings is [host], with its tokens there.
func HostSettings(p *project.Checkout) (config.CodeHost, error) {
	set, err := p.Config.CodeHost()
	if err != nil || set.Kind == "local" {
		return set, err
	}
	for _, s := range []config.Secret{set.Token, set.MergerToken, set.ReviewerToken} {
		if s.Name != "" && s.Value == "" {
			return set, refusal.New("make a token on the host with "+tokenNeeds(set.Kind)+", and set it to that", "%s, which [host] takes the token from, is not set", s.Name)
		}
	}
	return set, nil
}

// tokenNeeds are the scopes of a token that are enough.
func tokenNeeds(kind string) string {
	if kind == "github" {
		return "repo (classic) or contents, pull requests, issues, webhooks: write; commit statuses, checks: read (fine-grained)"
	}
	return "write:repository, write:issue, read:user"
}

// HostRefused is a trouble as a user's error, unless it passes by itself.
func HostRefused(err error) error {
	var t *work.HostTrouble
	if errors.As(err, &t) && !t.Passes() {
		return refusal.New(t.Fix, "%v", err)
	}
	return err
}
