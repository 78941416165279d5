package gitea

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"forge/internal/host"
	"forge/internal/work"
)

// Look reads all that a pull request says: state, reviews, threads, comments,
// checks, mergeability.
func (h *Host) Look(ctx context.Context, number int64) (work.PullLook, error) {
	all, out, err := h.read(ctx, number, true)
	if err != nil {
		return out, err
	}
	var lines []*sdk.PullReviewComment
	err = host.Together(
		func() (err error) { lines, err = h.lineComments(ctx, number, all.reviews); return err },
		func() error { return h.mergeable(ctx, all.pull, &out) },
	)
	if err != nil {
		return out, err
	}
	all.sort(&out, lines)
	out.Writers, err = all.rights.writers(ctx, out)
	return out, err
}

// Verdicts is Look without what people said in threads and comments, and who of
// them may write. Where the reviews come to no approval, mergeability and checks
// are not asked for either.
func (h *Host) Verdicts(ctx context.Context, number int64) (work.PullLook, error) {
	all, out, err := h.read(ctx, number, false)
	if err != nil || host.Stand(out.Reviews, out.Head).Verdict != work.PullApproved {
		return out, err
	}
	return out, h.mergeable(ctx, all.pull, &out)
}

// reading is what the answers to the first requests for a pull request hold.
type reading struct {
	own      map[string]bool
	pull     *sdk.PullRequest
	reviews  []*sdk.PullReview
	comments []*sdk.Comment // on the whole; not always asked for
	rights   *rights
}

// read asks for a pull request with its reviews, and as they are told the
// comments on the whole.
func (h *Host) read(ctx context.Context, number int64, comments bool) (all reading, out work.PullLook, err error) {
	err = host.Together(
		func() (err error) { all.own, err = h.ours(ctx); return err },
		func() (err error) { all.pull, err = h.get(ctx, number); return err },
		func() (err error) { all.reviews, err = h.reviews(ctx, number); return err },
		func() (err error) {
			if comments {
				all.comments, err = h.issueComments(ctx, number)
			}
			return err
		},
	)
	if err != nil {
		return all, out, err
	}
	out.PullRequest, out.Mergeable, out.Checks = h.pull(all.pull), work.MergeUnknown, work.ChecksUnknown
	for _, r := range all.reviews {
		out.Reviews = append(out.Reviews, review(r, out.Head, all.own))
	}
	all.rights = h.rights()
	return all, out, all.rights.still(ctx, out.Reviews)
}

// sort puts comments to the threads that they are of.
func (all reading) sort(out *work.PullLook, lines []*sdk.PullReviewComment) {
	thread(out, lines, all.own)
	onTheWhole(out, all.comments, all.own)
}

func name(u *sdk.User) string {
	if u == nil {
		return ""
	}
	return u.UserName
}

// reviews are those that were submitted, oldest first.
func (h *Host) reviews(ctx context.Context, number int64) ([]*sdk.PullReview, error) {
	var out []*sdk.PullReview
	seen := 0
	for page := 1; page <= maxPages; page++ {
		all, res, err := h.api(ctx).ListPullReviews(h.cfg.Owner, h.cfg.Repo, number, sdk.ListPullReviewsOptions{ListOptions: sdk.ListOptions{Page: page, PageSize: pageSize}})
		if err != nil {
			return nil, h.trouble(fmt.Sprintf("read the reviews of pull request %d", number), res, err)
		}
		for _, r := range all {
			if r.State != sdk.ReviewStatePending && r.State != sdk.ReviewStateRequestReview {
				out = append(out, r)
			}
		}
		if seen += len(all); !more(res.Header, seen, len(all)) {
			break
		}
	}
	return out, nil
}

// lineComments are those of reviews, oldest first; Gitea tells those of one
// review at a time.
func (h *Host) lineComments(ctx context.Context, number int64, reviews []*sdk.PullReview) ([]*sdk.PullReviewComment, error) {
	said := make([][]*sdk.PullReviewComment, len(reviews))
	var ask []func() error
	for i, r := range reviews {
		if r.CodeCommentsCount == 0 {
			continue
		}
		ask = append(ask, func() error {
			all, res, err := h.api(ctx).ListPullReviewComments(h.cfg.Owner, h.cfg.Repo, number, r.ID)
			if err != nil {
				return h.trouble(fmt.Sprintf("read the reviews of pull request %d", number), res, err)
			}
			said[i] = all
			return nil
		})
	}
	if err := host.Together(ask...); err != nil {
		return nil, err
	}
	lines := slices.Concat(said...)
	slices.SortFunc(lines, func(a, b *sdk.PullReviewComment) int { return cmp.Compare(a.ID, b.ID) })
	return lines, nil
}

