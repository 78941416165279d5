package trackertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// GitLab answers as GitLab documents it about the issues of the project of
// GitLabProject. What is not documented is not found, and a question with a parameter
// that is not documented is a wrong one.
type GitLab struct {
	book
	URL string
	// Old is of a server that does not tell when a text was edited.
	Old bool
	// Untold is of a server that writes no note of a text that was edited.
	Untold bool
	signs  map[string]bool
}

// GitLabProject is in a group of a group.
const GitLabProject = "group/sub/work"

// StartGitLab ends the server with the test.
func StartGitLab(t testing.TB) *GitLab {
	g := &GitLab{book: newBook(), signs: map[string]bool{}}
	on := httptest.NewServer(g)
	t.Cleanup(on.Close)
	g.URL = on.URL
	return g
}

// gitlabQueries are the parameters of each question.
func gitlabQueries() map[string]string {
	const paged = " page per_page"
	return map[string]string{
		"GET issues": "scope state order_by sort updated_after updated_before labels" + paged, "GET issue": "", "PUT issue": "", "GET issue notes": "sort order_by activity_filter" + paged,
		"POST issue notes": "", "PUT issue notes": "", "GET issue resource_label_events": paged, "GET issue resource_state_events": paged, "GET issue links": paged,
		"POST issue notes award_emoji": "", "GET issue notes award_emoji": paged, "GET members": "", "GET user": "", "GET ": "",
	}
}

func gitlabSchema() schema {
	return schema{
		"Query": "workItem(id):WorkItem", "WorkItem": "id widgets:WorkItemWidget", "WorkItemWidget": "type",
		"WorkItemWidgetDescription": "type description lastEditedAt lastEditedBy:UserCore edited", "UserCore": "id username",
	}
}

// ServeHTTP answers the requests of an adapter.
func (g *GitLab) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if g.failed(w) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+g.Token {
		gitlabError(w, http.StatusUnauthorized, "401 Unauthorized")
		return
	}
	if r.URL.Path == "/api/graphql" {
		graphServer{schema: gitlabSchema(), roots: map[string]object{"query": {"workItem": lazy(g.workItem)}}, invalid: http.StatusOK}.serve(w, r)
		return
	}
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4/")
	at := strings.Split(path, "/")
	what := r.Method + " " + at[0]
	if at[0] == "projects" && len(at) > 1 {
		if at[1] != strings.ReplaceAll(GitLabProject, "/", "%2F") {
			gitlabError(w, http.StatusNotFound, "404 Project Not Found")
			return
		}
		at = at[2:]
		what = r.Method + " " + strings.Join(at[:min(len(at), 1)], "")
		if len(at) > 1 && at[0] == "issues" {
			what = r.Method + " issue"
			for _, p := range at[2:] {
				if _, err := strconv.Atoi(p); err != nil {
					what += " " + p
				}
			}
		}
	}
	params, documented := gitlabQueries()[what]
	for name := range r.URL.Query() {
		documented = documented && slices.Contains(strings.Fields(params), name)
	}
	switch {
	case !ok, !documented:
		gitlabError(w, http.StatusBadRequest, "this is not documented: "+what+"?"+r.URL.RawQuery)
	case what == "GET user":
		answer(w, http.StatusOK, gitlabUser(Owner))
	case what == "GET ":
		answer(w, http.StatusOK, object{"id": 1, "path_with_namespace": GitLabProject, "issues_access_level": "enabled"})
	case what == "GET issues":
		g.list(w, r)
	case what == "GET members":
		level := map[string]int{"1": 50, "2": 30, "3": 20}[at[len(at)-1]]
		if len(at) != 3 || at[1] != "all" || level == 0 {
			gitlabError(w, http.StatusNotFound, "404 Not found")
			return
		}
		answer(w, http.StatusOK, object{"access_level": level, "state": "active"})
	default:
		n, _ := strconv.ParseInt(at[1], 10, 64)
		e := g.find(n)
		if e == nil {
			gitlabError(w, http.StatusNotFound, "404 Not found")
			return
		}
		g.issueAt(w, r, e, what, at)
	}
}

func gitlabError(w http.ResponseWriter, status int, what string) {
	answer(w, status, map[string]any{"message": what})
}

