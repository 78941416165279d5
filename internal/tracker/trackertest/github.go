package trackertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"forge/factory/tracker"
)

// GitHub answers as GitHub documents it about the issues of the repository
// owner/work, asked with the token of the owner. A second passes with all that
// happens.
type GitHub struct {
	URL   string
	Token string

	mu     sync.Mutex
	clock  time.Time
	issues []*ghIssue
	last   int64
}

type ghIssue struct {
	number               int64
	title, body, author  string
	label, closed        bool
	locked, deleted      bool
	opened, updated, end time.Time
	assignees            []string
	edits                []ghEdit
	events               []map[string]any
	comments             []*ghComment
	blockers             []*ghIssue
}

type ghEdit struct {
	by string
	at time.Time
}

type ghComment struct {
	id   int64
	by   string
	body string
}

// StartGitHub ends the server with the test.
func StartGitHub(t testing.TB) *GitHub {
	g := &GitHub{Token: "token-of-the-owner", clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	on := httptest.NewServer(g)
	t.Cleanup(on.Close)
	g.URL = on.URL
	return g
}

// ServeHTTP answers the requests of an adapter.
func (g *GitHub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Header.Get("Authorization") != "Bearer "+g.Token {
		answer(w, http.StatusUnauthorized, map[string]any{"message": "Bad credentials"})
		return
	}
	var body map[string]any
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			answer(w, http.StatusBadRequest, map[string]any{"message": "Problems parsing JSON"})
			return
		}
	}
	path, below := strings.CutPrefix(r.URL.Path, "/repos/owner/work/")
	switch {
	case r.URL.Path == "/graphql":
		g.graph(w, body)
	case r.URL.Path == "/user":
		answer(w, http.StatusOK, account(Owner))
	case below:
		g.rest(w, r, strings.Split(path, "/"), body)
	default:
		notFound(w)
	}
}

// rest answers below the repository.
func (g *GitHub) rest(w http.ResponseWriter, r *http.Request, at []string, body map[string]any) {
	text, _ := body["body"].(string)
	switch {
	case at[0] == "issues" && len(at) == 1:
		g.list(w, r)
	case at[0] == "collaborators" && len(at) == 3:
		right, ok := map[string]string{Owner: "admin", Writer: "write", Reader: "read"}[at[1]]
		if !ok {
			notFound(w)
			return
		}
		answer(w, http.StatusOK, map[string]any{"permission": right})
	case at[0] == "issues" && at[1] == "comments" && len(at) == 3:
		for _, i := range g.issues {
			for _, c := range i.comments {
				if fmt.Sprint(c.id) == at[2] {
					c.body = text
					g.touch(i)
					answer(w, http.StatusOK, shown(c))
					return
				}
			}
		}
		notFound(w)
	case at[0] == "issues" && at[1] == "comments" && len(at) == 4 && at[3] == "reactions":
		for _, i := range g.issues {
			for _, c := range i.comments {
				if fmt.Sprint(c.id) == at[2] {
					answer(w, http.StatusCreated, map[string]any{"content": body["content"]})
					return
				}
			}
		}
		notFound(w)
	case at[0] == "issues":
		i := g.find(at[1])
		if i == nil {
			notFound(w)
			return
		}
		g.one(w, r, i, strings.Join(at[2:], "/"), body)
	default:
		notFound(w)
	}
}

// one answers about an issue.
func (g *GitHub) one(w http.ResponseWriter, r *http.Request, i *ghIssue, what string, body map[string]any) {
	text, _ := body["body"].(string)
	switch r.Method + " " + what {
	case "GET comments":
		var all []map[string]any
		for _, c := range i.comments {
			all = append(all, shown(c))
		}
		answer(w, http.StatusOK, page(r, all))
	case "POST comments":
		answer(w, http.StatusCreated, shown(g.comment(i, Owner, text)))
	case "PATCH ":
		if body["state"] == "closed" {
			g.shut(i)
		}
		answer(w, http.StatusOK, map[string]any{"number": i.number})
	case "GET dependencies/blocked_by":
		var all []map[string]any
		for _, b := range i.blockers {
			all = append(all, map[string]any{"number": b.number, "state": strings.ToLower(b.state()), "repository_url": g.URL + "/repos/owner/work"})
		}
		answer(w, http.StatusOK, page(r, all))
	default:
		notFound(w)
	}
}

