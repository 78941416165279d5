package github

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/google/go-github/v88/github"

	"forge/internal/host"
	"forge/internal/work"
)

// Look reads all that a pull request says: state, reviews, threads, comments,
// checks, mergeability.
func (h *Host) Look(ctx context.Context, number int64) (work.PullLook, error) {
	rights := map[string]bool{}
	out, own, err := h.reviewed(ctx, number, rights)
	if err != nil {
		return out, err
	}
	if err := h.threads(ctx, &out, own); err != nil {
		return out, err
	}
	all, err := h.issueComments(ctx, number)
	if err != nil {
		return out, err
	}
	for _, c := range all {
		out.Comments = append(out.Comments, comment(c.GetID(), c.GetUser(), c.GetBody(), c.GetCreatedAt(), own))
	}
	for _, who := range host.Speakers(out) {
		may, err := h.mayWrite(ctx, who, rights)
		if err != nil {
			return out, err
		}
		if may {
			out.Writers = append(out.Writers, who)
		}
	}
	out.Checks, err = h.checks(ctx, out.Head)
	return out, err
}

// Verdicts is Look without what people said in threads and comments, and who of
// them may write. Where the reviews come to no approval, checks are not asked
// for either.
func (h *Host) Verdicts(ctx context.Context, number int64) (work.PullLook, error) {
	out, _, err := h.reviewed(ctx, number, map[string]bool{})
	if err != nil || host.Stand(out.Reviews, out.Head).Verdict != work.PullApproved {
		return out, err
	}
	out.Checks, err = h.checks(ctx, out.Head)
	return out, err
}

// reviewed is the state of a pull request with its reviews; own are the accounts
// that do not count.
func (h *Host) reviewed(ctx context.Context, number int64, rights map[string]bool) (out work.PullLook, own map[string]bool, err error) {
	if own, err = h.ours(ctx); err != nil {
		return out, nil, err
	}
	p, err := h.get(ctx, number)
	if err != nil {
		return out, nil, err
	}
	if out.PullRequest, err = h.based(ctx, p); err != nil {
		return out, nil, err
	}
	out.Checks = work.ChecksUnknown
	out.Mergeable, out.Why = mergeability(p)
	return out, own, h.reviews(ctx, &out, own, rights)
}

// mergeability is null while GitHub computes.
func mergeability(p *sdk.PullRequest) (work.Mergeability, string) {
	switch state := p.GetMergeableState(); {
	case p.GetState() != "open":
		return work.MergeUnknown, "it is " + p.GetState()
	case p.GetDraft():
		return work.MergeBlocked, "it is a draft"
	case p.Mergeable == nil || state == "unknown":
		return work.MergeComputing, ""
	case !p.GetMergeable() || state == "dirty":
		return work.MergeConflict, ""
	case state == "blocked":
		return work.MergeBlocked, "required approvals or checks are missing"
	case state == "behind":
		return work.MergeBlocked, "the branch is behind its base"
	case state == "clean", state == "unstable", state == "has_hooks":
		return work.Mergeable, ""
	default:
		return work.MergeUnknown, "the host calls it " + state
	}
}

func comment(id int64, by *sdk.User, body string, at sdk.Timestamp, own map[string]bool) work.PullComment {
	c := work.PullComment{ID: strconv.FormatInt(id, 10), By: by.GetLogin(), At: at.UTC(), Own: own[strings.ToLower(by.GetLogin())]}
	c.Body, c.Clipped = host.Clip(body)
	return c
}

