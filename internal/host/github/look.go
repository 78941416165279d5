package github

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
		out.Comments = append(out.Comments, comment(c, own))
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
	if out.Mergeable, out.Why = mergeability(p); out.Mergeable == work.MergeBlocked && p.MergeableState == "blocked" && !p.Draft {
		// So is what only a merge queue may merge, which then says what is missing.
		if at, t := h.queue(ctx, "read the merge queue", number); t == nil && at.IsMergeQueueEnabled {
			out.Mergeable, out.Why = work.Mergeable, ""
		}
	}
	return out, own, h.readReviews(ctx, &out, own, rights)
}

// mergeability is null while GitHub computes.
func mergeability(p *pullRequest) (work.Mergeability, string) {
	switch state := p.MergeableState; {
	case p.State != "open":
		return work.MergeUnknown, "it is " + p.State
	case p.Draft:
		return work.MergeBlocked, "it is a draft"
	case p.Mergeable == nil || state == "unknown":
		return work.MergeComputing, ""
	case !*p.Mergeable || state == "dirty":
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

func comment(r remark, own map[string]bool) work.PullComment {
	c := work.PullComment{ID: strconv.FormatInt(r.ID, 10), By: r.User.Login, At: r.Created.UTC(), Own: own[strings.ToLower(r.User.Login)]}
	c.Body, c.Clipped = host.Clip(r.Body)
	return c
}

func (h *Host) readReviews(ctx context.Context, out *work.PullLook, own, rights map[string]bool) error {
	var all []review
	do := fmt.Sprintf("read the reviews of pull request %d", out.Number)
	if t := eachPage(ctx, h, request{do: do, path: pullPath(out.Number) + "/reviews"}, func(page []review) bool {
		all = append(all, page...)
		return false
	}); t != nil {
		return t
	}
	for _, r := range all {
		x := work.PullReview{
			ID: strconv.FormatInt(r.ID, 10), By: r.User.Login, Commit: r.Commit, At: r.Submitted.UTC(),
			Stale: r.Commit != out.Head, Own: own[strings.ToLower(r.User.Login)], Verdict: work.PullVerdictUnknown,
		}
		x.Body, _ = host.Clip(r.Body)
		switch r.State {
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
			var err error
			if x.MayDecide, err = h.mayWrite(ctx, x.By, rights); err != nil {
				return err
			}
		}
		out.Reviews = append(out.Reviews, x)
	}
	return nil
}

// mayWrite asks once of each; asked holds the answers.
func (h *Host) mayWrite(ctx context.Context, who string, asked map[string]bool) (bool, error) {
	if may, ok := asked[who]; ok {
		return may, nil
	}
	var p struct {
		Permission string `json:"permission"`
	}
	_, t := h.ask(ctx, request{do: "ask what " + who + " may do", path: "/collaborators/" + url.PathEscape(who) + "/permission"}, &p)
	if t != nil && t.Status != http.StatusNotFound {
		return false, t
	}
	asked[who] = t == nil && (p.Permission == "admin" || p.Permission == "write")
	return asked[who], nil
}

func (h *Host) lineComments(ctx context.Context, number int64) ([]lineRemark, error) {
	var out []lineRemark
	do := fmt.Sprintf("read the line comments of pull request %d", number)
	if t := eachPage(ctx, h, request{do: do, path: pullPath(number) + "/comments"}, func(page []lineRemark) bool {
		out = append(out, page...)
		return false
	}); t != nil {
		return nil, t
	}
	slices.SortFunc(out, func(a, b lineRemark) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func (h *Host) issueComments(ctx context.Context, number int64) ([]remark, error) {
	var out []remark
	do := fmt.Sprintf("read the comments of pull request %d", number)
	if t := eachPage(ctx, h, request{do: do, path: issuePath(number) + "/comments"}, func(page []remark) bool {
		out = append(out, page...)
		return false
	}); t != nil {
		return nil, t
	}
	return out, nil
}

func (h *Host) threads(ctx context.Context, out *work.PullLook, own map[string]bool) error {
	all, err := h.lineComments(ctx, out.Number)
	if err != nil || len(all) == 0 {
		return err
	}
	known, err := h.graphThreads(ctx, out.Number)
	if err != nil {
		return err
	}
	at := map[int64]int{}
	for _, c := range all {
		root := cmp.Or(c.ReplyTo, c.ID)
		i, ok := at[root]
		if !ok {
			i = len(out.Threads)
			hunk, _ := host.Clip(c.Hunk)
			t := work.PullThread{
				ID: strconv.FormatInt(root, 10), Review: strconv.FormatInt(c.Review, 10), Path: c.Path,
				Commit: c.OriginalCommit, Hunk: hunk, Resolved: known[root].resolved,
			}
			if line := cmp.Or(c.Line, c.OriginalLine); c.Side == "LEFT" {
				t.OldLine = line
			} else {
				t.Line = line
			}
			out.Threads = append(out.Threads, t)
		}
		at[root], at[c.ID] = i, i
		out.Threads[i].Comments = append(out.Threads[i].Comments, comment(c.remark, own))
	}
	return nil
}

const threadsQuery = `query($owner:String!,$repo:String!,$number:Int!,$after:String){repository(owner:$owner,name:$repo){pullRequest(number:$number){
reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor} nodes{id isResolved comments(first:1){nodes{databaseId}}}}}}}`

// graphThread is what only the other API of GitHub tells of a thread.
type graphThread struct {
	id       string
	resolved bool
}

// graphThreads are the threads of a pull request there, by their first comments.
func (h *Host) graphThreads(ctx context.Context, number int64) (map[int64]graphThread, error) {
	do := fmt.Sprintf("read the threads of pull request %d", number)
	out := map[int64]graphThread{}
	var after *string
	for range maxPages {
		a, err := h.client.Ask(ctx, http.MethodPost, h.graph, h.asks.headers(), map[string]any{
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
								ID         string
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
			if len(n.Comments.Nodes) > 0 {
				out[n.Comments.Nodes[0].DatabaseID] = graphThread{n.ID, n.IsResolved}
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
	const do = "read the checks"
	var st statuses
	if _, t := h.ask(ctx, request{do: do, path: "/commits/" + url.PathEscape(commit) + "/status"}, &st); t != nil {
		return work.ChecksUnknown, t
	}
	worst, total := work.ChecksPassed, st.Total
	switch st.State {
	case "success":
	case "pending":
		if total > 0 {
			worst = work.ChecksPending
		}
	default:
		worst = work.ChecksFailed
	}
	t := eachPage(ctx, h, request{do: do, path: "/commits/" + url.PathEscape(commit) + "/check-runs"}, func(page checkRuns) bool {
		total += len(page.Runs)
		for _, r := range page.Runs {
			switch {
			case r.Status != "completed":
				if worst == work.ChecksPassed {
					worst = work.ChecksPending
				}
			case !slices.Contains([]string{"success", "neutral", "skipped"}, r.Conclusion):
				worst = work.ChecksFailed
			}
		}
		return false
	})
	switch {
	case t != nil:
		return work.ChecksUnknown, t
	case total == 0:
		return work.ChecksNone, nil
	}
	return worst, nil
}
