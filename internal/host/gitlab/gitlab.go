// Package gitlab speaks with GitLab for one project: its merge requests are the pull
// requests, its discussions the threads, its approvals the reviews.
package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"forge/internal/git"
	"forge/internal/gitlabapi"
	"forge/internal/host"
	"forge/internal/work"
)

// Config says which project, and as whom.
type Config struct {
	URL         string // of the server; "" = GitLab's own
	CloneURL    string // "" = derived from URL
	Project     string // its path: group/name, or group/subgroup/name
	Token       string
	MergeToken  string            // of the account that merges; "" = Token
	ReviewToken string            // of the account that says what Forge's reviewers found; "" = Token
	Own         []string          // further accounts whose reviews never count
	Store       *git.Store        // nil: branches cannot be pushed or fetched
	Transport   http.RoundTripper // nil is Go's own
}

var _ host.Host = (*Host)(nil)

// Host is one project. It may be used by several goroutines.
type Host struct {
	host.OneByOne // a project with merge trains has its own queue
	*host.Branches
	cfg       Config
	api       gitlabapi.Project
	merging   gitlabapi.Project
	reviewing gitlabapi.Project

	mu  sync.Mutex
	own map[string]bool // lower case; nil = not asked yet
}

// New makes no request.
func New(cfg Config) (*Host, error) {
	if cfg.URL == "" {
		cfg.URL = gitlabapi.URL
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return nil, &work.HostTrouble{Kind: work.HostWrong, What: "host.url is not an address of HTTP without a user", Fix: `leave it out, or write such as "https://git.example.com"`}
	}
	if !strings.Contains(strings.Trim(cfg.Project, "/"), "/") {
		return nil, &work.HostTrouble{Kind: work.HostNoRepository, What: "host.repo is not group/name"}
	}
	api := gitlabapi.Project{Path: cfg.Project, Root: strings.TrimRight(cfg.URL, "/"), Token: cfg.Token}
	api.Client = host.NewClient(u.Host, cfg.Transport, cfg.Token, cfg.MergeToken, cfg.ReviewToken)
	h := &Host{cfg: cfg, api: api, merging: api, reviewing: api}
	if cfg.MergeToken != "" {
		h.merging = api.As(cfg.MergeToken)
	}
	if cfg.ReviewToken != "" {
		h.reviewing = api.As(cfg.ReviewToken)
	}
	if cfg.CloneURL == "" {
		cfg.CloneURL = api.Root + (&url.URL{Path: "/" + cfg.Project + ".git"}).EscapedPath()
	}
	h.Branches = host.NewBranches(api.Client, cfg.Store, cfg.CloneURL, "oauth2", cfg.Token)
	return h, nil
}

// ask sends a request below the project. What an archived project refuses, it refuses
// without saying so.
func (h *Host) ask(ctx context.Context, as gitlabapi.Project, do, method, path string, body, into any) error {
	a, err := as.Ask(ctx, do, method, path, body, into)
	if a.Status == http.StatusForbidden && method != http.MethodGet {
		if p, known := h.project(ctx); known == nil && p.Archived {
			return &work.HostTrouble{Kind: work.HostArchived, Do: do, Status: a.Status, What: "the project is archived", Fix: "unarchive it"}
		}
	}
	return err
}

type project struct {
	Path        string `json:"path_with_namespace"`
	Default     string `json:"default_branch"`
	Archived    bool   `json:"archived"`
	Empty       bool   `json:"empty_repo"`
	Squash      string `json:"squash_option"`
	Pulls       string `json:"merge_requests_access_level"`
	OnlyGreen   bool   `json:"only_allow_merge_if_pipeline_succeeds"`
	Trains      bool   `json:"merge_trains_enabled"`
	Permissions struct {
		Project *access `json:"project_access"`
		Group   *access `json:"group_access"`
	} `json:"permissions"`
}

type access struct {
	Level int `json:"access_level"`
}

func (a *access) level() int {
	if a == nil {
		return 0
	}
	return a.Level
}

func (h *Host) project(ctx context.Context) (p project, err error) {
	_, err = h.api.Ask(ctx, "read "+h.cfg.Project, http.MethodGet, "", nil, &p)
	return p, err
}

