//go:build real

package gitea_test

import (
	"fmt"
	"testing"

	"forge/factory/tracker"
	"forge/internal/host/hosttest"
	"forge/internal/tracker/gitea"
	"forge/internal/tracker/trackertest"
)

// TestRealGiteaTracker holds the adapter against a real server.
func TestRealGiteaTracker(t *testing.T) {
	g := hosttest.StartGitea(t)
	p := people{g: g, tokens: map[string]string{}}
	for _, who := range []string{trackertest.Owner, trackertest.Writer, trackertest.Reader} {
		p.tokens[who] = g.User(t, who)
	}
	g.Do(t, p.tokens[trackertest.Owner], "POST", "/user/repos", map[string]any{"name": "work", "auto_init": true}, nil)
	p.do(t, trackertest.Owner, "PUT", "/collaborators/"+trackertest.Writer, map[string]any{"permission": "write"}, nil)
	var label struct{ ID int64 }
	p.do(t, trackertest.Owner, "POST", "/labels", map[string]any{"name": trackertest.Label, "color": "#00ff00"}, &label)
	p.label = label.ID

	tr, err := gitea.New(gitea.Config{URL: g.URL, Owner: trackertest.Owner, Repo: "work", Token: p.tokens[trackertest.Owner]})
	if err != nil {
		t.Fatal(err)
	}
	trackertest.Run(t, trackertest.World{Tracker: tr, People: p})
}

// people use the API with their own tokens.
type people struct {
	g      *hosttest.Gitea
	tokens map[string]string
	label  int64
}

var _ trackertest.People = people{}

func (p people) do(t testing.TB, who, method, path string, in, out any) {
	t.Helper()
	p.g.Do(t, p.tokens[who], method, "/repos/owner/work"+path, in, out)
}

func (p people) issue(t testing.TB, who, method string, n int64, path string, in, out any) {
	t.Helper()
	p.do(t, who, method, fmt.Sprintf("/issues/%d%s", n, path), in, out)
}

func (p people) set(t testing.TB, who string, n int64, field string, value any) {
	t.Helper()
	p.issue(t, who, "PATCH", n, "", map[string]any{field: value}, nil)
}

func (p people) Open(t testing.TB, who, title, body string) int64 {
	t.Helper()
	var i struct{ Number int64 }
	p.do(t, who, "POST", "/issues", map[string]any{"title": title, "body": body}, &i)
	return i.Number
}

func (p people) Say(t testing.TB, who string, n int64, body string) {
	t.Helper()
	p.issue(t, who, "POST", n, "/comments", map[string]any{"body": body}, nil)
}

func (p people) Title(t testing.TB, who string, n int64, title string) {
	t.Helper()
	p.set(t, who, n, "title", title)
}

func (p people) Body(t testing.TB, who string, n int64, body string) {
	t.Helper()
	p.set(t, who, n, "body", body)
}

func (p people) Label(t testing.TB, who string, n int64) {
	t.Helper()
	p.issue(t, who, "POST", n, "/labels", map[string]any{"labels": []int64{p.label}}, nil)
}

func (p people) Unlabel(t testing.TB, who string, n int64) {
	t.Helper()
	p.issue(t, who, "DELETE", n, fmt.Sprintf("/labels/%d", p.label), nil, nil)
}

func (p people) Assign(t testing.TB, who string, n int64, whom string) {
	t.Helper()
	p.set(t, who, n, "assignees", []string{whom})
}

func (p people) Close(t testing.TB, who string, n int64) {
	t.Helper()
	p.set(t, who, n, "state", "closed")
}

func (p people) Reopen(t testing.TB, who string, n int64) {
	t.Helper()
	p.set(t, who, n, "state", "open")
}

func (p people) Block(t testing.TB, n, by int64) {
	t.Helper()
	p.issue(t, trackertest.Writer, "POST", n, "/dependencies", map[string]any{"owner": "owner", "repo": "work", "index": by}, nil)
}

func (p people) Lock(t testing.TB, n int64, locked bool) {
	t.Helper()
	if locked {
		p.issue(t, trackertest.Owner, "PUT", n, "/lock", map[string]any{"lock_reason": "off-topic"}, nil)
		return
	}
	p.issue(t, trackertest.Owner, "DELETE", n, "/lock", nil, nil)
}

func (p people) Delete(t testing.TB, n int64) {
	t.Helper()
	p.issue(t, trackertest.Owner, "DELETE", n, "", nil, nil)
}

func (p people) Comments(t testing.TB, n int64) (all []tracker.Comment) {
	t.Helper()
	var said []struct {
		Body string
		User struct{ Login string }
	}
	p.issue(t, trackertest.Owner, "GET", n, "/comments", nil, &said)
	for _, c := range said {
		all = append(all, tracker.Comment{By: c.User.Login, Body: c.Body})
	}
	return all
}

func (p people) Closed(t testing.TB, n int64) bool {
	t.Helper()
	var i struct{ State string }
	p.issue(t, trackertest.Owner, "GET", n, "", nil, &i)
	return i.State == "closed"
}
