package gitea

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"forge/internal/host"
	"forge/internal/work"
)

// Look reads all that a pull request says: state, reviews, threads, comments,
// checks, mergeability.
func (h *Host) Look(ctx context.Context, number int64) (work.PullLook, error) {
	all, out, err := h.told(ctx, number, true)
	if err != nil {
		return out, err
	}
	var lines []lineRemark
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
	all, out, err := h.told(ctx, number, false)
	if err != nil || host.Stand(out.Reviews, out.Head).Verdict != work.PullApproved {
		return out, err
	}
	return out, h.mergeable(ctx, all.pull, &out)
}

// reading is what the answers to the first requests for a pull request hold.
type reading struct {
	own      map[string]bool
	pull     *pullRequest
	reviews  []pullReview
	comments []remark // on the whole; not always asked for
	rights   *rights
}

// told asks for a pull request with its reviews, and as they are told the
// comments on the whole.
func (h *Host) told(ctx context.Context, number int64, comments bool) (all reading, out work.PullLook, err error) {
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
	out.PullRequest, out.Mergeable, out.Checks = all.pull.read(), work.MergeUnknown, work.ChecksUnknown
	for _, r := range all.reviews {
		out.Reviews = append(out.Reviews, review(r, out.Head, all.own))
	}
	all.rights = h.rights()
	return all, out, all.rights.still(ctx, out.Reviews)
}

// sort puts comments to the threads that they are of.
func (all reading) sort(out *work.PullLook, lines []lineRemark) {
	thread(out, lines, all.own)
	onTheWhole(out, all.comments, all.own)
}

// reviews are those that were submitted, oldest first.
func (h *Host) reviews(ctx context.Context, number int64) ([]pullReview, error) {
	var out []pullReview
	r := request{do: fmt.Sprintf("read the reviews of pull request %d", number), path: pullPath(number) + "/reviews"}
	if _, t := eachPage(ctx, h, r, func(r pullReview) bool {
		if r.State != reviewPending && r.State != reviewAsked {
			out = append(out, r)
		}
		return false
	}); t != nil {
		return nil, t
	}
	return out, nil
}

// lineComments are those of reviews, oldest first; Gitea tells those of one
// review at a time.
func (h *Host) lineComments(ctx context.Context, number int64, reviews []pullReview) ([]lineRemark, error) {
	said := make([][]lineRemark, len(reviews))
	var ask []func() error
	for i, r := range reviews {
		if r.Lines == 0 {
			continue
		}
		ask = append(ask, func() error {
			do, path := fmt.Sprintf("read the reviews of pull request %d", number), fmt.Sprintf("%s/reviews/%d/comments", pullPath(number), r.ID)
			if _, t := h.ask(ctx, request{do: do, path: path}, &said[i]); t != nil {
				return t
			}
			return nil
		})
	}
	if err := host.Together(ask...); err != nil {
		return nil, err
	}
	lines := slices.Concat(said...)
	slices.SortFunc(lines, func(a, b lineRemark) int { return cmp.Compare(a.ID, b.ID) })
	return lines, nil
}