// thread sorts comments on lines into the threads that they are of.
func thread(out *work.PullLook, lines []*sdk.PullReviewComment, own map[string]bool) {
	byPlace := map[string]int{} // → thread
	byID := map[string]int{}
	for _, c := range lines {
		said := comment(c.ID, c.Reviewer, c.Body, own)
		said.At = c.Created.UTC()
		// A reply through the API is a review of its own at the same line.
		if said.Own {
			if i, ok := byID[host.Answers(c.Body)]; ok {
				out.Threads[i].Comments = append(out.Threads[i].Comments, said)
				continue
			}
		}
		place := fmt.Sprintf("%d %d %d %s", c.ReviewID, c.LineNum, c.OldLineNum, c.Path)
		i, ok := byPlace[place]
		if !ok {
			i = len(out.Threads)
			byPlace[place] = i
			hunk, _ := host.Clip(c.DiffHunk)
			out.Threads = append(out.Threads, work.PullThread{
				ID: said.ID, Review: strconv.FormatInt(c.ReviewID, 10), Path: c.Path, Line: int(c.LineNum), OldLine: int(c.OldLineNum),
				Commit: cmp.Or(c.OrigCommitID, c.CommitID), Hunk: hunk,
			})
		}
		t := &out.Threads[i]
		byID[said.ID] = i
		t.Comments = append(t.Comments, said)
		t.Resolved = t.Resolved || c.Resolver != nil
	}
}

// rights says who may write to the repository now; each is asked about once.
type rights struct {
	*Host
	asked map[string]bool
	all   map[string]bool // whom work may be given to; nil = not asked for
}

func (h *Host) rights() *rights { return &rights{Host: h, asked: map[string]bool{}} }

func (r *rights) mayWrite(ctx context.Context, who string) (bool, error) {
	if may, ok := r.asked[who]; ok || r.all != nil {
		return may || r.all[who], nil
	}
	p, res, err := r.api(ctx).CollaboratorPermission(r.cfg.Owner, r.cfg.Repo, who)
	switch {
	case err == nil && p != nil:
		r.asked[who] = p.Permission == sdk.AccessModeWrite || p.Permission == sdk.AccessModeAdmin || p.Permission == sdk.AccessModeOwner
	case res != nil && res.StatusCode == http.StatusForbidden:
		// That is for administrators; whom work may be given to is for all.
		all, res, err := r.api(ctx).GetAssignees(r.cfg.Owner, r.cfg.Repo)
		if err != nil {
			return false, r.trouble("ask who may write", res, err)
		}
		r.all = map[string]bool{}
		for _, u := range all {
			r.all[u.UserName] = true
		}
		return r.all[who], nil
	case res != nil && res.StatusCode == http.StatusNotFound: // an account that is gone may not
		r.asked[who] = false
	default:
		return false, r.trouble("ask what "+who+" may do", res, err)
	}
	return r.asked[who], nil
}

// still takes the word away from those who may not write any more: Gitea goes on
// calling their reviews official.
func (r *rights) still(ctx context.Context, reviews []work.PullReview) error {
	for i := range reviews {
		x := &reviews[i]
		if !x.MayDecide || x.Own || x.Dismissed || x.Verdict == work.PullCommented {
			continue
		}
		may, err := r.mayWrite(ctx, x.By)
		if err != nil {
			return err
		}
		x.MayDecide = may
	}
	return nil
}

// writers finds out who of those who said something may write.
func (r *rights) writers(ctx context.Context, look work.PullLook) (out []string, err error) {
	for _, who := range host.Speakers(look) {
		may, err := r.mayWrite(ctx, who)
		if err != nil {
			return nil, err
		}
		if may {
			out = append(out, who)
		}
	}
	return out, nil
}

func review(r *sdk.PullReview, head string, own map[string]bool) work.PullReview {
	out := work.PullReview{
		ID: strconv.FormatInt(r.ID, 10), By: name(r.Reviewer), Commit: r.CommitID, At: r.Submitted.UTC(),
		Dismissed: r.Dismissed, Stale: r.Stale || r.CommitID != head,
		// What Gitea calls official is: by one who might write then, or whom the
		// rule of the branch names. It takes the word away from all but the last
		// of a reviewer, which is the only one that counts.
		MayDecide: r.Official, Own: own[strings.ToLower(name(r.Reviewer))],
		Verdict: work.PullVerdictUnknown,
	}
	out.Body, _ = host.Clip(r.Body)
	switch r.State {
	case sdk.ReviewStateApproved:
		out.Verdict = work.PullApproved
	case sdk.ReviewStateRequestChanges:
		out.Verdict = work.PullChangesRequested
	case sdk.ReviewStateComment:
		out.Verdict = work.PullCommented
	}
	return out
}

