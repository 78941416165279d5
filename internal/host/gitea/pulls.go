package gitea

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

func (p *pullRequest) read() work.PullRequest {
	out := work.PullRequest{
		Number: p.Number, URL: p.URL, Title: p.Title, Body: p.Body, Marker: host.MarkerIn(p.Body), State: work.PullClosed,
		Author: p.Poster.Login, MergedBy: p.MergedBy.Login,
	}
	switch {
	case p.Merged:
		out.State, out.MergeCommit = work.PullMerged, p.MergeCommit
	case p.State == open:
		out.State = work.PullOpen
	}
	if p.Base != nil {
		out.Base, out.BaseHead = p.Base.Name, p.Base.SHA
	}
	if p.Head != nil {
		out.Branch, out.Head, out.BranchGone = p.Head.Name, p.Head.SHA, p.Head.Ref != p.Head.Name
	}
	if p.Updated != nil {
		out.Updated = p.Updated.UTC()
	}
	return out
}

// ofFork says that the branch is not in the repository itself.
func ofFork(p *pullRequest) bool {
	return p.Head == nil || p.Base == nil || p.Head.RepoID != p.Base.RepoID
}

// list asks for pull requests, the last touched first, page by page, until each
// says that it has seen enough. It returns the server's time of the first page.
func (h *Host) list(ctx context.Context, query url.Values, each func(*pullRequest) bool) (time.Time, error) {
	const do = "list pull requests"
	query.Set("sort", "recentupdate")
	first, t := eachPage(ctx, h, request{do: do, path: "/pulls", query: query}, func(p pullRequest) bool { return each(&p) })
	if t != nil && t.Status == http.StatusNotFound {
		if r, rt := h.repo(ctx, do); rt == nil && r.Empty {
			t = emptyTrouble(do)
		}
	}
	if t != nil {
		return time.Time{}, t
	}
	now, _ := http.ParseTime(first.Get("Date"))
	return now, nil
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
		found, err = h.find(ctx, p, open, "all")
	}
	if err != nil {
		return work.PullRequest{}, err
	}
	if found == nil {
		t := h.create(ctx, p)
		if t != nil && t.Status != http.StatusConflict {
			return work.PullRequest{}, t
		}
		// Another Forge may have been at it; of several the first stays.
		if found, err = h.find(ctx, p, open); err != nil {
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
	x, t := h.one(ctx, p.Number)
	if t != nil && t.Status != http.StatusNotFound {
		return nil, t
	}
	if t != nil {
		return nil, nil // looked for below, where it is found out what is not there
	}
	if ofFork(x) || x.Head.Name != p.Branch || x.read().State == work.PullClosed {
		return nil, nil
	}
	return x, nil
}

// find is the pull request of the proposal: the first open one of the branch
// that Forge made, whatever a person wrote into its body or pointed it at, else
// the last with the marker. Further open ones, which two Forges made at once, are closed.
func (h *Host) find(ctx context.Context, p work.PullProposal, states ...string) (*pullRequest, error) {
	own, err := h.ours(ctx)
	if err != nil {
		return nil, err
	}
	for _, state := range states {
		var marked *pullRequest
		var opened []*pullRequest
		query := url.Values{"state": {state}}
		if state != open {
			query.Set("base_branch", p.Base)
		}
		_, err = h.list(ctx, query, func(x *pullRequest) bool {
			if ofFork(x) || x.Head.Name != p.Branch || !own[strings.ToLower(x.Poster.Login)] {
				return false
			}
			if x.State == open {
				opened = append(opened, x)
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
		elsewhere := func(x *pullRequest) bool { return x.Base.Name != p.Base }
		slices.SortFunc(opened, func(a, b *pullRequest) int { return cmp.Compare(a.Number, b.Number) })
		if slices.ContainsFunc(opened, func(x *pullRequest) bool { return !elsewhere(x) }) {
			opened = slices.DeleteFunc(opened, elsewhere)
		}
		for i, x := range opened {
			if i == 0 {
				marked = x
				continue
			}
			if elsewhere(x) {
				continue
			}
			if t := h.closeExtra(ctx, x.Number); t != nil {
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
		found, err := h.find(ctx, p, open)
		if err != nil || found == nil {
			return err
		}
		number = found.Number
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
	t := h.edit(ctx, fmt.Sprintf("close pull request %d", number), number, map[string]any{"state": closed}, nil)
	if t == nil {
		return nil
	}
	if now, again := h.one(ctx, number); again == nil && now.State == closed {
		return nil
	}
	return t
}

func (h *Host) create(ctx context.Context, p work.PullProposal) *work.HostTrouble {
	do := "open a pull request for " + p.Branch
	// Gitea opens one for nothing at all, and answers 500 without a common commit.
	if t := h.compare(ctx, do, p); t != nil {
		return t
	}
	_, t := h.ask(ctx, request{do: do, method: http.MethodPost, path: "/pulls", body: map[string]string{
		"head": p.Branch, "base": p.Base, "title": p.Title.String(), "body": host.Body(p),
	}}, nil)
	if t != nil && t.Status == http.StatusNotFound {
		return h.why404(ctx, do, p)
	}
	return t
}

// compare finds out beforehand what would make a pull request that is none.
func (h *Host) compare(ctx context.Context, do string, p work.PullProposal) *work.HostTrouble {
	a, err := h.send(ctx, request{path: "/compare/" + url.PathEscape(p.Base) + "..." + url.PathEscape(p.Branch)}, h.repository())
	switch {
	case err != nil:
		return h.trouble(do, a, err)
	case a.Status == http.StatusNotFound:
		return h.why404(ctx, do, p)
	case a.Status != http.StatusOK:
		t := h.trouble(do, a, nil)
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
	r, t := h.repo(ctx, do)
	if t != nil {
		return t
	}
	if r.Empty {
		return emptyTrouble(do)
	}
	for _, branch := range []string{p.Base, p.Branch} {
		_, t := h.branch(ctx, do, branch, "")
		if t == nil {
			continue
		}
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
	return p.read(), nil
}

func (h *Host) get(ctx context.Context, number int64) (*pullRequest, error) {
	p, t := h.one(ctx, number)
	if t == nil {
		return p, nil
	}
	if t.Status == http.StatusNotFound {
		if _, rt := h.repo(ctx, t.Do); rt != nil {
			return nil, rt
		}
		t.Kind, t.What, t.Fix = work.HostNoPull, "the host has no such pull request", "it was deleted there: answer at the terminal (forge approve), or reject"
	}
	return nil, t
}

func (h *Host) one(ctx context.Context, number int64) (*pullRequest, *work.HostTrouble) {
	p := new(pullRequest)
	_, t := h.ask(ctx, request{do: fmt.Sprintf("read pull request %d", number), path: pullPath(number)}, p)
	return p, t
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
	now, err := h.list(ctx, url.Values{"state": {"all"}}, func(p *pullRequest) bool {
		if cursor == "" || p.Updated != nil && p.Updated.Before(since.Add(-time.Second)) {
			return true
		}
		out.Numbers = append(out.Numbers, p.Number)
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
