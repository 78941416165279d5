package gitea

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

const (
	pageSize = 50 // servers give no more
	maxPages = 200
)

func (h *Host) pull(p *sdk.PullRequest) work.PullRequest {
	out := work.PullRequest{Number: p.Index, URL: p.HTMLURL, Title: p.Title, Body: p.Body, Marker: host.MarkerIn(p.Body), State: work.PullClosed}
	switch {
	case p.HasMerged:
		out.State = work.PullMerged
	case p.State == sdk.StateOpen:
		out.State = work.PullOpen
	}
	if p.Poster != nil {
		out.Author = p.Poster.UserName
	}
	if p.Base != nil {
		out.Base, out.BaseHead = p.Base.Name, p.Base.Sha
	}
	if p.Head != nil {
		// Name stays when the branch is deleted, and Ref does not.
		out.Branch, out.Head, out.BranchGone = p.Head.Name, p.Head.Sha, p.Head.Ref != p.Head.Name
	}
	if p.Updated != nil {
		out.Updated = p.Updated.UTC()
	}
	if p.HasMerged && p.MergedCommitID != nil {
		out.MergeCommit = *p.MergedCommitID
	}
	if p.MergedBy != nil {
		out.MergedBy = p.MergedBy.UserName
	}
	return out
}

// ofFork says that the branch is not in the repository itself.
func ofFork(p *sdk.PullRequest) bool {
	return p.Head == nil || p.Base == nil || p.Head.RepoID != p.Base.RepoID
}

// list asks for pull requests, the last touched first, page by page, until each
// says that it has seen enough. It returns the server's time of the first page.
func (h *Host) list(ctx context.Context, query url.Values, each func(*sdk.PullRequest) bool) (time.Time, error) {
	var now time.Time
	query.Set("sort", "recentupdate")
	query.Set("limit", fmt.Sprint(pageSize))
	seen := 0
	for page := 1; page <= maxPages; page++ {
		query.Set("page", fmt.Sprint(page))
		a, err := h.ask(ctx, h.cfg.Token, http.MethodGet, "/pulls?"+query.Encode(), nil)
		if err != nil || a.Status != http.StatusOK {
			t := h.answered("list pull requests", a, err)
			if r, _, rerr := h.api(ctx).GetRepo(h.cfg.Owner, h.cfg.Repo); t.Status == http.StatusNotFound && rerr == nil && r.Empty {
				t = emptyTrouble("list pull requests")
			}
			return now, t
		}
		if page == 1 {
			now, _ = http.ParseTime(a.Header.Get("Date"))
		}
		var pulls []*sdk.PullRequest
		if json.Unmarshal(a.Body, &pulls) != nil {
			return now, &work.HostTrouble{Kind: work.HostWrong, Do: "list pull requests", What: "what answers there is no Gitea", Fix: "check host.url"}
		}
		for _, p := range pulls {
			if each(p) {
				return now, nil
			}
		}
		if seen += len(pulls); !more(a.Header, seen, len(pulls)) {
			return now, nil
		}
	}
	return now, nil
}

// more says whether a list has another page. A server may give fewer at once
// than it is asked for, and not every list of it links to the next page.
func more(header http.Header, seen, here int) bool {
	if total, err := strconv.Atoi(header.Get("X-Total-Count")); err == nil {
		return here > 0 && seen < total
	}
	return here > 0
}

func emptyTrouble(do string) *work.HostTrouble {
	return &work.HostTrouble{
		Kind: work.HostNotYet, Do: do, Status: http.StatusNotFound, What: "the host takes the repository for empty",
		Fix: "push the base branch there, or wait a moment if it was just pushed",
	}
}