// list answers what changed since a time, that second included.
func (g *GitHub) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since, err := time.Parse(time.RFC3339, query.Get("since"))
	if err != nil && query.Get("since") != "" || query.Get("sort") != "updated" || query.Get("direction") != "asc" {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"message": "Validation Failed"})
		return
	}
	var all []*ghIssue
	for _, i := range g.issues {
		if !i.deleted && !i.updated.Before(since) && (query.Get("state") == "all" || !i.closed) {
			all = append(all, i)
		}
	}
	slices.SortStableFunc(all, func(a, b *ghIssue) int { return a.updated.Compare(b.updated) })
	var shown []map[string]any
	tag := `"` + r.URL.RawQuery
	for _, i := range all {
		shown = append(shown, map[string]any{"number": i.number, "updated_at": i.updated.Format(time.RFC3339)})
		tag += fmt.Sprintf(" %d@%d", i.number, i.updated.Unix())
	}
	w.Header().Set("ETag", tag+`"`)
	if r.Header.Get("If-None-Match") == tag+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	answer(w, http.StatusOK, page(r, shown))
}

// graph answers the one question of the adapter: an issue with a page of its
// timeline.
func (g *GitHub) graph(w http.ResponseWriter, body map[string]any) {
	asked, _ := body["variables"].(map[string]any)
	repository := map[string]any{"nameWithOwner": "owner/work", "hasIssuesEnabled": true, "kind": nil, "issue": nil}
	data := map[string]any{"viewer": account(Owner), "repository": repository}
	i := g.find(fmt.Sprint(asked["number"]))
	if i == nil {
		answer(w, http.StatusOK, map[string]any{"data": data, "errors": []any{map[string]any{"type": "NOT_FOUND", "message": "Could not resolve to an issue"}}})
		return
	}
	after, _ := asked["after"].(string)
	from, _ := strconv.Atoi(after) // "" is the beginning
	to := min(from+100, len(i.events))
	var names, edits, assignees []any
	if i.label {
		names = append(names, map[string]any{"name": Label})
	}
	for _, e := range i.edits {
		edits = append(edits, map[string]any{"editedAt": stamp(e.at), "editor": account(e.by)})
	}
	for _, who := range i.assignees {
		assignees = append(assignees, account(who))
	}
	issue := map[string]any{
		"number": i.number, "url": fmt.Sprintf("%s/owner/work/issues/%d", g.URL, i.number), "title": i.title, "body": i.body, "state": i.state(),
		"closedAt": nil, "locked": i.locked, "lastEditedAt": nil, "author": account(i.author), "repository": map[string]any{"nameWithOwner": "owner/work"},
		"labels": nodes(names), "assignees": nodes(assignees), "userContentEdits": map[string]any{"totalCount": len(edits), "nodes": edits},
		"timelineItems": map[string]any{"nodes": i.events[from:to], "pageInfo": map[string]any{"hasNextPage": to < len(i.events), "endCursor": strconv.Itoa(to)}},
	}
	if i.closed {
		issue["closedAt"] = stamp(i.end)
	}
	if n := len(i.edits); n > 0 {
		issue["lastEditedAt"] = stamp(i.edits[n-1].at)
	}
	repository["issue"], repository["kind"] = issue, map[string]any{"__typename": "Issue"}
	answer(w, http.StatusOK, map[string]any{"data": data})
}

// Open is as of People.
func (g *GitHub) Open(_ testing.TB, who, title, body string) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := &ghIssue{number: int64(len(g.issues)) + 1, title: title, body: body, author: who}
	g.issues = append(g.issues, i)
	g.touch(i)
	i.opened = i.updated
	return i.number
}

// change does something to an issue, a second later.
func (g *GitHub) change(t testing.TB, n int64, do func(i *ghIssue, now time.Time)) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	i := g.find(fmt.Sprint(n))
	if i == nil {
		t.Fatalf("there is no issue %d", n)
	}
	g.touch(i)
	do(i, g.clock)
}

// Say is as of People.
func (g *GitHub) Say(t testing.TB, who string, n int64, body string) {
	g.change(t, n, func(i *ghIssue, _ time.Time) { g.comment(i, who, body) })
}

// Title is as of People.
func (g *GitHub) Title(t testing.TB, who string, n int64, title string) {
	g.change(t, n, func(i *ghIssue, now time.Time) {
		i.title = title
		i.happened("RenamedTitleEvent", who, now, nil)
	})
}

// Body is as of People. With the first edit GitHub lists the text as it was at
// first, too.
func (g *GitHub) Body(t testing.TB, who string, n int64, body string) {
	g.change(t, n, func(i *ghIssue, now time.Time) {
		if len(i.edits) == 0 {
			i.edits = append(i.edits, ghEdit{i.author, i.opened})
		}
		i.body = body
		i.edits = append(i.edits, ghEdit{who, now})
	})
}

