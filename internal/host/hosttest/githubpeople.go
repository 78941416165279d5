package hosttest

import (
	"fmt"
	"strconv"
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

func (p githubPeople) Rewrite(_ testing.TB, number int64, body string) {
	p.with(number, func(x *ghPull) { x.body = body })
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
}

func (p githubPeople) Archive(testing.TB) {
	p.g.mu.Lock()
	defer p.g.mu.Unlock()
	p.g.archived = true
}
