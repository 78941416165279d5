package gitea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"forge/internal/host"
	"forge/internal/text"
	"forge/internal/work"
)

// Comment posts on the whole pull request, once for each key.
func (h *Host) Comment(ctx context.Context, number int64, key string, body text.Markdown) error {
	return h.comment(ctx, number, key, "", body)
}

// Acknowledge leaves an eye at a comment; Gitea takes one that is there for done.
func (h *Host) Acknowledge(ctx context.Context, _ int64, c work.PullComment) error {
	if _, t := h.ask(ctx, request{
		do: "leave a sign at a comment", method: http.MethodPost, path: "/issues/comments/" + c.ID + "/reactions", body: map[string]string{"content": "eyes"},
	}, nil); t != nil {
		return t
	}
	return nil
}

func (h *Host) comment(ctx context.Context, number int64, key, thread string, body text.Markdown) error {
	all, err := h.issueComments(ctx, number)
	if err != nil {
		return err
	}
	own, err := h.ours(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c remark) bool {
		return own[strings.ToLower(c.Poster.Login)] && host.SaidAlready(c.Body, key)
	}) {
		return nil
	}
	if _, t := h.ask(ctx, request{
		do: fmt.Sprintf("comment on pull request %d", number), method: http.MethodPost, path: issuePath(number) + "/comments",
		body: map[string]string{"body": host.Said(key, thread, body)},
	}, nil); t != nil {
		return t
	}
	return nil
}

// post submits a review.
func (h *Host) post(ctx context.Context, do string, number int64, r newReview, as account) *work.HostTrouble {
	_, t := h.ask(ctx, request{do: do, method: http.MethodPost, path: pullPath(number) + "/reviews", body: r, as: as}, nil)
	return t
}

// Reply answers a thread, once for each key: at the thread's own line while the
// diff has it, else on the whole pull request.
func (h *Host) Reply(ctx context.Context, number int64, t work.PullThread, key string, body text.Markdown) error {
	head, said, err := h.replied(ctx, number, key)
	if err != nil || said {
		return err
	}
	if t.Line > 0 || t.OldLine > 0 {
		trouble := h.post(ctx, fmt.Sprintf("answer a comment on pull request %d", number), number, newReview{
			Event: reviewComment, Commit: head,
			Comments: []newLineRemark{{Path: t.Path, Body: host.Said(key, t.ID, body), Line: t.Line, OldLine: t.OldLine}},
		}, "")
		if trouble == nil {
			return nil
		}
		if trouble.Kind != work.HostRefused && trouble.Status != http.StatusNotFound && trouble.Status < 500 {
			return trouble
		}
		// A host may fail after it has done what it was asked to.
		if _, said, err = h.replied(ctx, number, key); err != nil || said {
			return err
		}
	}
	return h.comment(ctx, number, key, t.ID, host.OnPath(t.Path, body))
}

// Settle says in a thread why it is over, and resolves it: a Gitea before 1.26 takes
// that from no program.
func (h *Host) Settle(ctx context.Context, number int64, t work.PullThread, key string, why text.Markdown) error {
	if err := h.Reply(ctx, number, t, key, why); err != nil || t.Resolved {
		return err
	}
	do := fmt.Sprintf("resolve a thread of pull request %d", number)
	_, trouble := h.ask(ctx, request{do: do, method: http.MethodPost, path: "/pulls/comments/" + url.PathEscape(t.ID) + "/resolve"}, nil)
	if trouble == nil || trouble.Status == http.StatusNotFound || trouble.Status == http.StatusMethodNotAllowed {
		return nil
	}
	return trouble
}

// Issue reads an issue.
func (h *Host) Issue(ctx context.Context, number int64) (work.HostIssue, error) {
	var i struct {
		Title string `json:"title"`
		Body  string `json:"body"`
	}
	if _, t := h.ask(ctx, request{do: fmt.Sprintf("read issue %d", number), path: issuePath(number)}, &i); t != nil {
		return work.HostIssue{}, t
	}
	out := work.HostIssue{Number: number, Title: i.Title}
	out.Body, _ = host.Clip(i.Body)
	return out, nil
}

// replied says whether an answer with a key stands in a thread, and what the head
// of the pull request is.
func (h *Host) replied(ctx context.Context, number int64, key string) (head string, said bool, err error) {
	all, look, err := h.told(ctx, number, true)
	if err != nil {
		return "", false, err
	}
	lines, err := h.lineComments(ctx, number, all.reviews)
	if err != nil {
		return "", false, err
	}
	all.sort(&look, lines)
	for _, x := range look.Threads {
		if slices.ContainsFunc(x.Comments, func(c work.PullComment) bool { return c.Own && host.SaidAlready(c.Body, key) }) {
			return look.Head, true, nil
		}
	}
	return look.Head, false, nil
}

