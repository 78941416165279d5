package github

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Comment posts on the whole pull request, once for each key.
func (h *Host) Comment(ctx context.Context, number int64, key string, body text.Markdown) error {
	own, err := h.ours(ctx)
	if err != nil {
		return err
	}
	all, err := h.issueComments(ctx, number)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c *sdk.IssueComment) bool {
		return own[strings.ToLower(c.GetUser().GetLogin())] && host.SaidAlready(c.GetBody(), key)
	}) {
		return nil
	}
	said := host.Said(key, "", body)
	if _, res, err := h.api.Issues.CreateComment(ctx, h.cfg.Owner, h.cfg.Repo, int(number), &sdk.IssueComment{Body: &said}); err != nil {
		return h.trouble(fmt.Sprintf("comment on pull request %d", number), res, err)
	}
	return nil
}

// Reply answers a thread, once for each key.
func (h *Host) Reply(ctx context.Context, number int64, t work.PullThread, key string, body text.Markdown) error {
	own, err := h.ours(ctx)
	if err != nil {
		return err
	}
	all, err := h.lineComments(ctx, number)
	if err != nil {
		return err
	}
	var root int64
	for _, c := range all {
		if own[strings.ToLower(c.GetUser().GetLogin())] && host.SaidAlready(c.GetBody(), key) {
			return nil
		}
		if fmt.Sprint(c.GetID()) == t.ID {
			root = c.GetID()
		}
	}
	if root == 0 { // it was deleted
		return h.Comment(ctx, number, key, host.OnPath(t.Path, body))
	}
	if _, res, err := h.api.PullRequests.CreateCommentInReplyTo(ctx, h.cfg.Owner, h.cfg.Repo, int(number), host.Said(key, t.ID, body), root); err != nil {
		return h.trouble(fmt.Sprintf("answer a comment on pull request %d", number), res, err)
	}
	return nil
}

// Note says what Forge's reviewers found, once for each key: a review that
// decides nothing, on the lines of the diff; on the whole of it where a line is
// none of those.
func (h *Host) Note(ctx context.Context, n work.PullNotes) error {
	look, err := h.Look(ctx, n.Number)
	if err != nil || host.Noted(look, n.Key) {
		return err
	}
	said := func(body text.Markdown) *string { return new(host.Said(n.Key, "", body)) }
	opt := &sdk.PullRequestReviewRequest{CommitID: &n.Commit, Event: new("COMMENT"), Body: said(n.Body)}
	for _, l := range n.Lines {
		opt.Comments = append(opt.Comments, &sdk.DraftReviewComment{Path: &l.Path, Line: &l.Line, Side: new("RIGHT"), Body: new(l.Body.String())})
	}
	post := func() (*sdk.Response, error) {
		_, res, err := h.reviewing.PullRequests.CreateReview(ctx, h.cfg.Owner, h.cfg.Repo, int(n.Number), opt)
		return res, err
	}
	res, err := post()
	if err != nil && len(n.Lines) > 0 && res != nil && res.StatusCode == http.StatusUnprocessableEntity {
		opt.Body, opt.Comments = said(host.NotesAsText(n)), nil
		res, err = post()
	}
	if err != nil {
		return h.trouble(fmt.Sprintf("review pull request %d", n.Number), res, err)
	}
	return nil
}

