// Package github speaks with GitHub, or a GitHub Enterprise Server, for one
// repository.
package github

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/work"
)

const publicAPI = "https://api.github.com"

// Config says which repository, and as whom.
type Config struct {
	URL         string // of the API; "" = GitHub's own
	CloneURL    string // "" = derived from URL
	Owner, Repo string
	Token       string
	MergeToken  string            // of the account that merges; "" = Token
	ReviewToken string            // of the account that says what Forge's reviewers found; "" = Token
	Own         []string          // further accounts whose reviews never count
	Store       *git.Store        // nil: branches cannot be pushed or fetched
	Transport   http.RoundTripper // nil is Go's own
}

var _ host.Host = (*Host)(nil)

// Host is one repository. It may be used by several goroutines.
type Host struct {
	*host.Branches
	host.TextOnly // its API attaches no files
	host.OneByOne // a branch with a merge queue is moved by that
	cfg           Config
	client        *host.Client
	asks          account
	merges        account
	// reviews says what Forge's reviewers found.
	reviews account
	root    string
	graph   string

	mu  sync.Mutex
	own map[string]bool // lower case; nil = not asked yet
}

// New makes no request.
func New(cfg Config) (*Host, error) {
	if cfg.URL == "" {
		cfg.URL = publicAPI
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "host.url is not an address of HTTP without a user", Fix: `leave it out, or write such as "https://git.example.com/api/v3"`}
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
	web := strings.TrimSuffix(h.root, "/api/v3")
	h.graph = web + "/api/graphql"
	if h.root == publicAPI {
		web, h.graph = "https://github.com", publicAPI+"/graphql"
	}
	if cfg.CloneURL == "" {
		cfg.CloneURL = web + "/" + url.PathEscape(cfg.Owner) + "/" + url.PathEscape(cfg.Repo) + ".git"
	}
	h.Branches = host.NewBranches(h.client, cfg.Store, cfg.CloneURL, "x-access-token", cfg.Token)
	h.asks, h.merges, h.reviews = account(cfg.Token), account(cfg.MergeToken), account(cfg.ReviewToken)
	return h, nil
}

// WhoAmI is the account of the token and, of a classic one, its scopes.
func (h *Host) WhoAmI(ctx context.Context) (work.HostAccount, error) {
	u, a, t := h.whose(ctx, h.asks)
	if t != nil {
		return work.HostAccount{}, t
	}
	out := work.HostAccount{Name: u.Login}
	if _, classic := a.Header["X-Oauth-Scopes"]; classic {
		out.Scopes = strings.FieldsFunc(a.Header.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
		if out.Scopes == nil {
			out.Scopes = []string{}
		}
	}
	return out, nil
}

// whose is the account of a token.
func (h *Host) whose(ctx context.Context, token account) (u user, a host.Answer, t *work.HostTrouble) {
	a, t = h.call(ctx, request{do: "ask whose the token is", path: "/user", as: token}, &u)
	return u, a, t
}

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
	tokens := []account{h.asks}
	for _, more := range []account{h.merges, h.reviews} {
		if !slices.Contains(tokens, more) {
			tokens = append(tokens, more)
		}
	}
	for _, token := range tokens {
		u, _, t := h.whose(ctx, token)
		if t != nil {
			return nil, t
		}
		own[strings.ToLower(u.Login)] = true
	}
	h.own = own
	return own, nil
}

// Access says what the token may do, with base as the branch that is proposed
// for ("" = the default one). What a fine-grained token lacks shows only when
// it is used: GitHub does not tell.
func (h *Host) Access(ctx context.Context, base string) (work.HostAccess, error) {
	var out work.HostAccess
	who, err := h.WhoAmI(ctx)
	if err != nil {
		var t *work.HostTrouble
		if errors.As(err, &t) && t.Kind == work.HostNoRepository {
			t.Kind, t.What, t.Fix = work.HostWrong, "what answers at "+h.root+" is no GitHub", "check host.url"
		}
		return out, err
	}
	out.Account = who
	if who.Scopes != nil && !slices.Contains(who.Scopes, "repo") && !slices.Contains(who.Scopes, "public_repo") {
		out.Missing = []string{"repo"}
	}
	var r repository
	if _, t := h.ask(ctx, request{do: "read " + h.cfg.Owner + "/" + h.cfg.Repo}, &r); t != nil {
		if t.Kind == work.HostMissingScope {
			out.Missing = t.Scopes
			return out, nil
		}
		return out, t
	}
	out.Repo, out.Default, out.Archived = r.FullName, r.Default, r.Archived
	out.Squash = r.Squash == nil || *r.Squash
	out.Push, out.Admin = r.Permissions.Push, r.Permissions.Admin
	if base == "" {
		base = out.Default
	}
	var b struct {
		Protected bool `json:"protected"`
	}
	if _, t := h.ask(ctx, request{do: "read branch " + base, path: "/branches/" + url.PathEscape(base)}, &b); t != nil {
		if t.Status != http.StatusNotFound {
			return out, t
		}
		if out.Empty = r.Size == 0 && base == out.Default; out.Empty {
			return out, nil
		}
		t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+base, "push it there first"
		return out, t
	}
	if out.Protected = b.Protected; out.Protected {
		h.protection(ctx, base, &out)
	}
	return out, nil
}

// protection is told to administrators alone; to others the branch is just
// protected.
func (h *Host) protection(ctx context.Context, base string, out *work.HostAccess) {
	var p protection
	if _, t := h.ask(ctx, request{do: "read how " + base + " is protected", path: "/branches/" + url.PathEscape(base) + "/protection"}, &p); t != nil {
		return
	}
	out.Approvals, out.Checks = p.Reviews.Approvals, p.Checks.Contexts
}