// Label is as of People.
func (g *GitHub) Label(t testing.TB, who string, n int64) {
	g.change(t, n, func(i *ghIssue, now time.Time) {
		if !i.label {
			i.label = true
			i.happened("LabeledEvent", who, now, map[string]any{"label": map[string]any{"name": Label}})
		}
	})
}

// Unlabel is as of People.
func (g *GitHub) Unlabel(t testing.TB, who string, n int64) {
	g.change(t, n, func(i *ghIssue, now time.Time) {
		i.label = false
		i.happened("UnlabeledEvent", who, now, map[string]any{"label": map[string]any{"name": Label}})
	})
}

// Assign is as of People.
func (g *GitHub) Assign(t testing.TB, who string, n int64, whom string) {
	g.change(t, n, func(i *ghIssue, now time.Time) {
		i.assignees = []string{whom}
		i.happened("AssignedEvent", who, now, map[string]any{"assignee": account(whom)})
	})
}

// Close is as of People.
func (g *GitHub) Close(t testing.TB, _ string, n int64) {
	g.change(t, n, func(i *ghIssue, _ time.Time) { g.shut(i) })
}

// Reopen is as of People.
func (g *GitHub) Reopen(t testing.TB, who string, n int64) {
	g.change(t, n, func(i *ghIssue, now time.Time) {
		i.closed = false
		i.happened("ReopenedEvent", who, now, nil)
	})
}

// Block is as of People.
func (g *GitHub) Block(t testing.TB, n, by int64) {
	g.change(t, n, func(i *ghIssue, _ time.Time) { i.blockers = append(i.blockers, g.find(fmt.Sprint(by))) })
}

// Lock is as of People.
func (g *GitHub) Lock(t testing.TB, n int64, locked bool) {
	g.change(t, n, func(i *ghIssue, _ time.Time) { i.locked = locked })
}

// Delete is as of People.
func (g *GitHub) Delete(t testing.TB, n int64) {
	g.change(t, n, func(i *ghIssue, _ time.Time) { i.deleted = true })
}

// Comments is as of People.
func (g *GitHub) Comments(t testing.TB, n int64) (all []tracker.Comment) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.find(fmt.Sprint(n)).comments {
		all = append(all, tracker.Comment{By: c.by, Body: c.body})
	}
	return all
}

// Closed is as of People.
func (g *GitHub) Closed(t testing.TB, n int64) bool {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.find(fmt.Sprint(n)).closed
}

func (g *GitHub) find(number string) *ghIssue {
	for _, i := range g.issues {
		if fmt.Sprint(i.number) == number && !i.deleted {
			return i
		}
	}
	return nil
}

func (g *GitHub) touch(i *ghIssue) {
	g.clock = g.clock.Add(time.Second)
	i.updated = g.clock
}

func (g *GitHub) shut(i *ghIssue) {
	if !i.closed {
		g.touch(i)
		i.closed, i.end = true, g.clock
	}
}

func (g *GitHub) comment(i *ghIssue, who, body string) *ghComment {
	g.touch(i)
	g.last++
	c := &ghComment{g.last, who, body}
	i.comments = append(i.comments, c)
	i.events = append(i.events, map[string]any{"__typename": "IssueComment", "createdAt": stamp(g.clock), "author": account(who), "body": body, "databaseId": c.id})
	return c
}

func (i *ghIssue) happened(what, who string, at time.Time, more map[string]any) {
	e := map[string]any{"__typename": what, "createdAt": stamp(at), "actor": account(who)}
	for k, v := range more {
		e[k] = v
	}
	i.events = append(i.events, e)
}

func (i *ghIssue) state() string {
	if i.closed {
		return "CLOSED"
	}
	return "OPEN"
}

func shown(c *ghComment) map[string]any {
	return map[string]any{"id": c.id, "body": c.body, "user": account(c.by)}
}

func account(name string) map[string]any { return map[string]any{"login": name} }

func nodes(all []any) map[string]any { return map[string]any{"nodes": all} }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// page is the part of a list that was asked for.
func page(r *http.Request, all []map[string]any) []map[string]any {
	size, at := 30, 1
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil && n > 0 && n <= 100 {
		size = n
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("page")); err == nil && n > 0 {
		at = n
	}
	from := min((at-1)*size, len(all))
	return append([]map[string]any{}, all[from:min(from+size, len(all))]...)
}

func answer(w http.ResponseWriter, status int, v any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // who has gone hears nothing
}

func notFound(w http.ResponseWriter) {
	answer(w, http.StatusNotFound, map[string]any{"message": "Not Found"})
}
