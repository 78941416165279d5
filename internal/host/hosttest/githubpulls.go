package hosttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// show is a pull request as GitHub tells it. It computes mergeability after it
// was asked for once.
func (g *GitHub) show(p *ghPull, alone bool) map[string]any {
	out := map[string]any{
		"number": p.number, "title": p.title, "body": p.body, "state": p.state, "updated_at": p.updated.Format(time.RFC3339), "html_url": g.URL + "/pull",
		"user": map[string]any{"login": p.author},
		"head": map[string]any{"ref": p.head, "sha": p.headSHA, "repo": map[string]any{"id": 7}},
		"base": map[string]any{"ref": p.base, "sha": p.baseSHA, "repo": map[string]any{"id": 7}},
	}
	if p.merged != "" {
		out["merged_at"], out["merge_commit_sha"] = p.updated.Format(time.RFC3339), p.merged
	}
	if !alone {
		return out
	}
	out["merged"] = p.merged != ""
	if p.state == "open" {
		out["mergeable"], out["mergeable_state"] = nil, "unknown"
		if p.asked {
			fits := g.fits(p)
			out["mergeable"], out["mergeable_state"] = fits, "clean"
			switch {
			case !fits:
				out["mergeable_state"] = "dirty"
			case g.queues, g.blocked(p) != "":
				out["mergeable_state"] = "blocked"
			}
		}
		p.asked = true
	}
	return out
}

// blocked is the rule that is not met, "" = none.
func (g *GitHub) blocked(p *ghPull) string {
	rule, ok := g.protected[p.base]
	if !ok {
		return ""
	}
	if rule.check != "" && g.statuses[p.headSHA][rule.check] != "success" {
		return `Required status check "` + rule.check + `" is expected.`
	}
	latest := map[string]string{}
	for _, r := range p.reviews {
		who := r["user"].(map[string]any)["login"].(string)
		if state := r["state"].(string); state != "COMMENTED" && g.rights[who] == "write" {
			latest[who] = state
		}
	}
	approvals := 0
	for _, state := range latest {
		if state == "APPROVED" {
			approvals++
		}
	}
	if approvals < rule.approvals {
		return fmt.Sprintf("At least %d approving review is required by reviewers with write access.", rule.approvals)
	}
	return ""
}

func (g *GitHub) listPulls(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	sorted := slices.Clone(g.pulls)
	if q.Get("sort") == "updated" {
		slices.SortFunc(sorted, newestFirst)
	} else {
		slices.Reverse(sorted)
	}
	var out []map[string]any
	for _, p := range sorted {
		if head := q.Get("head"); head != "" && head != "octo:"+p.head || q.Get("base") != "" && q.Get("base") != p.base || q.Get("state") != "all" && p.state != "open" {
			continue
		}
		out = append(out, g.show(p, false))
	}
	g.page(w, req, out)
}