// Note says what Forge's reviewers found, once for each key: a review that
// decides nothing, on the lines of the diff; on the whole of it where a line is
// none of those.
func (h *Host) Note(ctx context.Context, n work.PullNotes) error {
	look, err := h.Look(ctx, n.Number)
	if err != nil || host.Noted(look, n.Key) {
		return err
	}
	r := newReview{Event: reviewComment, Commit: n.Commit, Body: host.Said(n.Key, "", n.Body)}
	for _, l := range n.Lines {
		r.Comments = append(r.Comments, newLineRemark{Path: l.Path, Body: host.NoteBody(l, host.OfferDiff), Line: l.Line})
	}
	post := func() *work.HostTrouble {
		return h.post(ctx, fmt.Sprintf("review pull request %d", n.Number), n.Number, r, account(h.cfg.ReviewToken))
	}
	t := post()
	if t != nil && len(n.Lines) > 0 && (t.Kind == work.HostRefused || t.Status == http.StatusNotFound || t.Status >= 500) {
		// A host may fail after it has done what it was asked to.
		if look, err = h.Look(ctx, n.Number); err != nil || host.Noted(look, n.Key) {
			return err
		}
		r.Body, r.Comments = host.Said(n.Key, "", host.NotesAsText(n)), nil
		t = post()
	}
	if t == nil {
		return nil
	}
	return t
}

// Merge squashes the pull request into its base, when its head is the one asked
// for. A pull request that is merged with that head already is a success. Kinds
// of trouble, beside the common ones: merged, closed, no_pull, branch_gone,
// head_moved, base_moved, retargeted, conflict, protected, not_yet, unrelated.
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
		return h.squashed(ctx, p)
	}
	a, err := h.send(ctx, request{method: http.MethodPost, path: pullPath(m.Number) + "/merge", as: account(h.cfg.MergeToken), body: map[string]any{
		"Do": "squash", "MergeTitleField": m.Title.String(), "MergeMessageField": m.Message, "head_commit_id": m.Head,
	}}, h.repository())
	if err == nil && a.Status < 300 {
		return h.merged(ctx, do, m)
	}
	if err != nil || a.Status >= 500 {
		// The answer may have been lost, and not the merge.
		if again, rerr := h.Pull(ctx, m.Number); rerr == nil && again.State == work.PullMerged && again.Head == m.Head && again.Base == m.Base {
			return h.squashed(ctx, again)
		}
	}
	t := h.trouble(do, a, err)
	h.refusal(ctx, t, a, p)
	return work.PullSquashed{}, t
}

func (h *Host) merged(ctx context.Context, do string, m work.PullMerge) (work.PullSquashed, error) {
	p, err := h.Pull(ctx, m.Number)
	if err != nil {
		return work.PullSquashed{}, err
	}
	if p.State != work.PullMerged {
		return work.PullSquashed{}, &work.HostTrouble{Kind: work.HostNotYet, Do: do, What: "the host has taken the merge and does not show it yet"}
	}
	if p.Base != m.Base {
		return work.PullSquashed{}, &work.HostTrouble{Kind: work.HostPullMerged, Do: do, What: fmt.Sprintf("its target was changed in the moment of the merge: it is merged into %s, and not into %s", p.Base, m.Base)}
	}
	return h.squashed(ctx, p)
}

func (h *Host) squashed(ctx context.Context, p work.PullRequest) (work.PullSquashed, error) {
	out := work.PullSquashed{Commit: p.MergeCommit}
	var c mergedCommit
	if _, t := h.ask(ctx, request{do: "read the merged commit", path: "/git/commits/" + url.PathEscape(p.MergeCommit)}, &c); t != nil {
		return out, t
	}
	if len(c.Parents) > 0 {
		out.Parent = c.Parents[0].SHA
	}
	return out, nil
}

// RetargetedBy is who changed the target of a pull request last, "" = the host
// does not say. It is for people to read, so what fails here is no error.
func (h *Host) RetargetedBy(ctx context.Context, number int64) (who string) {
	_, t := eachPage(ctx, h, request{do: "read who changed the target", path: issuePath(number) + "/timeline"}, func(e occasion) bool {
		if e.Type == "change_target_branch" {
			who = e.Poster.Login
		}
		return false
	})
	if t != nil {
		return ""
	}
	return who
}