// OpenPull makes sure that there is one pull request for the proposal: the one
// with its marker, else a new one. The one that is found is returned in
// whatever state it is; while it is open, its title and body are brought up to
// date. Kinds of trouble, beside the common ones: not_yet just after a first
// push, branch_gone, branch_exists when somebody else has proposed the branch,
// retargeted, no_changes, unrelated.
func (h *Host) OpenPull(ctx context.Context, p work.PullProposal) (work.PullRequest, error) {
	// Gitea lets two that come at once both make one.
	h.opening.Lock()
	defer h.opening.Unlock()
	found, err := h.known(ctx, p)
	if err == nil && found == nil {
		found, err = h.find(ctx, p, "open", "all")
	}
	if err != nil {
		return work.PullRequest{}, err
	}
	if found == nil {
		_, t := h.create(ctx, p)
		if t != nil && t.Status != http.StatusConflict {
			return work.PullRequest{}, t
		}
		// Another Forge may have been at it; of several the first stays.
		if found, err = h.find(ctx, p, "open"); err != nil {
			return work.PullRequest{}, err
		}
		switch {
		case found == nil && t == nil:
			return work.PullRequest{}, &work.HostTrouble{Kind: work.HostNotYet, Do: "open a pull request for " + p.Branch, What: "the host has made it and does not show it yet"}
		case found == nil:
			t.Kind, t.What = work.HostBranchExists, "somebody else has proposed "+p.Branch+" for "+p.Base+" already"
			t.Fix = "close that pull request"
			return work.PullRequest{}, t
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
	edited, res, err := h.api(ctx).EditPullRequest(h.cfg.Owner, h.cfg.Repo, is.Number, sdk.EditPullRequestOption{Title: title, Body: &body})
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
	x, res, err := h.api(ctx).GetPullRequest(h.cfg.Owner, h.cfg.Repo, p.Number)
	if err != nil {
		if t := h.trouble(fmt.Sprintf("read pull request %d", p.Number), res, err); t.Status != http.StatusNotFound {
			return nil, t
		}
		return nil, nil // looked for below, where it is found out what is not there
	}
	if ofFork(x) || x.Head.Name != p.Branch || h.pull(x).State == work.PullClosed {
		return nil, nil
	}
	return x, nil
}

// find is the pull request of the proposal: the first open one of the branch
// that Forge made, whatever a person wrote into its body or pointed it at, else
// the last with the marker. Further open ones, which two Forges made at once, are closed.
func (h *Host) find(ctx context.Context, p work.PullProposal, states ...string) (*sdk.PullRequest, error) {
	own, err := h.ours(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		var marked *sdk.PullRequest
		var open []*sdk.PullRequest
		query := url.Values{"state": {state}}
		if state != "open" {
			query.Set("base_branch", p.Base)
		}
		_, err = h.list(ctx, query, func(x *sdk.PullRequest) bool {
			if ofFork(x) || x.Head.Name != p.Branch || x.Poster == nil || !own[strings.ToLower(x.Poster.UserName)] {
				return false
			}
			if x.State == sdk.StateOpen {
				open = append(open, x)
			}
			if marked == nil && x.Base.Name == p.Base && host.Marked(x.Body, p.Marker) {
				marked = x
			}
			return false
		})
		if err != nil {
			return nil, err
		}
		// One that somebody pointed elsewhere is Forge's still; one that is for the
		// base as well is the one.
		elsewhere := func(x *sdk.PullRequest) bool { return x.Base.Name != p.Base }
		slices.SortFunc(open, func(a, b *sdk.PullRequest) int { return cmp.Compare(a.Index, b.Index) })
		if slices.ContainsFunc(open, func(x *sdk.PullRequest) bool { return !elsewhere(x) }) {
			open = slices.DeleteFunc(open, elsewhere)
		}
		for i, x := range open {
			if i == 0 {
				marked = x
				continue
			}
			if elsewhere(x) {
				continue
			}
			if t := h.closeExtra(ctx, x.Index); t != nil {
				return nil, t
			}
		}
		if marked != nil {
			return marked, nil
		}
	}
	return nil, nil
}

// ClosePull closes a pull request that is open, and says why on it, once for
// each key; number 0 is the one of the proposal, if there is one.
func (h *Host) ClosePull(ctx context.Context, number int64, p work.PullProposal, key string, why text.Markdown) error {
	if number == 0 {
		found, err := h.find(ctx, p, "open")
		if err != nil || found == nil {
			return err
		}
		number = found.Index
	} else if now, err := h.Pull(ctx, number); err != nil || now.State != work.PullOpen {
		return err
	}
	if err := h.Comment(ctx, number, key, why); err != nil {
		return err
	}
	if t := h.closeExtra(ctx, number); t != nil {
		return t
	}
	return nil
}

// closeExtra closes a pull request that nobody needs any more. Gitea answers 500 when
// another process closed it at the same moment: closed is closed.
func (h *Host) closeExtra(ctx context.Context, number int64) *work.HostTrouble {
	closed := sdk.StateClosed
	_, res, err := h.api(ctx).EditPullRequest(h.cfg.Owner, h.cfg.Repo, number, sdk.EditPullRequestOption{State: &closed})
	if err == nil {
		return nil
	}
	if now, _, again := h.api(ctx).GetPullRequest(h.cfg.Owner, h.cfg.Repo, number); again == nil && now.State == sdk.StateClosed {
		return nil
	}
	return h.trouble(fmt.Sprintf("close pull request %d", number), res, err)
}

func (h *Host) create(ctx context.Context, p work.PullProposal) (*sdk.PullRequest, *work.HostTrouble) {
	do := "open a pull request for " + p.Branch
	// Gitea opens one for nothing at all, and answers 500 without a common commit.
	if t := h.compare(ctx, do, p); t != nil {
		return nil, t
	}
	made, res, err := h.api(ctx).CreatePullRequest(h.cfg.Owner, h.cfg.Repo, sdk.CreatePullRequestOption{Head: p.Branch, Base: p.Base, Title: p.Title.String(), Body: host.Body(p)})
	if err == nil {
		return made, nil
	}
	t := h.trouble(do, res, err)
	if t.Status == http.StatusNotFound {
		t = h.why404(ctx, do, p)
	}
	return nil, t
}

// compare finds out beforehand what would make a pull request that is none.
func (h *Host) compare(ctx context.Context, do string, p work.PullProposal) *work.HostTrouble {
	a, err := h.ask(ctx, h.cfg.Token, http.MethodGet, "/compare/"+url.PathEscape(p.Base)+"..."+url.PathEscape(p.Branch), nil)
	switch {
	case err != nil:
		return h.answered(do, a, err)
	case a.Status == http.StatusNotFound:
		return h.why404(ctx, do, p)
	case a.Status != http.StatusOK:
		t := h.answered(do, a, nil)
		if a.Status == http.StatusInternalServerError && h.Store != nil {
			// Which is what it says without a common commit, and without a word.
			if unrelated, err := h.Unrelated(ctx, p.Base, p.Branch, "refs/forge/host/open"); err == nil && unrelated {
				t.Kind, t.What = work.HostUnrelated, "the branch and "+p.Base+" have no common commit"
			}
		}
		return t
	}
	var said struct {
		Total int `json:"total_commits"`
	}
	if json.Unmarshal(a.Body, &said) == nil && said.Total == 0 {
		return &work.HostTrouble{Kind: work.HostNoChanges, Do: do, What: "there is nothing in the branch that " + p.Base + " does not have"}
	}
	return nil
}

// why404 tells a branch that is not there from a server that has not yet seen
// what was pushed a moment ago.
func (h *Host) why404(ctx context.Context, do string, p work.PullProposal) *work.HostTrouble {
	r, res, err := h.api(ctx).GetRepo(h.cfg.Owner, h.cfg.Repo)
	if err != nil {
		return h.trouble(do, res, err)
	}
	if r.Empty {
		return emptyTrouble(do)
	}
	for _, branch := range []string{p.Base, p.Branch} {
		_, res, err := h.api(ctx).GetRepoBranch(h.cfg.Owner, h.cfg.Repo, branch)
		if err == nil {
			continue
		}
		t := h.trouble(do, res, err)
		if t.Status != http.StatusNotFound {
			return t
		}
		t.Kind, t.What, t.Fix = work.HostBranchGone, "the host has no branch "+branch, "push it there"
		if h.Store != nil {
			if at, err := h.Head(ctx, branch); err == nil && at != "" {
				t.Kind, t.What = work.HostNotYet, "the host has not seen the branch "+branch+" yet"
			}
		}
		return t
	}
	return &work.HostTrouble{Kind: work.HostNotYet, Do: do, Status: 404, What: "the host has not seen the branch yet"}
}

// Pull is the state of a pull request without reviews. Kinds of trouble, beside
// the common ones: no_pull.
func (h *Host) Pull(ctx context.Context, number int64) (work.PullRequest, error) {
	p, err := h.get(ctx, number)
	if err != nil {
		return work.PullRequest{}, err
	}
	return h.pull(p), nil
}

func (h *Host) get(ctx context.Context, number int64) (*sdk.PullRequest, error) {
	p, res, err := h.api(ctx).GetPullRequest(h.cfg.Owner, h.cfg.Repo, number)
	if err != nil {
		t := h.trouble(fmt.Sprintf("read pull request %d", number), res, err)
		if t.Status == http.StatusNotFound {
			if _, rres, rerr := h.api(ctx).GetRepo(h.cfg.Owner, h.cfg.Repo); rerr != nil {
				return nil, h.trouble(t.Do, rres, rerr)
			}
			t.Kind, t.What, t.Fix = work.HostNoPull, "the host has no such pull request", "it was deleted there: answer at the terminal (forge approve), or reject"
		}
		return nil, t
	}
	return p, nil
}

// Changed are the pull requests that were touched since the cursor ("" begins
// now, and names none). It costs one request however many there are, unless
// more than a page were touched. A change may be named twice, never missed:
// times on the host are whole seconds.
func (h *Host) Changed(ctx context.Context, cursor string) (work.PullHints, error) {
	since, err := time.Parse(time.RFC3339, cursor)
	if cursor != "" && err != nil {
		return work.PullHints{}, fmt.Errorf("list pull requests: the cursor %q is not one", cursor)
	}
	var out work.PullHints
	now, err := h.list(ctx, url.Values{"state": {"all"}}, func(p *sdk.PullRequest) bool {
		if cursor == "" || p.Updated != nil && p.Updated.Before(since.Add(-time.Second)) {
			return true
		}
		out.Numbers = append(out.Numbers, p.Index)
		return false
	})
	if err != nil {
		return work.PullHints{}, err
	}
	out.Cursor = cursor
	if !now.IsZero() {
		out.Cursor = now.UTC().Format(time.RFC3339)
	}
	return out, nil
}