func (g *GitHub) createPull(w http.ResponseWriter, who string, body map[string]any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	head, base := text("head"), text("base")
	invalid := func(e map[string]string) { refusal(w, http.StatusUnprocessableEntity, "Validation Failed", e) }
	for field, branch := range map[string]string{"head": head, "base": base} {
		if g.head(branch) == "" {
			invalid(map[string]string{"resource": "PullRequest", "field": field, "code": "invalid"})
			return
		}
	}
	for _, p := range g.pulls {
		if p.state == "open" && p.head == head && p.base == base {
			invalid(map[string]string{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for octo:" + head + "."})
			return
		}
	}
	if _, err := g.try("merge-base", g.head(base), g.head(head)); err != nil {
		invalid(map[string]string{"resource": "PullRequest", "code": "custom", "message": "The " + head + " branch has no history in common with " + base})
		return
	}
	if n, _ := g.try("rev-list", "--count", g.head(base)+".."+g.head(head)); n == "0" {
		invalid(map[string]string{"resource": "PullRequest", "code": "custom", "message": "No commits between " + base + " and " + head})
		return
	}
	p := &ghPull{
		number: len(g.pulls) + 1, title: text("title"), body: text("body"), head: head, base: base, author: who, state: "open",
		headSHA: g.head(head), baseSHA: g.head(base), resolved: map[int64]bool{},
	}
	g.touch(p)
	g.pulls = append(g.pulls, p)
	say(w, http.StatusCreated, g.show(p, true))
}

func (g *GitHub) servePull(w http.ResponseWriter, req *http.Request, p *ghPull, at []string, who string, body map[string]any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	what := ""
	if len(at) > 2 {
		what = at[0] + "/" + at[2]
	}
	switch {
	case what == "" && req.Method == http.MethodGet:
		say(w, http.StatusOK, g.show(p, true))
	case what == "" && req.Method == http.MethodPatch:
		if s, ok := body["title"].(string); ok {
			p.title = s
		}
		if s, ok := body["body"].(string); ok {
			p.body = s
		}
		if s, ok := body["state"].(string); ok && p.state == "open" {
			p.state = s
		}
		g.touch(p)
		say(w, http.StatusOK, g.show(p, true))
	case what == "pulls/reviews" && req.Method == http.MethodPost:
		g.review(w, p, who, body)
	case what == "pulls/reviews":
		g.page(w, req, p.reviews)
	case what == "pulls/comments" && req.Method == http.MethodGet:
		g.page(w, req, p.lines)
	case what == "pulls/comments":
		root, _ := body["in_reply_to"].(float64)
		for _, l := range p.lines {
			if l["id"] != int64(root) {
				continue
			}
			c := g.comment(who, text("body"))
			for _, key := range []string{"path", "line", "original_line", "side", "commit_id", "original_commit_id", "diff_hunk", "pull_request_review_id"} {
				c[key] = l[key]
			}
			c["in_reply_to_id"] = int64(root)
			p.lines = append(p.lines, c)
			g.touch(p)
			say(w, http.StatusCreated, c)
			return
		}
		refusal(w, http.StatusNotFound, "Not Found")
	case what == "issues/comments" && req.Method == http.MethodGet:
		g.page(w, req, p.comments)
	case what == "issues/comments":
		c := g.comment(who, text("body"))
		p.comments = append(p.comments, c)
		g.touch(p)
		say(w, http.StatusCreated, c)
	case what == "issues/events":
		g.page(w, req, p.events)
	case what == "pulls/merge":
		g.mergePull(w, p, body)
	default:
		refusal(w, http.StatusNotFound, "Not Found")
	}
}

func (g *GitHub) mergePull(w http.ResponseWriter, p *ghPull, body map[string]any) {
	title, _ := body["commit_title"].(string)
	message, _ := body["commit_message"].(string)
	switch {
	case p.state != "open":
		refusal(w, http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	case body["sha"] != nil && body["sha"] != p.headSHA:
		refusal(w, http.StatusConflict, "Head branch was modified. Review and try the merge again.")
	case g.queues:
		p.asked = true
		refusal(w, http.StatusMethodNotAllowed, "Repository rule violations found\n\nChanges must be made through the merge queue")
	case g.blocked(p) != "":
		p.asked = true
		refusal(w, http.StatusMethodNotAllowed, g.blocked(p))
	case !g.squash(p, strings.TrimSpace(title+"\n\n"+message)):
		p.asked = true
		refusal(w, http.StatusMethodNotAllowed, "Pull Request is not mergeable")
	default:
		g.touch(p)
		say(w, http.StatusOK, map[string]any{"sha": p.merged, "merged": true, "message": "Pull Request successfully merged"})
	}
}

// firstIssue is the number of the first issue: those of pull requests are below.
const firstIssue = 900

// resolve resolves a thread by its id there.
func (g *GitHub) resolve(w http.ResponseWriter, thread string) {
	id, err := strconv.ParseInt(strings.TrimPrefix(thread, "PRRT_"), 10, 64)
	for _, p := range g.pulls {
		for _, l := range p.lines {
			if err == nil && l["id"] == id && l["in_reply_to_id"] == nil {
				p.resolved[id] = true
				say(w, http.StatusOK, map[string]any{"data": map[string]any{"resolveReviewThread": map[string]any{"thread": map[string]any{"isResolved": true}}}})
				return
			}
		}
	}
	say(w, http.StatusOK, map[string]any{"data": map[string]any{"resolveReviewThread": nil}, "errors": []any{map[string]any{"message": "Could not resolve to a node"}}})
}

// graph answers what is asked there: which threads are resolved, and to resolve one.
func (g *GitHub) graph(w http.ResponseWriter, req *http.Request) {
	var in struct {
		Query     string
		Variables struct {
			Number int
			After  *string
			Pull   string
			Head   string
			Thread string
		}
	}
	err := json.NewDecoder(req.Body).Decode(&in)
	if err == nil && strings.Contains(in.Query, "enqueuePullRequest") {
		g.enqueue(w, in.Variables.Pull, in.Variables.Head)
		return
	}
	if err == nil && strings.Contains(in.Query, "resolveReviewThread") {
		g.resolve(w, in.Variables.Thread)
		return
	}
	if err != nil || in.Variables.Number < 1 || in.Variables.Number > len(g.pulls) {
		say(w, http.StatusOK, map[string]any{"errors": []any{map[string]any{"message": "Could not resolve to a PullRequest"}}})
		return
	}
	p := g.pulls[in.Variables.Number-1]
	if strings.Contains(in.Query, "isMergeQueueEnabled") {
		g.sayQueue(w, p)
		return
	}
	from := 0
	if in.Variables.After != nil {
		from, _ = strconv.Atoi(*in.Variables.After)
	}
	nodes := []any{}
	next, more := "", false
	for i, l := range p.lines {
		if l["in_reply_to_id"] != nil || i < from {
			continue
		}
		if len(nodes) == g.PageSize {
			next, more = strconv.Itoa(i), true
			break
		}
		nodes = append(nodes, map[string]any{
			"id": fmt.Sprintf("PRRT_%d", l["id"]), "isResolved": p.resolved[l["id"].(int64)], "comments": map[string]any{"nodes": []any{map[string]any{"databaseId": l["id"]}}},
		})
	}
	say(w, http.StatusOK, map[string]any{"data": map[string]any{"repository": map[string]any{"pullRequest": map[string]any{
		"reviewThreads": map[string]any{"pageInfo": map[string]any{"hasNextPage": more, "endCursor": next}, "nodes": nodes},
	}}}})
}