// ours are the accounts of Forge, in small letters.
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
	for _, as := range []gitlabapi.Project{h.api, h.merging, h.reviewing} {
		if asked[as.Token] {
			continue
		}
		u, err := as.Self(ctx)
		if err != nil {
			return nil, err
		}
		asked[as.Token], own[strings.ToLower(u.Name)] = true, true
	}
	h.own = own
	return own, nil
}

// scope is what a token needs.
const scope = "api"

// Access says what the token may do, with base as the branch that is proposed for ("" =
// the default one).
func (h *Host) Access(ctx context.Context, base string) (work.HostAccess, error) {
	var out work.HostAccess
	who, err := h.api.Self(ctx)
	if err != nil {
		return out, err
	}
	out.Account.Name = who.Name
	var token struct {
		Scopes []string `json:"scopes"`
	}
	// Not every kind of token can be asked about.
	if _, err := h.api.Call(ctx, "ask what the token may", http.MethodGet, "/api/v4/personal_access_tokens/self", nil, &token); err == nil && token.Scopes != nil {
		if out.Account.Scopes = token.Scopes; !slices.Contains(token.Scopes, scope) {
			out.Missing = []string{scope}
		}
	}
	p, err := h.project(ctx)
	if err != nil {
		return out, err
	}
	level := max(p.Permissions.Project.level(), p.Permissions.Group.level())
	out.Repo, out.Default, out.Archived, out.Empty = p.Path, p.Default, p.Archived, p.Empty
	out.Push, out.Admin = level >= gitlabapi.Developer, level >= gitlabapi.Maintainer
	out.Squash, out.NoPulls = p.Squash != "never", p.Pulls == "disabled"
	if base == "" {
		base = out.Default
	}
	b, err := h.branch(ctx, base)
	switch {
	case err != nil:
		return out, err
	case b == nil && p.Empty && (base == out.Default || out.Default == ""):
		return out, nil
	case b == nil:
		return out, &work.HostTrouble{Kind: work.HostBranchGone, Do: "read branch " + base, What: "the host has no branch " + base, Fix: "push it there first"}
	}
	if out.Protected = b.Protected; out.Protected {
		out.Approvals = h.approvals(ctx, base)
	}
	if p.OnlyGreen {
		out.Checks = []string{"pipeline"}
	}
	return out, nil
}

// approvals is how many a branch asks for. It is for people to read, and the editions
// that ask for none do not know the question.
func (h *Host) approvals(ctx context.Context, base string) (most int) {
	type rule struct {
		Approvals int  `json:"approvals_required"`
		All       bool `json:"applies_to_all_protected_branches"`
		Branches  []struct {
			Name string `json:"name"`
		} `json:"protected_branches"`
	}
	rules, err := gitlabapi.List[rule](ctx, h.api, "read the rules", "/approval_rules", nil)
	if err != nil {
		return 0
	}
	for _, r := range rules {
		of := r.All || len(r.Branches) == 0
		for _, b := range r.Branches {
			of = of || b.Name == base
		}
		if of {
			most = max(most, r.Approvals)
		}
	}
	return most
}

type branch struct {
	Protected bool `json:"protected"`
	Commit    struct {
		ID string `json:"id"`
	} `json:"commit"`
}

// branch is one of the project; nil = there is none of that name.
func (h *Host) branch(ctx context.Context, name string) (*branch, error) {
	var b branch
	a, err := h.api.Ask(ctx, "read branch "+name, http.MethodGet, "/repository/branches/"+url.PathEscape(name), nil, &b)
	if a.Status == http.StatusNotFound {
		if _, err := h.project(ctx); err != nil {
			return nil, err
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &b, nil
}

// DeleteBranch deletes a branch that still points at head; one that is gone is no
// error. Kinds of trouble, beside the common ones: head_moved.
func (h *Host) DeleteBranch(ctx context.Context, name, head string) error {
	do := "delete branch " + name
	b, err := h.branch(ctx, name)
	if err != nil || b == nil {
		return err
	}
	if b.Commit.ID != head {
		return &work.HostTrouble{Kind: work.HostHeadMoved, Do: do, What: "somebody has pushed to it since", Fix: "it is left as it is"}
	}
	err = h.ask(ctx, h.merging, do, http.MethodDelete, "/repository/branches/"+url.PathEscape(name), nil, nil)
	if work.HostKindOf(err) == work.HostNoRepository {
		return nil
	}
	return err
}

// sameMoment is within what time a review writes its words, its lines and its decision.
const sameMoment = time.Second
