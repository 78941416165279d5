// Package github speaks with GitHub, or a GitHub Enterprise Server, for one
// repository.
package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	sdk "github.com/google/go-github/v88/github"

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
	cfg     Config
	client  *host.Client
	api     *sdk.Client
	merging *sdk.Client
	// reviewing says what Forge's reviewers found.
	reviewing *sdk.Client
	root      string
	graph     string

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
	if h.api, err = h.as(cfg.Token); err == nil {
		h.merging, err = h.as(cfg.MergeToken)
	}
	if err == nil {
		h.reviewing, err = h.as(cfg.ReviewToken)
	}
	return h, err
}

// as is the library's client for one token.
func (h *Host) as(token string) (*sdk.Client, error) {
	base := h.root + "/"
	options := []sdk.ClientOptionsFunc{sdk.WithHTTPClient(h.client.HTTP()), sdk.WithURLs(&base, nil), sdk.WithDisableRateLimitCheck()}
	if token != "" {
		options = append(options, sdk.WithAuthToken(token))
	}
	c, err := sdk.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("open the host: %w", err)
	}
	return c, nil
}

// trouble says what an answer means.
func (h *Host) trouble(do string, res *sdk.Response, err error) *work.HostTrouble {
	status, header, message := 0, http.Header{}, ""
	if res != nil && res.Response != nil {
		status, header = res.StatusCode, res.Header
	}
	var said *sdk.ErrorResponse
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &said):
		message = said.Message
		for _, e := range said.Errors {
			message += "; " + strings.TrimSpace(e.Message+" "+e.Field+" "+e.Code)
		}
		err = nil
	case status >= 300 && err != nil:
		message, err = err.Error(), nil
	case errors.As(err, &syntax) && status > 0:
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, Status: status, What: "what answers there is no GitHub", Fix: "check host.url"}
	}
	t := h.client.Trouble(do, status, header, message, err)
	if needs := header.Get("X-Accepted-GitHub-Permissions"); t.Kind == work.HostForbidden && needs != "" && strings.Contains(message, "not accessible by") {
		t.Kind, t.Scopes = work.HostMissingScope, strings.FieldsFunc(needs, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
		t.What, t.Fix = "the token lacks the permission "+needs, "give it to the token"
	}
	return t
}

// WhoAmI is the account of the token and, of a classic one, its scopes.
func (h *Host) WhoAmI(ctx context.Context) (work.HostAccount, error) {
	u, res, err := h.api.Users.Get(ctx, "")
	if err != nil {
		return work.HostAccount{}, h.trouble("ask whose the token is", res, err)
	}
	out := work.HostAccount{Name: u.GetLogin()}
	if _, classic := res.Header["X-Oauth-Scopes"]; classic {
		out.Scopes = strings.FieldsFunc(res.Header.Get("X-OAuth-Scopes"), func(r rune) bool { return r == ',' || r == ' ' })
		if out.Scopes == nil {
			out.Scopes = []string{}
		}
	}
	return out, nil
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
	clients := []*sdk.Client{h.api}
	if h.cfg.MergeToken != h.cfg.Token {
		clients = append(clients, h.merging)
	}
	if h.cfg.ReviewToken != h.cfg.Token {
		clients = append(clients, h.reviewing)
	}
	for _, c := range clients {
		u, res, err := c.Users.Get(ctx, "")
		if err != nil {
			return nil, h.trouble("ask whose the token is", res, err)
		}
		own[strings.ToLower(u.GetLogin())] = true
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
	r, res, err := h.api.Repositories.Get(ctx, h.cfg.Owner, h.cfg.Repo)
	if err != nil {
		t := h.trouble("read "+h.cfg.Owner+"/"+h.cfg.Repo, res, err)
		if t.Kind == work.HostMissingScope {
			out.Missing = t.Scopes
			return out, nil
		}
		return out, t
	}
	out.Repo, out.Default, out.Archived = r.GetFullName(), r.GetDefaultBranch(), r.GetArchived()
	// Said only to those who may change it.
	out.Squash = r.AllowSquashMerge == nil || r.GetAllowSquashMerge()
	if p := r.GetPermissions(); p != nil {
		out.Push, out.Admin = p.GetPush(), p.GetAdmin()
	}
	if base == "" {
		base = out.Default
	}
	b, res, err := h.api.Repositories.GetBranch(ctx, h.cfg.Owner, h.cfg.Repo, base, 0)
	if err != nil {
		t := h.trouble("read branch "+base, res, err)
		if t.Status != http.StatusNotFound {
			return out, t
		}
		if out.Empty = r.GetSize() == 0 && base == out.Default; out.Empty {
			return out, nil
		}
		t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+base, "push it there first"
		return out, t
	}
	out.Protected = b.GetProtected()
	if out.Protected {
		h.protection(ctx, base, &out)
	}
	return out, nil
}

// protection is told to administrators alone; to others the branch is just
// protected.
func (h *Host) protection(ctx context.Context, base string, out *work.HostAccess) {
	p, _, err := h.api.Repositories.GetBranchProtection(ctx, h.cfg.Owner, h.cfg.Repo, base)
	if err != nil {
		return
	}
	if r := p.GetRequiredPullRequestReviews(); r != nil {
		out.Approvals = r.RequiredApprovingReviewCount
	}
	if c := p.GetRequiredStatusChecks(); c != nil && c.Contexts != nil {
		out.Checks = *c.Contexts
	}
}