// refusal says why a merge was refused: one status stands for many reasons.
func (h *Host) refusal(ctx context.Context, t *work.HostTrouble, a host.Answer, p work.PullRequest) {
	said := strings.ToLower(a.Message())
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(said, w) })
	}
	switch {
	case a.Status == http.StatusMethodNotAllowed && has("try again later"):
		// The word for "still computing", and for "conflicts".
		t.Kind, t.What = work.HostNotYet, "the host is still looking whether it can be merged"
		if h.Store == nil {
			break
		}
		if conflict, err := h.Conflict(ctx, p.Base, p.Branch, fmt.Sprintf("refs/forge/host/%d", p.Number)); err == nil && conflict {
			t.Kind, t.What = work.HostConflict, "it conflicts with "+p.Base
		}
	case a.Status == http.StatusMethodNotAllowed && has("not allowed to merge"):
		t.Kind, t.Fix = work.HostForbidden, "give the account of the merging token the right to merge into "+p.Base
	case a.Status == http.StatusMethodNotAllowed && has("already merged"):
		t.Kind = work.HostPullMerged
	case a.Status == http.StatusMethodNotAllowed && has("work in progress"):
		t.Kind, t.Fix = work.HostRefused, "take the mark of work in progress from its title"
	case a.Status == http.StatusMethodNotAllowed && has("approval", "status check", "protected", "review", "outdated", "official", "not ready"):
		t.Kind, t.Fix = work.HostProtected, "the rules of "+p.Base+" are not met yet; they are looked at again"
	case a.Status == http.StatusConflict && has("head out of date"):
		t.Kind, t.What = work.HostHeadMoved, "the branch has moved since the review"
	case a.Status == http.StatusConflict && has("push out of date"):
		t.Kind, t.What = work.HostBaseMoved, "the base moved during the merge"
	case a.Status == http.StatusConflict && has("pushrejected", "push rejected"):
		t.Kind = work.HostProtected
	case a.Status == http.StatusConflict:
		t.Kind, t.What = work.HostConflict, "it conflicts with "+p.Base
		var raw struct{ StdErr string }
		if json.Unmarshal(a.Body, &raw) == nil && strings.Contains(raw.StdErr, "unrelated histories") {
			t.Kind, t.What = work.HostUnrelated, "the branch and "+p.Base+" have no common commit"
		}
	case a.Status == http.StatusNotFound:
		t.Kind, t.What = work.HostPullClosed, "it was closed meanwhile"
	}
}

// DeleteBranch deletes a branch that still points at head; one that is gone is
// no error. Kinds of trouble, beside the common ones: head_moved, protected.
func (h *Host) DeleteBranch(ctx context.Context, branch, head string) error {
	do := "delete branch " + branch
	b, t := h.branch(ctx, do, branch, "")
	if t != nil {
		if t.Status != http.StatusNotFound {
			return t
		}
		if _, t := h.repo(ctx, do); t != nil {
			return t
		}
		return nil
	}
	if b.Commit.ID != head {
		return &work.HostTrouble{Kind: work.HostHeadMoved, Do: do, What: "somebody has pushed to it since", Fix: "it is left as it is"}
	}
	_, t = h.ask(ctx, request{do: do, method: http.MethodDelete, path: branchPath(branch), as: account(h.cfg.MergeToken)}, nil)
	if t == nil || t.Status == http.StatusNotFound {
		return nil
	}
	return t
}

// hookEvents are what a pull request is touched by.
func hookEvents() []string {
	return []string{"pull_request", "pull_request_comment", "pull_request_review_approved", "pull_request_review_rejected", "pull_request_review_comment", "pull_request_sync", "push", "delete", "issue_comment"}
}

// EnsureHook makes sure that the repository sends its events to address, signed
// with secret, and returns the webhook's id. One that is there is replaced.
func (h *Host) EnsureHook(ctx context.Context, address, secret string) (int64, error) {
	const do = "set up the webhook"
	if secret == "" {
		return 0, errors.New(do + ": without a secret nobody could tell whose it is")
	}
	var old []int64
	if _, t := eachPage(ctx, h, request{do: do, path: "/hooks"}, func(k hook) bool {
		if k.Config["url"] == address {
			old = append(old, k.ID)
		}
		return false
	}); t != nil {
		return 0, t
	}
	// Editing one leaves its secret as it was, and nobody tells what that is.
	for _, id := range old {
		if _, t := h.ask(ctx, request{do: do, method: http.MethodDelete, path: fmt.Sprintf("/hooks/%d", id)}, nil); t != nil && t.Status != http.StatusNotFound {
			return 0, t
		}
	}
	var k hook
	_, t := h.ask(ctx, request{do: do, method: http.MethodPost, path: "/hooks", body: map[string]any{
		"type": "gitea", "active": true, "events": hookEvents(), "config": map[string]string{"url": address, "content_type": "json", "secret": secret},
	}}, &k)
	if t != nil {
		return 0, t
	}
	return k.ID, nil
}

// TestHook asks the host to send a webhook now.
func (h *Host) TestHook(ctx context.Context, id int64) error {
	if _, t := h.ask(ctx, request{do: "test the webhook", method: http.MethodPost, path: fmt.Sprintf("/hooks/%d/tests", id)}, nil); t != nil {
		return t
	}
	return nil
}
