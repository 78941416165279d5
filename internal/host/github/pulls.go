package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

const (
	pageSize = 100
	maxPages = 200
)

func (h *Host) pull(p *sdk.PullRequest) work.PullRequest {
	out := work.PullRequest{
		Number: int64(p.GetNumber()), URL: p.GetHTMLURL(), State: work.PullClosed, Marker: host.MarkerIn(p.GetBody()), Branch: p.GetHead().GetRef(), Base: p.GetBase().GetRef(),
		Head: p.GetHead().GetSHA(), BaseHead: p.GetBase().GetSHA(), Title: p.GetTitle(), Body: p.GetBody(), Author: p.GetUser().GetLogin(), Updated: p.GetUpdatedAt().UTC(),
	}
	switch {
	case p.GetMerged() || p.MergedAt != nil:
		out.State, out.MergeCommit, out.MergedBy = work.PullMerged, p.GetMergeCommitSHA(), p.GetMergedBy().GetLogin()
	case p.GetState() == "open":
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
		body := host.Body(p)
		made, res, err := h.api.PullRequests.Create(ctx, h.cfg.Owner, h.cfg.Repo, &sdk.NewPullRequest{Title: new(p.Title.String()), Head: &p.Branch, Base: &p.Base, Body: &body})
		if err == nil {
			return h.pull(made), nil
		}
		t := h.trouble("open a pull request for "+p.Branch, res, err)
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
	is := h.pull(found)
	if is.State == work.PullOpen && host.Retargeted(is, p.Branch, p.Base) {
		return is, host.RetargetedTrouble(fmt.Sprintf("update pull request %d", is.Number), is, p.Branch, p.Base, h.RetargetedBy(ctx, is.Number))
	}
	title, body := host.Renewed(is, p)
	if is.State != work.PullOpen || is.Title == title && strings.TrimSpace(is.Body) == strings.TrimSpace(body) {
		return is, nil
	}
	edited, res, err := h.api.PullRequests.Edit(ctx, h.cfg.Owner, h.cfg.Repo, int(is.Number), &sdk.PullRequest{Title: &title, Body: &body})
	if err != nil {
		return is, h.trouble(fmt.Sprintf("update pull request %d", is.Number), res, err)
	}
	return h.pull(edited), nil
}

// known is the pull request that the proposal names, nil = none, or one that
// somebody closed.
func (h *Host) known(ctx context.Context, p work.PullProposal) (*sdk.PullRequest, error) {
	if p.Number == 0 {
		return nil, nil
	}
	x, err := h.get(ctx, p.Number)
	if work.HostKindOf(err) == work.HostNoPull {
		return nil, nil
	}
	if err != nil || x.GetHead().GetRef() != p.Branch || h.pull(x).State == work.PullClosed {
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
func (h *Host) find(ctx context.Context, p work.PullProposal) (*sdk.PullRequest, error) {
	own, err := h.ours(ctx)
	if err != nil {
		return nil, err
	}
	var marked, open *sdk.PullRequest
	options := &sdk.PullRequestListOptions{State: "all", Head: h.cfg.Owner + ":" + p.Branch, ListOptions: sdk.ListOptions{PerPage: pageSize}}
	for range maxPages {
		all, res, err := h.api.PullRequests.List(ctx, h.cfg.Owner, h.cfg.Repo, options)
		if err != nil {
			return nil, h.trouble("list pull requests", res, err)
		}
		for _, x := range all {
			// A filter that a server does not know is no filter.
			if x.GetHead().GetRef() != p.Branch || x.GetHead().GetRepo().GetID() != x.GetBase().GetRepo().GetID() ||
				!own[strings.ToLower(x.GetUser().GetLogin())] {
				continue
			}
			if x.GetState() == "open" && (open == nil || open.GetBase().GetRef() != p.Base) {
				open = x
			}
			if x.GetBase().GetRef() == p.Base && marked == nil && host.Marked(x.GetBody(), p.Marker) {
				marked = x
			}
		}
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
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
		number = int64(found.GetNumber())
	}
	if now, err := h.get(ctx, number); err != nil || h.pull(now).State != work.PullOpen {
		return err
	}
	if err := h.Comment(ctx, number, key, why); err != nil {
		return err
	}
	closed := "closed"
	if _, res, err := h.api.PullRequests.Edit(ctx, h.cfg.Owner, h.cfg.Repo, int(number), &sdk.PullRequest{State: &closed}); err != nil {
		return h.trouble(fmt.Sprintf("close pull request %d", number), res, err)
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
func (h *Host) based(ctx context.Context, p *sdk.PullRequest) (work.PullRequest, error) {
	out := h.pull(p)
	if out.State == work.PullOpen {
		// The pull request keeps the commit of its base from when it was opened.
		b, res, err := h.api.Git.GetRef(ctx, h.cfg.Owner, h.cfg.Repo, "heads/"+out.Base)
		if err != nil {
			t := h.trouble("read branch "+out.Base, res, err)
			if t.Status != http.StatusNotFound {
				return out, t
			}
			out.BaseHead = ""
		} else {
			out.BaseHead = b.GetObject().GetSHA()
		}
	}
	return out, nil
}

func (h *Host) get(ctx context.Context, number int64) (*sdk.PullRequest, error) {
	p, res, err := h.api.PullRequests.Get(ctx, h.cfg.Owner, h.cfg.Repo, int(number))
	if err != nil {
		t := h.trouble(fmt.Sprintf("read pull request %d", number), res, err)
		if t.Status == http.StatusNotFound {
			if _, rres, rerr := h.api.Repositories.Get(ctx, h.cfg.Owner, h.cfg.Repo); rerr != nil {
				return nil, h.trouble(t.Do, rres, rerr)
			}
			t.Kind, t.What, t.Fix = work.HostNoPull, "the host has no such pull request", "answer at the terminal (forge approve), or reject"
		}
		return nil, t
	}
	return p, nil
}
