package github

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

func pullPath(number int64) string  { return fmt.Sprintf("/pulls/%d", number) }
func issuePath(number int64) string { return fmt.Sprintf("/issues/%d", number) }

// escaped is the name of a branch in an address, whose slashes part folders there.
func escaped(branch string) string {
	return strings.ReplaceAll(url.PathEscape(branch), "%2F", "/")
}

func (p *pullRequest) read() work.PullRequest {
	out := work.PullRequest{
		Number: p.Number, URL: p.URL, State: work.PullClosed, Marker: host.MarkerIn(p.Body), Branch: p.Head.Ref, Base: p.Base.Ref,
		Head: p.Head.SHA, BaseHead: p.Base.SHA, Title: p.Title, Body: p.Body, Author: p.User.Login, Updated: p.Updated.UTC(),
	}
	switch {
	case p.Merged || p.MergedAt != nil:
		out.State, out.MergeCommit, out.MergedBy = work.PullMerged, p.MergeCommit, p.MergedBy.Login
	case p.State == "open":
		out.State = work.PullOpen
	}
	return out
}

// OpenPull makes sure that there is one pull request for the proposal: the one
// with its marker, else a new one. The one that is found is returned in
// whatever state it is; while it is open, its title and body are brought up to
// date. Kinds of trouble, beside the common ones: branch_gone, branch_exists
// when somebody else has proposed the branch, retargeted, no_changes, unrelated.
func (h *Host) OpenPull(ctx context.Context, p work.PullProposal) (work.PullRequest, error) {
	found, err := h.known(ctx, p)
	if err == nil && found == nil {
		found, err = h.find(ctx, p)
	}
	if err != nil {
		return work.PullRequest{}, err
	}
	if found == nil {
		made := new(pullRequest)
		_, t := h.ask(ctx, request{do: "open a pull request for " + p.Branch, method: http.MethodPost, path: "/pulls", body: map[string]any{
			"title": p.Title.String(), "head": p.Branch, "base": p.Base, "body": host.Body(p),
		}}, made)
		if t == nil {
			return made.read(), nil
		}
		if t.Status != http.StatusUnprocessableEntity {
			return work.PullRequest{}, t
		}
		// GitHub allows one for a branch: of two that come at once one fails.
		if found, err = h.find(ctx, p); err != nil {
			return work.PullRequest{}, err
		}
		if found == nil {
			return work.PullRequest{}, invalid(t, p)
		}
	}
	is := found.read()
	if is.State == work.PullOpen && host.Retargeted(is, p.Branch, p.Base) {
		return is, host.RetargetedTrouble(fmt.Sprintf("update pull request %d", is.Number), is, p.Branch, p.Base, h.RetargetedBy(ctx, is.Number))
	}
	title, body := host.Renewed(is, p)
	if is.State != work.PullOpen || is.Title == title && strings.TrimSpace(is.Body) == strings.TrimSpace(body) {
		return is, nil
	}
	edited := new(pullRequest)
	if t := h.edit(ctx, fmt.Sprintf("update pull request %d", is.Number), is.Number, map[string]any{"title": title, "body": body}, edited); t != nil {
		return is, t
	}
	return edited.read(), nil
}

func (h *Host) edit(ctx context.Context, do string, number int64, change map[string]any, into any) *work.HostTrouble {
	_, t := h.ask(ctx, request{do: do, method: http.MethodPatch, path: pullPath(number), body: change}, into)
	return t
}

// known is the pull request that the proposal names, nil = none, or one that
// somebody closed.
func (h *Host) known(ctx context.Context, p work.PullProposal) (*pullRequest, error) {
	if p.Number == 0 {
		return nil, nil
	}
	x, err := h.get(ctx, p.Number)
	if work.HostKindOf(err) == work.HostNoPull {
		return nil, nil
	}
	if err != nil || x.Head.Ref != p.Branch || x.read().State == work.PullClosed {
		return nil, err
	}
	return x, nil
}

