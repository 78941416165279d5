package hosttest

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"forge/internal/work"
)

// People are those of the repository.
func (g *GitHub) People() People { return githubPeople{g} }

type githubPeople struct{ g *GitHub }

func (p githubPeople) with(number int64, do func(*ghPull)) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.refresh()
	pull := p.g.pulls[number-1]
	do(pull)
	p.g.touch(pull)
}

func (p githubPeople) Review(_ testing.TB, who string, number int64, head string, verdict work.PullVerdict, body string, lines ...Line) {
	state := map[work.PullVerdict]string{work.PullApproved: "APPROVED", work.PullChangesRequested: "CHANGES_REQUESTED", work.PullCommented: "COMMENTED"}[verdict]
	p.with(number, func(x *ghPull) {
		id := p.g.id()
		x.reviews = append(x.reviews, map[string]any{
			"id": id, "user": map[string]any{"login": who}, "body": body, "state": state, "commit_id": head, "submitted_at": p.g.stamp(),
		})
		for _, l := range lines {
			hunk, _ := p.g.try("diff", "-U3", x.baseSHA, head, "--", l.Path)
			x.lines = append(x.lines, map[string]any{
				"id": p.g.id(), "pull_request_review_id": id, "user": map[string]any{"login": who}, "body": l.Body, "path": l.Path, "line": l.Line,
				"original_line": l.Line, "side": "RIGHT", "commit_id": head, "original_commit_id": head, "diff_hunk": hunk, "created_at": p.g.stamp(),
			})
		}
	})
}

func (p githubPeople) Say(_ testing.TB, who string, number int64, body string) {
	p.with(number, func(x *ghPull) { x.comments = append(x.comments, p.g.comment(who, body)) })
}

func (g *GitHub) stamp() string { return g.now().Format(time.RFC3339) }

func (g *GitHub) comment(who, body string) map[string]any {
	return map[string]any{"id": g.id(), "user": map[string]any{"login": who}, "body": body, "created_at": g.stamp()}
}

// Signs are how many signs there are at the comments with these words.
func (g *GitHub) Signs(words string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.pulls {
		for _, c := range p.comments {
			if strings.Contains(fmt.Sprint(c["body"]), words) {
				signs, _ := c["signs"].(map[string]bool)
				n += len(signs)
			}
		}
	}
	return n
}

func (p githubPeople) Dismiss(_ testing.TB, number int64, review string) {
	p.with(number, func(x *ghPull) {
		for _, r := range x.reviews {
			if fmt.Sprint(r["id"]) == review {
				r["state"] = "DISMISSED"
			}
		}
	})
}

func (p githubPeople) Resolve(t testing.TB, number int64, thread string) {
	id, err := strconv.ParseInt(thread, 10, 64)
	check(t, err)
	p.with(number, func(x *ghPull) { x.resolved[id] = true })
}

func (p githubPeople) OpenIssue(_ testing.TB, title, body string) int64 {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.issues = append(p.g.issues, map[string]any{"title": title, "body": body})
	return firstIssue + int64(len(p.g.issues)) - 1
}

func (p githubPeople) Rewrite(_ testing.TB, number int64, body string) {
	p.with(number, func(x *ghPull) { x.body = body })
}

func (p githubPeople) Reopen(_ testing.TB, number int64) {
	p.with(number, func(x *ghPull) { x.state = "open" })
}

func (p githubPeople) Retarget(_ testing.TB, who string, number int64, base string) {
	p.with(number, func(x *ghPull) {
		x.base, x.baseSHA, x.asked = base, p.g.head(base), false
		x.events = append(x.events, map[string]any{"id": p.g.id(), "event": "base_ref_changed", "actor": map[string]any{"login": who}, "created_at": p.g.stamp()})
	})
}

func (p githubPeople) Close(_ testing.TB, number int64) {
	p.with(number, func(x *ghPull) { x.state = "closed" })
}

func (p githubPeople) MergeByHand(t testing.TB, number int64) {
	p.with(number, func(x *ghPull) {
		if !p.g.squash(x, "by hand") {
			t.Error("the pull request cannot be merged by hand")
		}
	})
}

func (p githubPeople) Protect(_ testing.TB, branch string, approvals int, check string) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.protected[branch] = ghRule{approvals, check}
}

func (p githubPeople) Status(_ testing.TB, commit, check, state string) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	if p.g.statuses[commit] == nil {
		p.g.statuses[commit] = map[string]string{}
	}
	p.g.statuses[commit][check] = state
	p.g.said[commit] = append(p.g.said[commit], map[string]any{
		"id": p.g.id(), "context": check, "state": state, "description": check + " is " + state, "target_url": "https://ci.example.com/" + check, "created_at": time.Now().UTC().Format(time.RFC3339),
	})
}

func (p githubPeople) Archive(testing.TB) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.archived = true
}

func (p githubPeople) Remove(_ testing.TB, who string) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.rights[who] = "read"
}

// review is one that a program posts. As the real one does, it takes no comment
// on a line that the diff has not.
func (g *GitHub) review(w http.ResponseWriter, p *ghPull, who string, body map[string]any) {
	text := func(of map[string]any, key string) string { s, _ := of[key].(string); return s }
	if text(body, "event") != "COMMENT" {
		refusal(w, http.StatusUnprocessableEntity, "Can not approve your own pull request")
		return
	}
	id, head := g.id(), text(body, "commit_id")
	var lines []map[string]any
	comments, _ := body["comments"].([]any)
	for _, c := range comments {
		of, _ := c.(map[string]any)
		line, _ := of["line"].(float64)
		hunk, err := g.try("diff", "-U3", p.baseSHA, head, "--", text(of, "path"))
		if err != nil || !inHunks(hunk, int(line)) {
			refusal(w, http.StatusUnprocessableEntity, "pull_request_review_thread.line must be part of the diff")
			return
		}
		l := g.comment(who, text(of, "body"))
		l["pull_request_review_id"], l["path"], l["line"], l["original_line"], l["side"] = id, text(of, "path"), int(line), int(line), "RIGHT"
		l["commit_id"], l["original_commit_id"], l["diff_hunk"] = head, head, hunk
		lines = append(lines, l)
	}
	r := g.comment(who, text(body, "body"))
	r["id"], r["state"], r["commit_id"], r["submitted_at"] = id, "COMMENTED", head, g.stamp()
	p.reviews, p.lines = append(p.reviews, r), append(p.lines, lines...)
	g.touch(p)
	say(w, http.StatusOK, r)
}

// inHunks says that a diff has a line of the new side.
func inHunks(diff string, line int) bool {
	for _, text := range strings.Split(diff, "\n") {
		var from, count int
		if _, after, ok := strings.Cut(text, " +"); ok && strings.HasPrefix(text, "@@ ") {
			if n, _ := fmt.Sscanf(after, "%d,%d", &from, &count); n == 1 {
				count = 1
			}
			if line >= from && line < from+count {
				return true
			}
		}
	}
	return false
}
