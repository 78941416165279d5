package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"forge/internal/gitlabapi"
	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// mergeRequest is one as GitLab has it.
type mergeRequest struct {
	Number      int64           `json:"iid"`
	URL         string          `json:"web_url"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	State       string          `json:"state"`
	Branch      string          `json:"source_branch"`
	Base        string          `json:"target_branch"`
	From        int64           `json:"source_project_id"`
	To          int64           `json:"target_project_id"`
	Head        string          `json:"sha"`
	MergeCommit string          `json:"merge_commit_sha"`
	Squashed    string          `json:"squash_commit_sha"`
	Author      *gitlabapi.User `json:"author"`
	Merger      *gitlabapi.User `json:"merge_user"`
	Updated     time.Time       `json:"updated_at"`
	Draft       bool            `json:"draft"`
	Status      string          `json:"detailed_merge_status"`
	Conflicts   bool            `json:"has_conflicts"`
	Refs        struct {
		Base  string `json:"base_sha"`
		Head  string `json:"head_sha"`
		Start string `json:"start_sha"`
	} `json:"diff_refs"`
}

func (m mergeRequest) pull() work.PullRequest {
	out := work.PullRequest{
		Number: m.Number, URL: m.URL, State: work.PullClosed, Marker: host.MarkerIn(m.Description), Branch: m.Branch, Base: m.Base, Head: m.Head, Title: m.Title,
		Body: m.Description, Author: m.Author.Login(), Updated: m.Updated.UTC(),
	}
	switch m.State {
	case "merged":
		// What is merged fast-forward has no commit but its own.
		out.State, out.MergeCommit, out.MergedBy = work.PullMerged, cmp.Or(m.MergeCommit, m.Squashed, m.Head), m.Merger.Login()
	case "opened", "locked": // locked is one that is being merged
		out.State = work.PullOpen
	}
	return out
}

func path(number int64) string { return fmt.Sprintf("/merge_requests/%d", number) }

// get is one by its number. Kinds of trouble, beside the common ones: no_pull.
func (h *Host) get(ctx context.Context, number int64) (m mergeRequest, err error) {
	do := fmt.Sprintf("read merge request %d", number)
	a, err := h.api.Ask(ctx, do, http.MethodGet, path(number), nil, &m)
	if a.Status == http.StatusNotFound {
		if _, gone := h.project(ctx); gone != nil {
			return m, gone
		}
		return m, &work.HostTrouble{Kind: work.HostNoPull, Do: do, Status: a.Status, What: "the host has no such merge request", Fix: "answer at the terminal (forge approve), or reject"}
	}
	if err == nil && m.Number != number {
		err = &work.HostTrouble{Kind: work.HostWrong, Do: do, What: "the answer is not this merge request", Fix: "check host.url"}
	}
	return m, err
}

// Pull is the state of a merge request without reviews.
func (h *Host) Pull(ctx context.Context, number int64) (work.PullRequest, error) {
	m, err := h.get(ctx, number)
	if err != nil {
		return work.PullRequest{}, err
	}
	return h.based(ctx, m)
}

// based is a merge request with where its branches are now.
func (h *Host) based(ctx context.Context, m mergeRequest) (work.PullRequest, error) {
	out := m.pull()
	if out.State != work.PullOpen {
		return out, nil
	}
	base, err := h.branch(ctx, out.Base)
	if err != nil {
		return out, err
	}
	if base != nil {
		out.BaseHead = base.Commit.ID
	}
	// One whose branch was deleted stays open.
	head, err := h.branch(ctx, out.Branch)
	out.BranchGone = err == nil && head == nil
	return out, err
}

// OpenPull makes sure that there is one merge request for the proposal: the one with
// its marker, else a new one. The one that is found is returned in whatever state it
// is; while it is open, its title and text are brought up to date. Kinds of trouble,
// beside the common ones: branch_gone, branch_exists when somebody else has proposed
// the branch, retargeted, no_changes, unrelated.
func (h *Host) OpenPull(ctx context.Context, p work.PullProposal) (work.PullRequest, error) {
	found, err := h.known(ctx, p)
	if err == nil && found == nil {
		found, err = h.find(ctx, p)
	}
	if err == nil && found == nil {
		found, err = h.create(ctx, p)
	}
	if err != nil {
		return work.PullRequest{}, err
	}
	is := found.pull()
	if is.State == work.PullOpen && host.Retargeted(is, p.Branch, p.Base) {
		return is, host.RetargetedTrouble(fmt.Sprintf("update merge request %d", is.Number), is, p.Branch, p.Base, h.RetargetedBy(ctx, is.Number))
	}
	title, body := host.Renewed(is, p)
	if is.State != work.PullOpen || is.Title == title && strings.TrimSpace(is.Body) == strings.TrimSpace(body) {
		return is, nil
	}
	var edited mergeRequest
	err = h.ask(ctx, h.api, fmt.Sprintf("update merge request %d", is.Number), http.MethodPut, path(is.Number), map[string]string{"title": title, "description": body}, &edited)
	if err != nil {
		return is, err
	}
	return edited.pull(), nil
}

// create opens one. GitLab opens one for nothing as well, and for branches that have
// no commit in common: both are found out before.
func (h *Host) create(ctx context.Context, p work.PullProposal) (*mergeRequest, error) {
	do := "open a merge request for " + p.Branch
	gone := func(name string) error {
		return &work.HostTrouble{Kind: work.HostBranchGone, Do: do, What: "the host has no branch " + name, Fix: "push it there"}
	}
	for _, name := range []string{p.Branch, p.Base} {
		if b, err := h.branch(ctx, name); err != nil {
			return nil, err
		} else if b == nil {
			return nil, gone(name)
		}
	}
	var compared struct {
		Commits []struct {
			ID string `json:"id"`
		} `json:"commits"`
	}
	query := url.Values{"from": {p.Base}, "to": {p.Branch}}
	if _, err := h.api.Ask(ctx, do, http.MethodGet, "/repository/compare?"+query.Encode(), nil, &compared); err != nil {
		return nil, err
	}
	if h.cfg.Store != nil {
		alone, err := h.Unrelated(ctx, p.Base, p.Branch, "refs/forge/related/"+host.MarkerOf(p.Marker))
		if err != nil {
			return nil, err
		}
		if alone {
			return nil, &work.HostTrouble{Kind: work.HostUnrelated, Do: do, What: "the branch and " + p.Base + " have no common commit"}
		}
	}
	if len(compared.Commits) == 0 {
		return nil, &work.HostTrouble{Kind: work.HostNoChanges, Do: do, What: "there is nothing in the branch that " + p.Base + " does not have"}
	}
	var made mergeRequest
	err := h.ask(ctx, h.api, do, http.MethodPost, "/merge_requests", map[string]any{
		"source_branch": p.Branch, "target_branch": p.Base, "title": p.Title.String(), "description": host.Body(p), "remove_source_branch": false, "squash": true,
	}, &made)
	if err == nil {
		return &made, nil
	}
	// GitLab allows one for two branches: of two that come at once one fails, and the
	// answer to one that did not may have been lost.
	if found, ferr := h.find(ctx, p); ferr != nil || found != nil {
		return found, ferr
	}
	var t *work.HostTrouble
	if errors.As(err, &t) && t.Status == http.StatusConflict {
		t.Kind, t.What, t.Fix = work.HostBranchExists, "somebody else has proposed "+p.Branch+" for "+p.Base+" already", "close that merge request"
	}
	return nil, err
}

// known is the merge request that the proposal names, nil = none, or one that somebody
// closed.
func (h *Host) known(ctx context.Context, p work.PullProposal) (*mergeRequest, error) {
	if p.Number == 0 {
		return nil, nil
	}
	m, err := h.get(ctx, p.Number)
	if work.HostKindOf(err) == work.HostNoPull {
		return nil, nil
	}
	if err != nil || m.Branch != p.Branch || m.pull().State == work.PullClosed {
		return nil, err
	}
	return &m, nil
}

// find is the open merge request of the branch that Forge made, whatever a person
// wrote into its text or pointed it at, else the last with the marker.
func (h *Host) find(ctx context.Context, p work.PullProposal) (*mergeRequest, error) {
	own, err := h.ours(ctx)
	if err != nil {
		return nil, err
	}
	query := url.Values{"state": {"all"}, "scope": {"all"}, "source_branch": {p.Branch}, "order_by": {"created_at"}, "sort": {"desc"}}
	all, err := gitlabapi.List[mergeRequest](ctx, h.api, "list merge requests", "/merge_requests", query)
	if err != nil {
		return nil, err
	}
	var marked, open *mergeRequest
	for n, m := range all {
		// A filter that a server does not know is no filter.
		if m.Branch != p.Branch || m.From != m.To || !own[strings.ToLower(m.Author.Login())] {
			continue
		}
		if m.State == "opened" && (open == nil || open.Base != p.Base) {
			open = &all[n]
		}
		if m.Base == p.Base && marked == nil && host.Marked(m.Description, p.Marker) {
			marked = &all[n]
		}
	}
	if open != nil {
		return open, nil
	}
	return marked, nil
}

// ClosePull closes a merge request that is open, and says why on it, once for each key;
// number 0 is the one of the proposal, if there is one.
func (h *Host) ClosePull(ctx context.Context, number int64, p work.PullProposal, key string, why text.Markdown) error {
	if number == 0 {
		found, err := h.find(ctx, p)
		if err != nil || found == nil {
			return err
		}
		number = found.Number
	}
	if now, err := h.get(ctx, number); err != nil || now.pull().State != work.PullOpen {
		return err
	}
	if err := h.Comment(ctx, number, key, why); err != nil {
		return err
	}
	return h.ask(ctx, h.api, fmt.Sprintf("close merge request %d", number), http.MethodPut, path(number), map[string]string{"state_event": "close"}, nil)
}

// Merge squashes the merge request into its base, when its head is the one asked for.
// One that is merged with that head already is a success. Kinds of trouble, beside the
// common ones: merged, closed, no_pull, branch_gone, head_moved, base_moved,
// retargeted, conflict, protected, not_yet.
func (h *Host) Merge(ctx context.Context, m work.PullMerge) (work.PullSquashed, error) {
	do := fmt.Sprintf("merge merge request %d", m.Number)
	p, err := h.Pull(ctx, m.Number)
	if err != nil {
		return work.PullSquashed{}, err
	}
	if t := host.Guard(m, p, func() string { return h.RetargetedBy(ctx, m.Number) }); t != nil {
		return work.PullSquashed{}, t
	}
	if p.State == work.PullMerged {
		return h.squashed(ctx, p.MergeCommit)
	}
	switch of, err := h.project(ctx); {
	case err != nil:
		return work.PullSquashed{}, err
	case of.Trains:
		return work.PullSquashed{}, h.ride(ctx, do, m)
	}
	words := strings.TrimSpace(m.Title.String() + "\n\n" + m.Message)
	var done mergeRequest
	err = h.ask(ctx, h.merging, do, http.MethodPut, path(m.Number)+"/merge", map[string]any{
		"sha": m.Head, "squash": true, "squash_commit_message": words, "merge_commit_message": words, "should_remove_source_branch": false,
	}, &done)
	if err == nil && done.State == "merged" {
		return h.squashed(ctx, done.pull().MergeCommit)
	}
	var t *work.HostTrouble
	switch {
	case err == nil:
		return work.PullSquashed{}, &work.HostTrouble{Kind: work.HostNotYet, Do: do, What: "the host is merging it"}
	case !errors.As(err, &t):
		return work.PullSquashed{}, err
	case t.Status == 0 || t.Status >= http.StatusInternalServerError:
		// The answer may have been lost, and not the merge.
		if again, rerr := h.Pull(ctx, m.Number); rerr == nil && again.State == work.PullMerged && again.Head == m.Head && again.Base == m.Base {
			return h.squashed(ctx, again.MergeCommit)
		}
	case t.Status == http.StatusConflict:
		t.Kind, t.What, t.Fix = work.HostHeadMoved, "the branch has moved since the review", ""
	case t.Status == http.StatusUnauthorized:
		// GitLab says so of an account that may not merge, too.
		if _, serr := h.merging.Self(ctx); serr == nil {
			t.Kind, t.What, t.Fix = work.HostProtected, "the account that merges may not merge into "+p.Base, "let it merge there, or name another in host.merger_token_env"
		}
	case t.Status == http.StatusMethodNotAllowed || t.Status == http.StatusUnprocessableEntity || t.Status == http.StatusNotAcceptable:
		h.refusal(ctx, t, p)
	}
	return work.PullSquashed{}, t
}

// refusal says why a merge was refused: one status stands for many reasons.
func (h *Host) refusal(ctx context.Context, t *work.HostTrouble, p work.PullRequest) {
	now, err := h.get(ctx, p.Number)
	if err != nil {
		return
	}
	switch m, why := mergeability(now); m {
	case work.MergeComputing, work.Mergeable:
		t.Kind, t.What, t.Fix = work.HostNotYet, "the host is still looking whether it can be merged", ""
	case work.MergeConflict:
		t.Kind, t.What, t.Fix = work.HostConflict, "it conflicts with "+p.Base, ""
	case work.MergeBlocked:
		t.Kind, t.What, t.Fix = work.HostProtected, why, "the rules of "+p.Base+" are not met yet; they are looked at again"
	}
}

// squashed is the commit that a merge put onto its base. Where a project also makes a
// merge commit, that is the one, and its first parent is the base as it was.
func (h *Host) squashed(ctx context.Context, commit string) (work.PullSquashed, error) {
	out := work.PullSquashed{Commit: commit}
	var c struct {
		Parents []string `json:"parent_ids"`
	}
	_, err := h.api.Ask(ctx, "read the merged commit", http.MethodGet, "/repository/commits/"+url.PathEscape(commit), nil, &c)
	if err == nil && len(c.Parents) > 0 {
		out.Parent = c.Parents[0]
	}
	return out, err
}

// mergeability is what GitLab says in one word of many. Only one of them is a yes.
func mergeability(m mergeRequest) (work.Mergeability, string) {
	switch m.Status {
	case "mergeable":
		return work.Mergeable, ""
	case "checking", "unchecked", "preparing", "approvals_syncing":
		if m.State == "opened" {
			return work.MergeComputing, ""
		}
	case "conflict", "broken_status":
		return work.MergeConflict, ""
	case "need_rebase":
		return work.MergeBlocked, "the branch is behind its base"
	case "draft_status":
		return work.MergeBlocked, "it is a draft"
	case "not_approved":
		return work.MergeBlocked, "required approvals are missing"
	case "requested_changes":
		return work.MergeBlocked, "somebody asked for changes"
	case "ci_must_pass", "ci_still_running", "status_checks_must_pass", "external_status_checks":
		return work.MergeBlocked, "required checks are missing"
	case "discussions_not_resolved":
		return work.MergeBlocked, "discussions are not resolved"
	case "blocked_status", "jira_association_missing", "locked_paths", "locked_lfs_files", "title_regex", "merge_time", "security_policy_violations":
		return work.MergeBlocked, "the host says " + strings.ReplaceAll(m.Status, "_", " ")
	}
	if m.State != "opened" {
		return work.MergeUnknown, "it is " + text.OneLine(m.State, 40)
	}
	return work.MergeUnknown, "the host calls it " + text.OneLine(m.Status, 60)
}

// RetargetedBy is who changed the target of a merge request last, "" = the host does
// not say. It is for people to read, so what fails here is no error.
func (h *Host) RetargetedBy(ctx context.Context, number int64) (who string) {
	all, err := gitlabapi.List[note](ctx, h.api, "read who changed the target", path(number)+"/notes", url.Values{"sort": {"asc"}, "order_by": {"created_at"}})
	if err != nil {
		return ""
	}
	for _, n := range slices.Backward(all) {
		if n.System && strings.HasPrefix(n.Body, "changed target branch") {
			return n.Author.Login()
		}
	}
	return ""
}
