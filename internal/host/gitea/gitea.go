// Package gitea speaks with a Gitea server, 1.20 or later, for one repository.
package gitea

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/work"
)

// Config says which repository, and as whom.
type Config struct {
	URL         string // of the server
	Owner, Repo string
	// Token is of the account that proposes; MergeToken, "" = Token, of the one
	// that merges and deletes branches.
	Token, MergeToken string
	// ReviewToken, "" = Token, is of the account that says what Forge's reviewers
	// found.
	ReviewToken string
	// Own are further accounts of Forge's: what they say in reviews never counts.
	Own       []string
	Store     *git.Store        // nil: branches cannot be pushed or fetched
	Transport http.RoundTripper // nil is Go's own
}

var _ host.Host = (*Host)(nil)

// Host is one repository on one server. It may be used by several goroutines.
type Host struct {
	*host.Branches
	cfg    Config
	client *host.Client
	root   string // address without a slash at its end

	opening sync.Mutex

	mu  sync.Mutex
	own map[string]bool // lower case; nil = not asked yet
}

// New makes no request.
func New(cfg Config) (*Host, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "host.url is not an address of HTTP without a user", Fix: `write such as "https://git.example.com"`}
	}
	if cfg.Owner == "" || cfg.Repo == "" {
		return nil, &work.HostTrouble{Kind: work.HostNoRepository, What: "host.repo is not owner/name"}
	}
	if cfg.MergeToken == "" {
		cfg.MergeToken = cfg.Token
	}
	if cfg.ReviewToken == "" {
		cfg.ReviewToken = cfg.Token
	}
	h := &Host{cfg: cfg, root: strings.TrimRight(cfg.URL, "/")}
	h.client = host.NewClient(u.Host, cfg.Transport, cfg.Token, cfg.MergeToken, cfg.ReviewToken)
	clone := h.root + "/" + url.PathEscape(cfg.Owner) + "/" + url.PathEscape(cfg.Repo) + ".git"
	h.Branches = host.NewBranches(h.client, cfg.Store, clone, cfg.Token, "x-oauth-basic")
	return h, nil
}

// WhoAmI is the account of the token; Gitea does not tell the scopes.
func (h *Host) WhoAmI(ctx context.Context) (work.HostAccount, error) {
	u, t := h.whose(ctx, "")
	if t != nil {
		return work.HostAccount{}, t
	}
	return work.HostAccount{Name: u.Login}, nil
}

// ours are the accounts whose reviews never count.
func (h *Host) ours(ctx context.Context) (map[string]bool, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.own != nil {
		return h.own, nil
	}
	own := map[string]bool{}
	for _, name := range h.cfg.Own {
		own[strings.ToLower(name)] = true
	}
	asked := map[string]bool{}
	for _, token := range []string{h.cfg.Token, h.cfg.MergeToken, h.cfg.ReviewToken} {
		if asked[token] {
			continue
		}
		asked[token] = true
		u, t := h.whose(ctx, account(token))
		if t != nil {
			return nil, t
		}
		own[strings.ToLower(u.Login)] = true
	}
	h.own = own
	return own, nil
}

// Access says what the token may do, with base as the branch that is proposed
// for ("" = the default one). Missing scopes are found by asking for what
// cannot be there; that changes nothing.
func (h *Host) Access(ctx context.Context, base string) (work.HostAccess, error) {
	var out work.HostAccess
	var version struct{ Version string }
	a, err := h.client.Ask(ctx, http.MethodGet, h.root+"/api/v1/version", nil, nil)
	if err != nil || a.Status >= 500 || a.Status == http.StatusTooManyRequests {
		return out, h.trouble("reach "+h.root, a, err)
	}
	// A server that asks for a login even here answers in words of its own.
	if a.Status == http.StatusNotFound || a.Status < 300 && (json.Unmarshal(a.Body, &version) != nil || version.Version == "") {
		return out, &work.HostTrouble{Kind: work.HostWrong, Do: "reach " + h.root, Status: a.Status, What: "what answers there is no Gitea", Fix: "write the address of the server alone as host.url"}
	}
	scoped := func(t *work.HostTrouble) bool {
		if t.Kind == work.HostMissingScope {
			out.Missing = append(out.Missing, t.Scopes...)
			return true
		}
		return false
	}
	if u, t := h.whose(ctx, ""); t == nil {
		out.Account.Name = u.Login
	} else if !scoped(t) {
		return out, t
	}
	r, t := h.repo(ctx, "read "+h.cfg.Owner+"/"+h.cfg.Repo)
	if t != nil && !scoped(t) {
		return out, t
	}
	for _, probe := range []struct{ method, path string }{
		{http.MethodPatch, "/pulls/0"},
		{http.MethodPatch, "/issues/comments/0"},
	} {
		a, err := h.send(ctx, request{method: probe.method, path: probe.path, body: map[string]string{"body": "-"}}, h.repository())
		if err != nil {
			return out, h.trouble("try the token", a, err)
		}
		if a.Status == http.StatusForbidden {
			scoped(h.trouble("try the token", a, nil))
		}
	}
	if r.FullName == "" {
		return out, nil
	}
	out.Repo, out.Default, out.Empty, out.Archived, out.Squash = r.FullName, r.Default, r.Empty, r.Archived, r.Squash
	out.NoPulls = !r.Pulls
	out.Push, out.Admin = r.Permissions.Push, r.Permissions.Admin
	if base == "" {
		base = r.Default
	}
	if out.Empty || base == "" {
		return out, nil
	}
	b, t := h.branch(ctx, "read branch "+base, base, "")
	if t != nil {
		if t.Status == http.StatusNotFound {
			t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+base, "push it there first"
		}
		return out, t
	}
	if out.Protected, out.Approvals = b.Protected, b.Approvals; b.Checked {
		out.Checks = b.Contexts
	}
	return out, nil
}