// thread sorts comments on lines into the threads that they are of.
func thread(out *work.PullLook, lines []lineRemark, own map[string]bool) {
	byPlace := map[string]int{} // → thread
	byID := map[string]int{}
	for _, c := range lines {
		said := comment(c.remark, own)
		// A reply through the API is a review of its own at the same line.
		if said.Own {
			if i, ok := byID[host.Answers(c.Body)]; ok {
				out.Threads[i].Comments = append(out.Threads[i].Comments, said)
				continue
			}
		}
		place := fmt.Sprintf("%d %d %d %s", c.Review, c.Line, c.OldLine, c.Path)
		i, ok := byPlace[place]
		if !ok {
			i = len(out.Threads)
			byPlace[place] = i
			hunk, _ := host.Clip(c.Hunk)
			out.Threads = append(out.Threads, work.PullThread{
				ID: said.ID, Review: strconv.FormatInt(c.Review, 10), Path: c.Path, Line: c.Line, OldLine: c.OldLine,
				Commit: cmp.Or(c.OriginalCommit, c.Commit), Hunk: hunk,
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
	var p struct {
		Permission string `json:"permission"`
	}
	_, t := r.ask(ctx, request{do: "ask what " + who + " may do", path: "/collaborators/" + url.PathEscape(who) + "/permission"}, &p)
	switch {
	case t == nil:
		r.asked[who] = slices.Contains([]string{"write", "admin", "owner"}, p.Permission)
	case t.Status == http.StatusForbidden:
		// That is for administrators; whom work may be given to is for all.
		var all []user
		if _, t := r.ask(ctx, request{do: "ask who may write", path: "/assignees"}, &all); t != nil {
			return false, t
		}
		r.all = map[string]bool{}
		for _, u := range all {
			r.all[u.Login] = true
		}
		return r.all[who], nil
	case t.Status == http.StatusNotFound: // an account that is gone may not
		r.asked[who] = false
	default:
		return false, t
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

func review(r pullReview, head string, own map[string]bool) work.PullReview {
	out := work.PullReview{
		ID: strconv.FormatInt(r.ID, 10), By: r.Reviewer.Login, Commit: r.Commit, At: r.Submitted.UTC(),
		Dismissed: r.Dismissed, Stale: r.Stale || r.Commit != head,
		// What Gitea calls official is: by one who might write then, or whom the
		// rule of the branch names. It takes the word away from all but the last
		// of a reviewer, which is the only one that counts.
		MayDecide: r.Official, Own: own[strings.ToLower(r.Reviewer.Login)],
		Verdict: work.PullVerdictUnknown,
	}
	out.Body, _ = host.Clip(r.Body)
	switch r.State {
	case reviewApproved:
		out.Verdict = work.PullApproved
	case reviewChanges:
		out.Verdict = work.PullChangesRequested
	case reviewComment:
		out.Verdict = work.PullCommented
	}
	return out
}

func comment(r remark, own map[string]bool) work.PullComment {
	c := work.PullComment{ID: strconv.FormatInt(r.ID, 10), By: r.Poster.Login, At: r.Created.UTC(), Own: own[strings.ToLower(r.Poster.Login)]}
	c.Body, c.Clipped = host.Clip(r.Body)
	return c
}

// onTheWhole sorts comments on no line: answers of Forge's own go to their
// threads.
func onTheWhole(out *work.PullLook, all []remark, own map[string]bool) {
	for _, c := range all {
		said := comment(c, own)
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
func (h *Host) issueComments(ctx context.Context, number int64) ([]remark, error) {
	var all []remark
	r := request{do: fmt.Sprintf("read the comments of pull request %d", number), path: issuePath(number) + "/comments"}
	if _, t := h.ask(ctx, r, &all); t != nil {
		return nil, t
	}
	return all, nil
}

// mergeable fills what Gitea says in several places: it has one word for
// computing, conflicting and failed, which git tells apart.
func (h *Host) mergeable(ctx context.Context, p *pullRequest, out *work.PullLook) error {
	if out.State != work.PullOpen {
		out.Why = "it is " + string(out.State)
		return nil
	}
	var base *branch
	err := host.Together(
		func() error {
			var st statuses
			r := request{do: fmt.Sprintf("read the checks of pull request %d", out.Number), path: "/commits/" + url.PathEscape(out.Head) + "/status"}
			if _, t := h.ask(ctx, r, &st); t != nil {
				return t
			}
			out.Checks = checks(st)
			return nil
		},
		func() error {
			if out.BranchGone {
				return nil
			}
			b, t := h.branch(ctx, "read branch "+out.Base, out.Base, account(h.cfg.MergeToken))
			switch {
			case t == nil:
				base = &b
			case t.Status != http.StatusNotFound:
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
	case base == nil:
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
	case !base.CanMerge:
		out.Mergeable, out.Why = work.MergeBlocked, "the account of the token may not merge into "+out.Base
	case base.Checked && out.Checks != work.ChecksPassed:
		out.Mergeable, out.Why = work.MergeBlocked, "required checks have not passed"
	case base.Approvals > approvals:
		out.Mergeable, out.Why = work.MergeBlocked, fmt.Sprintf("%d of %d required approvals are there", approvals, base.Approvals)
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

func checks(st statuses) work.CheckState {
	if st.Total == 0 && len(st.All) == 0 {
		return work.ChecksNone
	}
	if st.State == "error" {
		return work.ChecksFailed
	}
	return statusState(st.State)
}