func (h *Host) reviews(ctx context.Context, out *work.PullLook, own, rights map[string]bool) error {
	options := &sdk.ListOptions{PerPage: pageSize}
	for range maxPages {
		all, res, err := h.api.PullRequests.ListReviews(ctx, h.cfg.Owner, h.cfg.Repo, int(out.Number), options)
		if err != nil {
			return h.trouble(fmt.Sprintf("read the reviews of pull request %d", out.Number), res, err)
		}
		for _, r := range all {
			x := work.PullReview{
				ID: strconv.FormatInt(r.GetID(), 10), By: r.GetUser().GetLogin(), Commit: r.GetCommitID(), At: r.GetSubmittedAt().UTC(),
				Stale: r.GetCommitID() != out.Head, Own: own[strings.ToLower(r.GetUser().GetLogin())], Verdict: work.PullVerdictUnknown,
			}
			x.Body, _ = host.Clip(r.GetBody())
			switch r.GetState() {
			case "PENDING":
				continue
			case "APPROVED":
				x.Verdict = work.PullApproved
			case "CHANGES_REQUESTED":
				x.Verdict = work.PullChangesRequested
			case "COMMENTED":
				x.Verdict = work.PullCommented
			case "DISMISSED": // what it said is not told any more
				x.Dismissed = true
			}
			if x.Verdict != work.PullCommented && !x.Own && x.By != "" {
				if x.MayDecide, err = h.mayWrite(ctx, x.By, rights); err != nil {
					return err
				}
			}
			out.Reviews = append(out.Reviews, x)
		}
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	return nil
}

// mayWrite asks once of each; asked holds the answers.
func (h *Host) mayWrite(ctx context.Context, who string, asked map[string]bool) (bool, error) {
	if may, ok := asked[who]; ok {
		return may, nil
	}
	p, res, err := h.api.Repositories.GetPermissionLevel(ctx, h.cfg.Owner, h.cfg.Repo, who)
	if err != nil {
		t := h.trouble("ask what "+who+" may do", res, err)
		if t.Status != http.StatusNotFound {
			return false, t
		}
	}
	asked[who] = p.GetPermission() == "admin" || p.GetPermission() == "write"
	return asked[who], nil
}

func (h *Host) lineComments(ctx context.Context, number int64) ([]*sdk.PullRequestComment, error) {
	var out []*sdk.PullRequestComment
	options := &sdk.PullRequestListCommentsOptions{ListOptions: sdk.ListOptions{PerPage: pageSize}}
	for range maxPages {
		all, res, err := h.api.PullRequests.ListComments(ctx, h.cfg.Owner, h.cfg.Repo, int(number), options)
		if err != nil {
			return nil, h.trouble(fmt.Sprintf("read the line comments of pull request %d", number), res, err)
		}
		out = append(out, all...)
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	slices.SortFunc(out, func(a, b *sdk.PullRequestComment) int { return cmp.Compare(a.GetID(), b.GetID()) })
	return out, nil
}

func (h *Host) issueComments(ctx context.Context, number int64) ([]*sdk.IssueComment, error) {
	var out []*sdk.IssueComment
	options := &sdk.IssueListCommentsOptions{ListOptions: sdk.ListOptions{PerPage: pageSize}}
	for range maxPages {
		all, res, err := h.api.Issues.ListComments(ctx, h.cfg.Owner, h.cfg.Repo, int(number), options)
		if err != nil {
			return nil, h.trouble(fmt.Sprintf("read the comments of pull request %d", number), res, err)
		}
		out = append(out, all...)
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	return out, nil
}

func (h *Host) threads(ctx context.Context, out *work.PullLook, own map[string]bool) error {
	all, err := h.lineComments(ctx, out.Number)
	if err != nil || len(all) == 0 {
		return err
	}
	resolved, err := h.resolved(ctx, out.Number)
	if err != nil {
		return err
	}
	at := map[int64]int{}
	for _, c := range all {
		root := cmp.Or(c.GetInReplyTo(), c.GetID())
		i, ok := at[root]
		if !ok {
			i = len(out.Threads)
			hunk, _ := host.Clip(c.GetDiffHunk())
			t := work.PullThread{
				ID: strconv.FormatInt(root, 10), Review: strconv.FormatInt(c.GetPullRequestReviewID(), 10), Path: c.GetPath(),
				Commit: c.GetOriginalCommitID(), Hunk: hunk, Resolved: resolved[root],
			}
			if line := cmp.Or(c.GetLine(), c.GetOriginalLine()); c.GetSide() == "LEFT" {
				t.OldLine = line
			} else {
				t.Line = line
			}
			out.Threads = append(out.Threads, t)
		}
		at[root], at[c.GetID()] = i, i
		out.Threads[i].Comments = append(out.Threads[i].Comments, comment(c.GetID(), c.GetUser(), c.GetBody(), c.GetCreatedAt(), own))
	}
	return nil
}

const threadsQuery = `query($owner:String!,$repo:String!,$number:Int!,$after:String){repository(owner:$owner,name:$repo){pullRequest(number:$number){
reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor} nodes{isResolved comments(first:1){nodes{databaseId}}}}}}}`

// resolved are the first comments of resolved threads, which only the other
// API of GitHub tells.
func (h *Host) resolved(ctx context.Context, number int64) (map[int64]bool, error) {
	do := fmt.Sprintf("read the threads of pull request %d", number)
	out := map[int64]bool{}
	var after *string
	for range maxPages {
		a, err := h.client.Ask(ctx, http.MethodPost, h.graph, http.Header{"Authorization": {"Bearer " + h.cfg.Token}}, map[string]any{
			"query": threadsQuery, "variables": map[string]any{"owner": h.cfg.Owner, "repo": h.cfg.Repo, "number": number, "after": after},
		})
		if err != nil || a.Status != http.StatusOK {
			return nil, h.client.Trouble(do, a.Status, a.Header, a.Message(), err)
		}
		var said struct {
			Errors []struct{ Message string }
			Data   struct {
				Repository struct {
					PullRequest struct {
						ReviewThreads *struct {
							PageInfo struct {
								HasNextPage bool
								EndCursor   string
							}
							Nodes []struct {
								IsResolved bool
								Comments   struct {
									Nodes []struct{ DatabaseID int64 }
								}
							}
						}
					}
				}
			}
		}
		threads := &said.Data.Repository.PullRequest.ReviewThreads
		if json.Unmarshal(a.Body, &said) != nil || *threads == nil {
			t := &work.HostTrouble{Kind: work.HostUnreachable, Do: do, What: "the host does not tell which threads are resolved"}
			for _, e := range said.Errors {
				t.What += "; " + e.Message
			}
			return nil, t
		}
		for _, n := range (*threads).Nodes {
			if n.IsResolved && len(n.Comments.Nodes) > 0 {
				out[n.Comments.Nodes[0].DatabaseID] = true
			}
		}
		if !(*threads).PageInfo.HasNextPage {
			break
		}
		after = &(*threads).PageInfo.EndCursor
	}
	return out, nil
}

// checks are statuses and check runs together.
func (h *Host) checks(ctx context.Context, commit string) (work.CheckState, error) {
	st, res, err := h.api.Repositories.GetCombinedStatus(ctx, h.cfg.Owner, h.cfg.Repo, commit, nil)
	if err != nil {
		return work.ChecksUnknown, h.trouble("read the checks", res, err)
	}
	worst, total := work.ChecksPassed, st.GetTotalCount()
	switch st.GetState() {
	case "success":
	case "pending":
		if total > 0 {
			worst = work.ChecksPending
		}
	default:
		worst = work.ChecksFailed
	}
	options := &sdk.ListCheckRunsOptions{ListOptions: sdk.ListOptions{PerPage: pageSize}}
	for range maxPages {
		runs, res, err := h.api.Checks.ListCheckRunsForRef(ctx, h.cfg.Owner, h.cfg.Repo, commit, options)
		if err != nil {
			return work.ChecksUnknown, h.trouble("read the checks", res, err)
		}
		total += len(runs.CheckRuns)
		for _, r := range runs.CheckRuns {
			switch {
			case r.GetStatus() != "completed":
				if worst == work.ChecksPassed {
					worst = work.ChecksPending
				}
			case !slices.Contains([]string{"success", "neutral", "skipped"}, r.GetConclusion()):
				worst = work.ChecksFailed
			}
		}
		if options.Page = res.NextPage; res.NextPage == 0 {
			break
		}
	}
	if total == 0 {
		return work.ChecksNone, nil
	}
	return worst, nil
}
