// Package gitea speaks with a Gitea server, 1.20 or later, for one repository.
package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	sdk "code.gitea.io/sdk/gitea"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/text"
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

// as is the library's client for one call; it keeps the context, so it is not
// kept itself.
func (h *Host) as(ctx context.Context, token string) *sdk.Client {
	// Without a version to hold it against, nothing is asked here, and so
	// nothing fails.
	c, _ := sdk.NewClient(h.root, sdk.SetToken(token), sdk.SetHTTPClient(h.client.HTTP()), sdk.SetContext(ctx), sdk.SetGiteaVersion(""))
	return c
}

func (h *Host) api(ctx context.Context) *sdk.Client { return h.as(ctx, h.cfg.Token) }

// ask is a request that the library does not have, or whose answer it drops.
func (h *Host) ask(ctx context.Context, token, method, path string, body any) (host.Answer, error) {
	path = fmt.Sprintf("%s/api/v1/repos/%s/%s%s", h.root, url.PathEscape(h.cfg.Owner), url.PathEscape(h.cfg.Repo), path)
	return h.client.Ask(ctx, method, path, http.Header{"Authorization": {"token " + token}}, body)
}

var scopesIn = text.Lazy(`required=\[([^\]]*)\](?:, token scope=(\S*))?`)

// trouble says what an answer of the library means.
func (h *Host) trouble(do string, res *sdk.Response, err error) *work.HostTrouble {
	status, header := 0, http.Header{}
	if res != nil && res.Response != nil {
		status, header = res.StatusCode, res.Header
	}
	return h.said(do, status, header, err)
}

func (h *Host) answered(do string, a host.Answer, err error) *work.HostTrouble {
	if err == nil {
		return h.said(do, a.Status, a.Header, errors.New(a.Message()))
	}
	return h.client.Trouble(do, a.Status, a.Header, "", err)
}

func (h *Host) said(do string, status int, header http.Header, err error) *work.HostTrouble {
	message := ""
	if err != nil && status >= 300 {
		message, err = err.Error(), nil
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) && status < 300 && status > 0 {
		return &work.HostTrouble{Kind: work.HostWrong, Do: do, Status: status, What: "what answers there is no Gitea", Fix: "check host.url"}
	}
	t := h.client.Trouble(do, status, header, message, err)
	if m := scopesIn().FindStringSubmatch(message); m != nil && status == http.StatusForbidden {
		t.Kind, t.Scopes = work.HostMissingScope, strings.Fields(m[1])
		t.What = "the token lacks the scope " + strings.Join(t.Scopes, ", ")
		t.Fix = "make a token with it"
	}
	if strings.Contains(message, "branch protected") {
		t.Kind = work.HostProtected
	}
	return t
}

// WhoAmI is the account of the token; Gitea does not tell the scopes.
func (h *Host) WhoAmI(ctx context.Context) (work.HostAccount, error) {
	u, res, err := h.api(ctx).GetMyUserInfo()
	if err != nil {
		return work.HostAccount{}, h.trouble("ask whose the token is", res, err)
	}
	return work.HostAccount{Name: u.UserName}, nil
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
		u, res, err := h.as(ctx, token).GetMyUserInfo()
		if err != nil {
			return nil, h.trouble("ask whose the token is", res, err)
		}
		own[strings.ToLower(u.UserName)] = true
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
		return out, h.answered("reach "+h.root, a, err)
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
	if u, res, err := h.api(ctx).GetMyUserInfo(); err == nil {
		out.Account.Name = u.UserName
	} else if t := h.trouble("ask whose the token is", res, err); !scoped(t) {
		return out, t
	}
	r, res, err := h.api(ctx).GetRepo(h.cfg.Owner, h.cfg.Repo)
	if err != nil {
		if t := h.trouble("read "+h.cfg.Owner+"/"+h.cfg.Repo, res, err); !scoped(t) {
			return out, t
		}
	}
	for _, probe := range []struct{ method, path string }{
		{http.MethodPatch, "/pulls/0"},
		{http.MethodPatch, "/issues/comments/0"},
	} {
		a, err := h.ask(ctx, h.cfg.Token, probe.method, probe.path, map[string]string{"body": "-"})
		if err != nil {
			return out, h.answered("try the token", a, err)
		}
		if t := h.answered("try the token", a, nil); a.Status == http.StatusForbidden {
			scoped(t)
		}
	}
	if r == nil || r.FullName == "" {
		return out, nil
	}
	out.Repo, out.Default, out.Empty, out.Archived, out.Squash = r.FullName, r.DefaultBranch, r.Empty, r.Archived, r.AllowSquash
	out.NoPulls = !r.HasPullRequests
	if r.Permissions != nil {
		out.Push, out.Admin = r.Permissions.Push, r.Permissions.Admin
	}
	if base == "" {
		base = r.DefaultBranch
	}
	if out.Empty || base == "" {
		return out, nil
	}
	b, res, err := h.api(ctx).GetRepoBranch(h.cfg.Owner, h.cfg.Repo, base)
	if err != nil {
		t := h.trouble("read branch "+base, res, err)
		if t.Status == http.StatusNotFound {
			t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+base, "push it there first"
		}
		return out, t
	}
	out.Protected, out.Approvals = b.Protected, int(b.RequiredApprovals)
	if b.EnableStatusCheck {
		out.Checks = b.StatusCheckContexts
	}
	return out, nil
}