func gitlabUser(name string) object {
	if name == "" {
		return nil
	}
	return object{"id": map[string]int{Owner: 1, Writer: 2, Reader: 3}[name], "username": name, "name": "The " + name}
}

// paged answers a page of a list. Which page is next is told, where there is one.
func gitlabPage[T any](g *GitLab, w http.ResponseWriter, r *http.Request, all []T) {
	size, at := 20, 1
	if n, err := strconv.Atoi(r.URL.Query().Get("per_page")); err == nil && n > 0 && n <= 100 {
		size = n
	}
	if g.most > 0 {
		size = min(size, g.most)
	}
	if n, err := strconv.Atoi(r.URL.Query().Get("page")); err == nil {
		at = n
	}
	some, more := part(&g.book, all, (at-1)*size, size)
	if w.Header().Set("X-Next-Page", ""); more {
		w.Header().Set("X-Next-Page", strconv.Itoa(at+1))
	}
	answer(w, http.StatusOK, append([]T{}, some...))
}

func (g *GitLab) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since, err := time.Parse(time.RFC3339Nano, query.Get("updated_after"))
	if err != nil && query.Get("updated_after") != "" || query.Get("order_by") != "updated_at" || query.Get("sort") != "asc" {
		gitlabError(w, http.StatusBadRequest, "updated_after is invalid")
		return
	}
	var all []object
	for _, e := range g.changedSince(since) {
		if query.Get("state") != "opened" || isOpen(e.state) {
			all = append(all, g.issue(e))
		}
	}
	gitlabPage(g, w, r, all)
}

func gitlabState(state string) string {
	return map[bool]string{true: "opened", false: "closed"}[isOpen(state)]
}

func (g *GitLab) issue(e *entry) object {
	labels, assignees := []string{}, []object{}
	if e.label {
		labels = append(labels, Label)
	}
	if e.assignee != "" {
		assignees = append(assignees, gitlabUser(e.assignee))
	}
	out := object{
		"id": e.number + 1000, "iid": e.number, "title": e.title, "description": e.body, "state": gitlabState(e.state), "created_at": gitlabTime(e.opened),
		"updated_at": gitlabTime(e.updated), "closed_at": nil, "labels": labels, "author": gitlabUser(e.author), "assignees": assignees, "discussion_locked": nil,
		"moved_to_id": nil, "web_url": fmt.Sprintf("%s/%s/-/issues/%d", g.URL, GitLabProject, e.number), "references": object{"full": fmt.Sprintf("%s#%d", GitLabProject, e.number)},
	}
	if e.locked {
		out["discussion_locked"] = true
	}
	if e.moved {
		out["moved_to_id"], out["state"] = 4711, "closed"
	}
	if !isOpen(e.state) {
		out["closed_at"] = gitlabTime(e.ended)
	}
	return out
}

func gitlabTime(at time.Time) string {
	return at.In(time.FixedZone("", 3600)).Format("2006-01-02T15:04:05.000-07:00")
}

func (g *GitLab) issueAt(w http.ResponseWriter, r *http.Request, e *entry, what string, at []string) {
	var in map[string]string
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			gitlabError(w, http.StatusBadRequest, err.Error())
			return
		}
	}
	events := func(of string, show func(deed, object)) {
		all := []object{}
		if of == ofLabel && e.label && !slices.ContainsFunc(e.log, func(d deed) bool { return d.what == ofLabel }) {
			// An issue that is opened with a label has an event of it.
			all = append(all, object{"user": gitlabUser(e.author), "created_at": gitlabTime(e.opened), "action": "add", "label": object{"name": Label}})
		}
		for _, d := range e.log {
			if d.what == of {
				one := object{"id": d.id, "user": gitlabUser(d.by), "created_at": gitlabTime(d.at)}
				show(d, one)
				all = append(all, one)
			}
		}
		gitlabPage(g, w, r, all)
	}
	switch what {
	case "GET issue":
		answer(w, http.StatusOK, g.issue(e))
	case "PUT issue":
		if in["state_event"] == "close" && isOpen(e.state) {
			g.touch(e)
			g.goTo(e, Owner, stateDone)
		}
		answer(w, http.StatusOK, g.issue(e))
	case "GET issue resource_label_events":
		events(ofLabel, func(d deed, one object) {
			one["label"] = object{"name": Label}
			one["action"] = map[bool]string{true: "add", false: "remove"}[d.from == ""]
		})
	case "GET issue resource_state_events":
		events(ofState, func(d deed, one object) {
			one["state"] = map[bool]string{true: "reopened", false: "closed"}[isOpen(d.to)]
		})
	case "GET issue links":
		all := []object{}
		for _, b := range e.blockers {
			one := g.issue(b)
			one["link_type"] = "is_blocked_by"
			all = append(all, one)
		}
		gitlabPage(g, w, r, all)
	case "GET issue notes":
		gitlabPage(g, w, r, g.notes(e))
	case "POST issue notes":
		answer(w, http.StatusCreated, gitlabNote(g.remarked(e, Owner, "", in["body"])))
	default:
		g.noteAt(w, r, e, what, at[3], in)
	}
}

