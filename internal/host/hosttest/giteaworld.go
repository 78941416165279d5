package hosttest

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"forge/internal/work"
)

// GiteaCrowd is a Gitea with the accounts of the suite.
type GiteaCrowd struct {
	*Gitea
	Tokens map[string]string // by account
	Narrow string            // of forge, without the right to comment
	count  atomic.Int64
}

// StartCrowd starts a Gitea with accounts.
func StartCrowd(t testing.TB, options ...Option) *GiteaCrowd {
	g := &GiteaCrowd{Gitea: StartGitea(t, options...), Tokens: map[string]string{}}
	for _, name := range []string{"owner", "forge", "ann", "ben", "eve"} {
		g.Tokens[name] = g.User(t, name)
		g.people[g.Tokens[name]] = name
	}
	g.Narrow = g.Token(t, "forge", "write:repository", "read:user", "read:issue")
	return g
}

// Repo makes a repository with the rights of the suite and returns its name.
// It is empty, or has a first commit on main.
func (g *GiteaCrowd) Repo(t testing.TB, first bool) string {
	name := fmt.Sprintf("r%d", g.count.Add(1))
	g.Make(t, name, first)
	return name
}

// Make is Repo with a name.
func (g *GiteaCrowd) Make(t testing.TB, name string, first bool) {
	g.Do(t, g.Tokens["owner"], http.MethodPost, "/user/repos", map[string]any{"name": name, "default_branch": "main", "auto_init": first}, nil)
	for who, right := range map[string]string{"forge": "admin", "ann": "write", "ben": "write", "eve": "read"} {
		g.Do(t, g.Tokens["owner"], http.MethodPut, "/repos/owner/"+name+"/collaborators/"+who, map[string]any{"permission": right}, nil)
	}
}

// People are those of a repository.
func (g *GiteaCrowd) People(repo string) People { return giteaPeople{g, "/repos/owner/" + repo} }

type giteaPeople struct {
	g    *GiteaCrowd
	repo string
}

func (p giteaPeople) do(t testing.TB, who, method, path string, in, out any) {
	t.Helper()
	p.g.Do(t, p.g.Tokens[who], method, p.repo+path, in, out)
}

func (p giteaPeople) Review(t testing.TB, who string, number int64, head string, verdict work.PullVerdict, body string, lines ...Line) {
	t.Helper()
	var comments []map[string]any
	for _, l := range lines {
		comments = append(comments, map[string]any{"path": l.Path, "new_position": l.Line, "body": l.Body})
	}
	event := map[work.PullVerdict]string{work.PullApproved: "APPROVED", work.PullChangesRequested: "REQUEST_CHANGES", work.PullCommented: "COMMENT"}[verdict]
	p.do(t, who, http.MethodPost, fmt.Sprintf("/pulls/%d/reviews", number), map[string]any{"event": event, "body": body, "commit_id": head, "comments": comments}, nil)
}

func (p giteaPeople) Say(t testing.TB, who string, number int64, body string) {
	t.Helper()
	p.do(t, who, http.MethodPost, fmt.Sprintf("/issues/%d/comments", number), map[string]any{"body": body}, nil)
}

func (p giteaPeople) Dismiss(t testing.TB, number int64, review string) {
	t.Helper()
	p.do(t, "owner", http.MethodPost, fmt.Sprintf("/pulls/%d/reviews/%s/dismissals", number, review), map[string]any{"message": "not now"}, nil)
}

func (p giteaPeople) Resolve(t testing.TB, _ int64, thread string) {
	t.Helper()
	p.do(t, "ann", http.MethodPost, "/pulls/comments/"+thread+"/resolve", nil, nil)
}

func (p giteaPeople) OpenIssue(t testing.TB, title, body string) int64 {
	t.Helper()
	var made struct{ Number int64 }
	p.do(t, "ann", http.MethodPost, "/issues", map[string]any{"title": title, "body": body}, &made)
	return made.Number
}

func (p giteaPeople) Rewrite(t testing.TB, number int64, body string) {
	t.Helper()
	p.do(t, "owner", http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]any{"body": body}, nil)
}

func (p giteaPeople) Close(t testing.TB, number int64) {
	t.Helper()
	p.do(t, "owner", http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]any{"state": "closed"}, nil)
}

func (p giteaPeople) Reopen(t testing.TB, number int64) {
	t.Helper()
	p.do(t, "owner", http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]any{"state": "open"}, nil)
}

func (p giteaPeople) Retarget(t testing.TB, who string, number int64, base string) {
	t.Helper()
	p.do(t, who, http.MethodPatch, fmt.Sprintf("/pulls/%d", number), map[string]any{"base": base}, nil)
}

func (p giteaPeople) MergeByHand(t testing.TB, number int64) {
	t.Helper()
	for range 100 {
		status, _ := p.g.Try(t, p.g.Tokens["owner"], http.MethodPost, fmt.Sprintf("%s/pulls/%d/merge", p.repo, number), map[string]any{"Do": "squash"})
		if status < 300 {
			return
		}
		pause(t)
	}
	t.Fatal("the pull request cannot be merged by hand")
}

func (p giteaPeople) Protect(t testing.TB, branch string, approvals int, check string) {
	t.Helper()
	rule := map[string]any{"rule_name": branch, "required_approvals": approvals, "enable_push": true}
	if check != "" {
		rule["enable_status_check"], rule["status_check_contexts"] = true, []string{check}
	}
	p.do(t, "owner", http.MethodPost, "/branch_protections", rule, nil)
}

func (p giteaPeople) Status(t testing.TB, commit, check, state string) {
	t.Helper()
	p.do(t, "owner", http.MethodPost, "/statuses/"+commit, map[string]any{"context": check, "state": state}, nil)
}

func (p giteaPeople) Archive(t testing.TB) {
	t.Helper()
	p.do(t, "owner", http.MethodPatch, "", map[string]any{"archived": true}, nil)
}

func (p giteaPeople) Remove(t testing.TB, who string) {
	t.Helper()
	p.do(t, "owner", http.MethodDelete, "/collaborators/"+who, nil, nil)
}