// invalid says why there is no pull request.
func invalid(t *work.HostTrouble, p work.PullProposal) *work.HostTrouble {
	said := strings.ToLower(t.What)
	switch {
	case strings.Contains(said, "already exists"):
		t.Kind, t.What, t.Fix = work.HostBranchExists, "somebody else has proposed "+p.Branch+" for "+p.Base+" already", "close that pull request"
	case strings.Contains(said, "no commits between"):
		t.Kind, t.What = work.HostNoChanges, "there is nothing in the branch that "+p.Base+" does not have"
	case strings.Contains(said, "no history in common"):
		t.Kind, t.What = work.HostUnrelated, "the branch and "+p.Base+" have no common commit"
	case strings.Contains(said, "head invalid"):
		t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+p.Branch, "push it there"
	case strings.Contains(said, "base invalid"):
		t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+p.Base, "push it there"
	}
	return t
}

// find is the open pull request of the branch that Forge made, whatever a
// person wrote into its body or pointed it at, else the last with the marker.
func (h *Host) find(ctx context.Context, p work.PullProposal) (*pullRequest, error) {
	own, err := h.ours(ctx)
	if err != nil {
		return nil, err
	}
	var marked, open *pullRequest
	query := url.Values{"state": {"all"}, "head": {h.cfg.Owner + ":" + p.Branch}}
	t := eachPage(ctx, h, request{do: "list pull requests", path: "/pulls", query: query}, func(page []pullRequest) bool {
		for i := range page {
			x := &page[i]
			// A filter that a server does not know is no filter.
			if x.Head.Ref != p.Branch || x.Head.Repo.ID != x.Base.Repo.ID ||
				!own[strings.ToLower(x.User.Login)] {
				continue
			}
			if x.State == "open" && (open == nil || open.Base.Ref != p.Base) {
				open = x
			}
			if x.Base.Ref == p.Base && marked == nil && host.Marked(x.Body, p.Marker) {
				marked = x
			}
		}
		return false
	})
	if t != nil {
		return nil, t
	}
	if open != nil {
		return open, nil
	}
	return marked, nil
}

// ClosePull closes a pull request that is open, and says why on it, once for
// each key; number 0 is the one of the proposal, if there is one.
func (h *Host) ClosePull(ctx context.Context, number int64, p work.PullProposal, key string, why text.Markdown) error {
	if number == 0 {
		found, err := h.find(ctx, p)
		if err != nil || found == nil {
			return err
		}
		number = found.Number
	}
	if now, err := h.get(ctx, number); err != nil || now.read().State != work.PullOpen {
		return err
	}
	if err := h.Comment(ctx, number, key, why); err != nil {
		return err
	}
	if t := h.edit(ctx, fmt.Sprintf("close pull request %d", number), number, map[string]any{"state": "closed"}, nil); t != nil {
		return t
	}
	return nil
}

// Pull is the state of a pull request without reviews. Kinds of trouble, beside
// the common ones: no_pull.
func (h *Host) Pull(ctx context.Context, number int64) (work.PullRequest, error) {
	p, err := h.get(ctx, number)
	if err != nil {
		return work.PullRequest{}, err
	}
	return h.based(ctx, p)
}

// based is a pull request with the commit that its base is at now.
func (h *Host) based(ctx context.Context, p *pullRequest) (work.PullRequest, error) {
	out := p.read()
	if out.State == work.PullOpen {
		// The pull request keeps the commit of its base from when it was opened.
		at, t := h.head(ctx, "read branch "+out.Base, out.Base)
		if t != nil {
			return out, t
		}
		out.BaseHead = at
	}
	return out, nil
}

func (h *Host) get(ctx context.Context, number int64) (*pullRequest, error) {
	p := new(pullRequest)
	_, t := h.ask(ctx, request{do: fmt.Sprintf("read pull request %d", number), path: pullPath(number)}, p)
	if t == nil {
		return p, nil
	}
	if t.Status == http.StatusNotFound {
		if err := h.exists(ctx, t.Do); err != nil {
			return nil, err
		}
		t.Kind, t.What, t.Fix = work.HostNoPull, "the host has no such pull request", "answer at the terminal (forge approve), or reject"
	}
	return nil, t
}