func comment(id int64, by *sdk.User, body string, own map[string]bool) work.PullComment {
	c := work.PullComment{ID: strconv.FormatInt(id, 10), By: name(by), Own: own[strings.ToLower(name(by))]}
	c.Body, c.Clipped = host.Clip(body)
	return c
}

// onTheWhole sorts comments on no line: answers of Forge's own go to their
// threads.
func onTheWhole(out *work.PullLook, all []*sdk.Comment, own map[string]bool) {
	for _, c := range all {
		said := comment(c.ID, c.Poster, c.Body, own)
		said.At = c.Created.UTC()
		if said.Own {
			if i := slices.IndexFunc(out.Threads, func(t work.PullThread) bool { return t.ID == host.Answers(c.Body) }); i >= 0 {
				out.Threads[i].Comments = append(out.Threads[i].Comments, said)
				continue
			}
		}
		out.Comments = append(out.Comments, said)
	}
}

// issueComments are all on the whole pull request; Gitea gives them in one
// answer, whatever page is asked for.
func (h *Host) issueComments(ctx context.Context, number int64) ([]*sdk.Comment, error) {
	all, res, err := h.api(ctx).ListIssueComments(h.cfg.Owner, h.cfg.Repo, number, sdk.ListIssueCommentOptions{})
	if err != nil {
		return nil, h.trouble(fmt.Sprintf("read the comments of pull request %d", number), res, err)
	}
	return all, nil
}

// mergeable fills what Gitea says in several places: it has one word for
// computing, conflicting and failed, which git tells apart.
func (h *Host) mergeable(ctx context.Context, p *sdk.PullRequest, out *work.PullLook) error {
	if out.State != work.PullOpen {
		out.Why = "it is " + string(out.State)
		return nil
	}
	var b *sdk.Branch
	err := host.Together(
		func() error {
			st, res, err := h.api(ctx).GetCombinedStatus(h.cfg.Owner, h.cfg.Repo, out.Head)
			if err != nil {
				return h.trouble(fmt.Sprintf("read the checks of pull request %d", out.Number), res, err)
			}
			out.Checks = checks(st)
			return nil
		},
		func() error {
			if out.BranchGone {
				return nil
			}
			is, res, err := h.as(ctx, h.cfg.MergeToken).GetRepoBranch(h.cfg.Owner, h.cfg.Repo, out.Base)
			if err == nil {
				b = is
				return nil
			}
			if t := h.trouble("read branch "+out.Base, res, err); t.Status != http.StatusNotFound {
				return t
			}
			return nil
		},
	)
	switch {
	case err != nil:
		return err
	case out.BranchGone:
		out.Mergeable, out.Why = work.MergeBlocked, "its branch is gone"
		return nil
	case b == nil:
		out.Mergeable, out.Why = work.MergeBlocked, "its base "+out.Base+" is gone"
		return nil
	}
	approvals := 0
	for _, r := range out.Reviews {
		if r.Verdict == work.PullApproved && r.MayDecide && !r.Dismissed && !r.Stale {
			approvals++
		}
	}
	switch {
	case p.Draft:
		out.Mergeable, out.Why = work.MergeBlocked, "it is marked as work in progress"
	case !b.UserCanMerge:
		out.Mergeable, out.Why = work.MergeBlocked, "the account of the token may not merge into "+out.Base
	case b.EnableStatusCheck && out.Checks != work.ChecksPassed:
		out.Mergeable, out.Why = work.MergeBlocked, "required checks have not passed"
	case int(b.RequiredApprovals) > approvals:
		out.Mergeable, out.Why = work.MergeBlocked, fmt.Sprintf("%d of %d required approvals are there", approvals, b.RequiredApprovals)
	case p.Mergeable:
		out.Mergeable = work.Mergeable
	case h.Store == nil:
		out.Why = "the host does not say whether it conflicts or is still being looked at"
	default:
		conflict, err := h.Conflict(ctx, out.Base, out.Branch, fmt.Sprintf("refs/forge/host/%d", out.Number))
		if err != nil {
			return err
		}
		out.Mergeable = work.MergeComputing
		if conflict {
			out.Mergeable = work.MergeConflict
		}
	}
	return nil
}

func checks(st *sdk.CombinedStatus) work.CheckState {
	if st.TotalCount == 0 && len(st.Statuses) == 0 {
		return work.ChecksNone
	}
	switch st.State {
	case sdk.StatusSuccess, sdk.StatusWarning, "skipped":
		return work.ChecksPassed
	case sdk.StatusPending:
		return work.ChecksPending
	case sdk.StatusError, sdk.StatusFailure:
		return work.ChecksFailed
	}
	return work.ChecksUnknown
}