// Merge squashes the pull request into its base, when its head is the one asked
// for. A pull request that is merged with that head already is a success. Kinds
// of trouble, beside the common ones: merged, closed, no_pull, branch_gone,
// head_moved, base_moved, retargeted, conflict, protected, not_yet.
func (h *Host) Merge(ctx context.Context, m work.PullMerge) (work.PullSquashed, error) {
	do := fmt.Sprintf("merge pull request %d", m.Number)
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
	done, res, err := h.merging.PullRequests.Merge(ctx, h.cfg.Owner, h.cfg.Repo, int(m.Number), m.Message, &sdk.PullRequestOptions{
		CommitTitle: m.Title.String(), SHA: m.Head, MergeMethod: "squash", DontDefaultIfBlank: true,
	})
	if err == nil && done.GetMerged() {
		return h.squashed(ctx, done.GetSHA())
	}
	t := h.trouble(do, res, err)
	if t.Status == 0 || t.Status >= 500 {
		// The answer may have been lost, and not the merge.
		if again, rerr := h.Pull(ctx, m.Number); rerr == nil && again.State == work.PullMerged && again.Head == m.Head && again.Base == m.Base {
			return h.squashed(ctx, again.MergeCommit)
		}
	}
	if t.Status == http.StatusConflict {
		t.Kind, t.What = work.HostHeadMoved, "the branch has moved since the review"
	}
	if t.Status == http.StatusMethodNotAllowed {
		h.refusal(ctx, t, p)
	}
	return work.PullSquashed{}, t
}

// RetargetedBy is who changed the target of a pull request last, "" = the host
// does not say. It is for people to read, so what fails here is no error.
func (h *Host) RetargetedBy(ctx context.Context, number int64) (who string) {
	options := &sdk.ListOptions{PerPage: pageSize}
	for range maxPages {
		all, res, err := h.api.Issues.ListIssueEvents(ctx, h.cfg.Owner, h.cfg.Repo, int(number), options)
		if err != nil {
			return ""
		}
		for _, e := range all {
			if e.GetEvent() == "base_ref_changed" {
				who = e.GetActor().GetLogin()
			}
		}
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	return who
}

// refusal says why a merge was refused: one status stands for many reasons.
func (h *Host) refusal(ctx context.Context, t *work.HostTrouble, p work.PullRequest) {
	if strings.Contains(strings.ToLower(t.What), "base branch was modified") {
		t.Kind, t.What = work.HostBaseMoved, "the base moved during the merge"
		return
	}
	now, err := h.get(ctx, p.Number)
	if err != nil {
		return
	}
	switch m, _ := mergeability(now); m {
	case work.MergeComputing, work.Mergeable:
		t.Kind, t.What = work.HostNotYet, "the host is still looking whether it can be merged"
	case work.MergeConflict:
		t.Kind, t.What = work.HostConflict, "it conflicts with "+p.Base
	case work.MergeBlocked:
		t.Kind, t.Fix = work.HostProtected, "the rules of "+p.Base+" are not met yet; they are looked at again"
	}
}

func (h *Host) squashed(ctx context.Context, commit string) (work.PullSquashed, error) {
	out := work.PullSquashed{Commit: commit}
	c, res, err := h.api.Git.GetCommit(ctx, h.cfg.Owner, h.cfg.Repo, commit)
	if err != nil {
		return out, h.trouble("read the merged commit", res, err)
	}
	if len(c.Parents) > 0 {
		out.Parent = c.Parents[0].GetSHA()
	}
	return out, nil
}

// DeleteBranch deletes a branch that still points at head; one that is gone is
// no error. Kinds of trouble, beside the common ones: head_moved.
func (h *Host) DeleteBranch(ctx context.Context, branch, head string) error {
	do := "delete branch " + branch
	b, res, err := h.api.Git.GetRef(ctx, h.cfg.Owner, h.cfg.Repo, "heads/"+branch)
	if err != nil {
		t := h.trouble(do, res, err)
		if t.Status == http.StatusNotFound {
			if _, rres, rerr := h.api.Repositories.Get(ctx, h.cfg.Owner, h.cfg.Repo); rerr != nil {
				return h.trouble(do, rres, rerr)
			}
			return nil
		}
		return t
	}
	if b.GetObject().GetSHA() != head {
		return &work.HostTrouble{Kind: work.HostHeadMoved, Do: do, What: "somebody has pushed to it since", Fix: "it is left as it is"}
	}
	res, err = h.merging.Git.DeleteRef(ctx, h.cfg.Owner, h.cfg.Repo, "heads/"+branch)
	if err == nil {
		return nil
	}
	t := h.trouble(do, res, err)
	if t.Status == http.StatusUnprocessableEntity && strings.Contains(strings.ToLower(t.What), "does not exist") {
		return nil
	}
	return t
}
