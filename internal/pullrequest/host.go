package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"forge/internal/config"
	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/host/gitea"
	"forge/internal/host/github"
	"forge/internal/host/gitlab"
	"forge/internal/host/local"
	"forge/internal/project"
	"forge/internal/refusal"
	"forge/internal/text"
	"forge/internal/work"
)

// OpenHost is the adapter that [host] names. store nil is enough to look at
// it. Nothing is asked yet.
func OpenHost(p *project.Checkout, set config.CodeHost, store *git.Store) (host.Host, error) {
	merger := set.MergerToken.Value
	switch set.Kind {
	case "gitea":
		return gitea.New(gitea.Config{URL: set.URL, Owner: set.Owner, Repo: set.Repo, Token: set.Token.Value, MergeToken: merger, ReviewToken: set.ReviewerToken.Value, Store: store})
	case "github":
		return github.New(github.Config{URL: set.URL, Owner: set.Owner, Repo: set.Repo, Token: set.Token.Value, MergeToken: merger, ReviewToken: set.ReviewerToken.Value, Store: store})
	case "gitlab":
		return gitlab.New(gitlab.Config{URL: set.URL, Project: set.Owner + "/" + set.Repo, Token: set.Token.Value, MergeToken: merger, ReviewToken: set.ReviewerToken.Value, Store: store})
	case "local":
		return local.New(local.Config{Store: store, Dir: filepath.Join(p.State, "pulls")}), nil
	}
	return nil, fmt.Errorf("%q is no kind of code host", set.Kind)
}

// OpenRemote opens the code host of a project, with its settings and the place that it
// has there; nil where there is none.
func OpenRemote(ctx context.Context, p *project.Checkout) (h host.Host, set config.CodeHost, place work.PullSettings, err error) {
	at, err := Settings(p)
	if err != nil || !at.Remote() {
		return nil, set, place, err
	}
	if set, err = HostSettings(p); err != nil {
		return nil, set, place, err
	}
	// Not every host tells a conflict from a merge that it computes: git does.
	store, err := git.Open(ctx, git.Config{StateDir: p.State, Root: p.Base.RepoRoot, Environ: p.Environ})
	if err != nil {
		return nil, set, place, err
	}
	if h, err = OpenHost(p, set, store); err != nil {
		return nil, set, place, HostRefused(err)
	}
	return h, set, at.Place(), nil
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
	switch kind {
	case "gitlab":
		return "the scope api, of a member with the role Developer (Maintainer for setup --webhook)"
	case "github":
		return "repo (classic) or contents, pull requests, issues, webhooks: write; commit statuses, checks, actions: read (fine-grained)"
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

// LandsAt is the branch that results of issues are for, and what it asks for.
// Runs have branches of their own there.
func LandsAt(p *project.Checkout, a work.HostAccess) string {
	switch branch := cmp.Or(p.Config.PullTarget(), a.Default); {
	case a.Empty:
		return "cannot land: the repository is empty"
	case branch == "":
		return "cannot land: the host names no default branch, and factory.target is not set"
	default:
		return "land in " + branch + baseRules(a)
	}
}

func baseRules(a work.HostAccess) string {
	if !a.Protected {
		return ", not protected"
	}
	out := fmt.Sprintf(", protected: %s", text.Number(a.Approvals, "approval"))
	if len(a.Checks) > 0 {
		out += ", checks " + strings.Join(a.Checks, ", ")
	}
	return out
}