func (g *GitLab) noteAt(w http.ResponseWriter, r *http.Request, e *entry, what, id string, in map[string]string) {
	n := slices.IndexFunc(e.remarks, func(c *remark) bool { return fmt.Sprint(c.id) == id })
	if n < 0 {
		gitlabError(w, http.StatusNotFound, "404 Not found")
		return
	}
	switch what {
	case "PUT issue notes":
		g.touch(e)
		e.remarks[n].body = in["body"]
		answer(w, http.StatusOK, gitlabNote(e.remarks[n]))
	case "POST issue notes award_emoji":
		if g.signs[id+in["name"]] {
			gitlabError(w, http.StatusNotFound, "404 Award Emoji Name has already been taken Not Found")
			return
		}
		g.signs[id+in["name"]] = true
		answer(w, http.StatusCreated, object{"name": in["name"]})
	default:
		all := []object{}
		if g.signs[id+"eyes"] {
			all = append(all, object{"name": "eyes", "user": gitlabUser(Owner)})
		}
		gitlabPage(g, w, r, all)
	}
}

func gitlabNote(c *remark) object {
	return object{"id": c.id, "body": c.body, "author": gitlabUser(c.by), "created_at": gitlabTime(c.at), "system": false, "internal": strings.HasPrefix(c.body, "(internal)")}
}

// notes are an issue's comments, and what GitLab says that people did, by time.
func (g *GitLab) notes(e *entry) []object {
	type timed struct {
		at  time.Time
		one object
	}
	var all []timed
	for _, c := range e.remarks {
		all = append(all, timed{c.at, gitlabNote(c)})
	}
	for _, d := range e.log {
		said := map[string]string{ofTitle: "changed title from **{-" + d.from + "-}** to **{+" + d.to + "+}**", ofBody: "changed the description", ofAssignee: "assigned to @" + d.to}[d.what]
		if d.what == ofAssignee && d.from != "" {
			said += " and unassigned @" + d.from
		}
		if said == "" || d.what == ofBody && g.Untold {
			continue
		}
		all = append(all, timed{d.at, object{"id": 100000 + d.id, "body": said, "author": gitlabUser(d.by), "created_at": gitlabTime(d.at.Add(time.Millisecond)), "system": true}})
	}
	slices.SortStableFunc(all, func(a, b timed) int { return a.at.Compare(b.at) })
	out := []object{}
	for _, one := range all {
		out = append(out, one.one)
	}
	return out
}

// workItem is an issue by its id, with the one of its parts that is asked for.
func (g *GitLab) workItem(args object) (any, error) {
	if g.Old {
		return nil, fmt.Errorf("Field 'workItem' doesn't exist on type 'Query'")
	}
	for _, e := range g.issues {
		if args["id"] != fmt.Sprintf("gid://gitlab/WorkItem/%d", e.number+1000) {
			continue
		}
		widget := object{"__typename": "WorkItemWidgetDescription", "type": "DESCRIPTION", "lastEditedAt": nil}
		for _, d := range e.log {
			if d.what == ofTitle || d.what == ofBody {
				widget["lastEditedAt"] = gitlabTime(d.at)
			}
		}
		return object{"id": args["id"], "widgets": []object{{"__typename": "WorkItemWidgetAssignees"}, widget}}, nil
	}
	return object(nil), nil
}
