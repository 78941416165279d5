package github

import (
	"context"
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
	own, err := h.ours(ctx)
	if err != nil {
		return err
	}
	all, err := h.issueComments(ctx, number)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c remark) bool {
		return own[strings.ToLower(c.User.Login)] && host.SaidAlready(c.Body, key)
	}) {
		return nil
	}
	if _, t := h.ask(ctx, request{
		do: fmt.Sprintf("comment on pull request %d", number), method: http.MethodPost, path: issuePath(number) + "/comments",
		body: map[string]any{"body": host.Said(key, "", body)},
	}, nil); t != nil {
		return t
	}
	return nil
}

// Acknowledge leaves an eye at a comment; GitHub takes one that is there for done.
func (h *Host) Acknowledge(ctx context.Context, _ int64, c work.PullComment) error {
	if _, t := h.ask(ctx, request{
		do: "leave a sign at a comment", method: http.MethodPost, path: "/issues/comments/" + c.ID + "/reactions", body: map[string]any{"content": "eyes"},
	}, nil); t != nil {
		return t
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
		if own[strings.ToLower(c.User.Login)] && host.SaidAlready(c.Body, key) {
			return nil
		}
		if fmt.Sprint(c.ID) == t.ID {
			root = c.ID
		}
	}
	if root == 0 { // it was deleted
		return h.Comment(ctx, number, key, host.OnPath(t.Path, body))
	}
	if _, t := h.ask(ctx, request{
		do: fmt.Sprintf("answer a comment on pull request %d", number), method: http.MethodPost, path: pullPath(number) + "/comments",
		body: map[string]any{"body": host.Said(key, t.ID, body), "in_reply_to": root},
	}, nil); t != nil {
		return t
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
	said := func(body text.Markdown) string { return host.Said(n.Key, "", body) }
	var lines []map[string]any
	for _, l := range n.Lines {
		at := map[string]any{"path": l.Path, "line": l.Last(), "side": "RIGHT", "body": host.NoteBody(l, host.OfferLines)}
		if l.Last() > l.Line {
			at["start_line"], at["start_side"] = l.Line, "RIGHT"
		}
		lines = append(lines, at)
	}
	body := map[string]any{"commit_id": n.Commit, "event": "COMMENT", "body": said(n.Body), "comments": lines}
	r := request{do: fmt.Sprintf("review pull request %d", n.Number), method: http.MethodPost, path: pullPath(n.Number) + "/reviews", body: body, as: h.reviews}
	_, t := h.ask(ctx, r, nil)
	if t != nil && len(lines) > 0 && t.Status == http.StatusUnprocessableEntity {
		delete(body, "comments")
		body["body"] = said(host.NotesAsText(n))
		_, t = h.ask(ctx, r, nil)
	}
	if t != nil {
		return t
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
	var done merged
	_, t := h.ask(ctx, request{do: do, method: http.MethodPut, path: pullPath(m.Number) + "/merge", as: h.merges, body: map[string]any{
		"commit_title": m.Title.String(), "commit_message": m.Message, "merge_method": "squash", "sha": m.Head,
	}}, &done)
	if t == nil && done.Merged {
		return h.squashed(ctx, done.SHA)
	}
	if t == nil {
		t = &work.HostTrouble{Kind: work.HostRefused, Do: do, What: "the host does not say that it merged"}
	}
	if t.Status == 0 || t.Status >= 500 {
		// The answer may have been lost, and not the merge.
		if again, rerr := h.Pull(ctx, m.Number); rerr == nil && again.State == work.PullMerged && again.Head == m.Head && again.Base == m.Base {
			return h.squashed(ctx, again.MergeCommit)
		}
	}
	if t.Status == http.StatusConflict {
		t.Kind, t.What = work.HostHeadMoved, "the branch has moved since the review"
	}
	if refersToQueue(t) {
		return work.PullSquashed{}, h.enqueue(ctx, do, m)
	}
	if t.Status == http.StatusMethodNotAllowed {
		h.refusal(ctx, t, p)
	}
	return work.PullSquashed{}, t
}

// RetargetedBy is who changed the target of a pull request last, "" = the host
// does not say. It is for people to read, so what fails here is no error.
func (h *Host) RetargetedBy(ctx context.Context, number int64) (who string) {
	t := eachPage(ctx, h, request{do: "read who changed the target", path: issuePath(number) + "/events"}, func(page []issueEvent) bool {
		for _, e := range page {
			if e.Event == "base_ref_changed" {
				who = e.Actor.Login
			}
		}
		return false
	})
	if t != nil {
		return ""
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
	var c mergedCommit
	if _, t := h.ask(ctx, request{do: "read the merged commit", path: "/git/commits/" + url.PathEscape(commit)}, &c); t != nil {
		return out, t
	}
	if len(c.Parents) > 0 {
		out.Parent = c.Parents[0].SHA
	}
	return out, nil
}

// DeleteBranch deletes a branch that still points at head; one that is gone is
// no error. Kinds of trouble, beside the common ones: head_moved.
func (h *Host) DeleteBranch(ctx context.Context, branch, head string) error {
	do := "delete branch " + branch
	at, t := h.head(ctx, do, branch)
	if t != nil {
		return t
	}
	if at == "" { // gone, or kept from the token with all else
		return h.exists(ctx, do)
	}
	if at != head {
		return &work.HostTrouble{Kind: work.HostHeadMoved, Do: do, What: "somebody has pushed to it since", Fix: "it is left as it is"}
	}
	_, t = h.ask(ctx, request{do: do, method: http.MethodDelete, path: "/git/refs/heads/" + escaped(branch), as: h.merges}, nil)
	if t == nil || t.Status == http.StatusUnprocessableEntity && strings.Contains(strings.ToLower(t.What), "does not exist") {
		return nil
	}
	return t
}

// head is where a branch is, "" = the host tells of none.
func (h *Host) head(ctx context.Context, do, branch string) (string, *work.HostTrouble) {
	var r reference
	_, t := h.ask(ctx, request{do: do, path: "/git/ref/heads/" + escaped(branch)}, &r)
	if t != nil && t.Status == http.StatusNotFound {
		return "", nil
	}
	return r.Object.SHA, t
}

// exists tells a thing that is gone from a repository that the token does not see.
func (h *Host) exists(ctx context.Context, do string) error {
	if _, t := h.ask(ctx, request{do: do}, nil); t != nil {
		return t
	}
	return nil
}
