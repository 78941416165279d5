package hosttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// GitLabProject is the project of GitLab, in a group of a group.
const GitLabProject = "octo/sub/repo"

// GitLab behaves as the documented API of GitLab does, for one project with real git
// behind it. It is as much of GitLab as Forge asks. A second passes with all that
// happens.
type GitLab struct {
	URL string
	repo

	mu        sync.Mutex
	clock     time.Time
	tokens    map[string]string // → account
	scopes    map[string][]string
	levels    map[string]int
	merges    []*glMerge
	statuses  map[string][]map[string]any // by commit, the oldest first
	hooks     []map[string]any
	protected map[string]int // approvals, by branch
	onlyGreen bool
	archived  bool
	last      int
	// traces are logs of jobs.
	traces map[int]string
}

type glMerge struct {
	iid                             int
	title, description, author      string
	source, target, head            string
	state, merged, squashed, merger string
	updated                         time.Time
	asked                           bool // how it can be merged was asked for once
	versions                        []glVersion
	discussions                     []*glDiscussion
	approved, requested             map[string]time.Time
}

type glVersion struct {
	id         int
	head, base string
	at         time.Time
}

type glDiscussion struct {
	id    string
	notes []map[string]any
}

// StartGitLab starts one with the accounts of the suite.
func StartGitLab(t testing.TB) *GitLab {
	t.Helper()
	g := &GitLab{
		repo: newRepo(t), clock: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		tokens: map[string]string{GitHubToken: "forge", GitHubNarrow: "forge"}, scopes: map[string][]string{GitHubToken: {"api"}, GitHubNarrow: {"read_api"}},
		levels:   map[string]int{"forge": 40, "ann": 30, "ben": 30, "eve": 20},
		statuses: map[string][]map[string]any{}, protected: map[string]int{}, traces: map[int]string{},
	}
	server := httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(server.Close)
	g.URL = server.URL
	return g
}

// Pass lets a second pass.
func (g *GitLab) Pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tick()
}

func (g *GitLab) tick() time.Time {
	g.clock = g.clock.Add(time.Second)
	return g.clock
}

func (g *GitLab) id() int { g.last++; return g.last }

func (g *GitLab) touch(m *glMerge) { m.updated = g.tick() }

// refresh looks at the branches, as GitLab does after each push.
func (g *GitLab) refresh() {
	for _, m := range g.merges {
		if at := g.head(m.source); m.state == "opened" && at != "" && at != m.head {
			g.at(m, at)
		}
	}
}

// at is a new state of the branch.
func (g *GitLab) at(m *glMerge, head string) {
	m.head, m.asked = head, false
	g.touch(m)
	base, _ := g.try("merge-base", "refs/heads/"+m.target, head)
	m.versions = append(m.versions, glVersion{g.id(), head, base, g.clock})
}

func glUser(name string) map[string]any {
	return map[string]any{"id": slices.Index([]string{"", "forge", "ann", "ben", "eve"}, name), "username": name}
}

func glTime(at time.Time) string { return at.Format("2006-01-02T15:04:05.000Z07:00") }

func (g *GitLab) note(who, body string, system bool) map[string]any {
	return map[string]any{"id": g.id(), "type": nil, "body": body, "author": glUser(who), "created_at": glTime(g.clock), "system": system, "internal": false, "resolved": false}
}

// alone is a note that is a discussion of its own.
func (g *GitLab) alone(m *glMerge, who, body string, system bool) map[string]any {
	n := g.note(who, body, system)
	m.discussions = append(m.discussions, &glDiscussion{fmt.Sprintf("%040x", n["id"]), []map[string]any{n}})
	return n
}

func glError(w http.ResponseWriter, status int, what any) {
	say(w, status, map[string]any{"message": what})
}

func (g *GitLab) serve(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	root := "/" + GitLabProject + ".git"
	if strings.Contains(req.URL.Path, ".git/") {
		user, password, _ := req.BasicAuth()
		switch {
		case user != "oauth2" || g.tokens[password] == "":
			w.Header().Set("WWW-Authenticate", "Basic")
			http.Error(w, "HTTP Basic: Access denied.", http.StatusUnauthorized)
		case !strings.HasPrefix(req.URL.Path, root+"/"):
			http.Error(w, "The project you were looking for could not be found.", http.StatusNotFound)
		case g.archived && strings.Contains(req.URL.RequestURI(), "receive-pack"):
			http.Error(w, "You can't push code to this project because it is archived.", http.StatusForbidden)
		default:
			g.backend(w, req, root)
		}
		return
	}
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	who, known := g.tokens[token]
	w.Header().Set("Date", g.clock.Format(http.TimeFormat))
	path, _ := strings.CutPrefix(req.URL.EscapedPath(), "/api/v4/")
	at := strings.Split(path, "/")
	for n := range at {
		at[n], _ = url.PathUnescape(at[n])
	}
	switch {
	case !known:
		glError(w, http.StatusUnauthorized, "401 Unauthorized")
	case path == "user":
		say(w, http.StatusOK, glUser(who))
	case path == "personal_access_tokens/self":
		say(w, http.StatusOK, map[string]any{"scopes": g.scopes[token]})
	case at[0] != "projects" || len(at) < 2 || at[1] != GitLabProject:
		glError(w, http.StatusNotFound, "404 Project Not Found")
	case g.archived && req.Method != http.MethodGet, req.Method != http.MethodGet && token == GitHubNarrow:
		glError(w, http.StatusForbidden, "403 Forbidden")
	default:
		g.refresh()
		body := map[string]any{}
		_ = json.NewDecoder(req.Body).Decode(&body) // not every request has one
		g.route(w, req, at[2:], who, body)
	}
}

func (g *GitLab) route(w http.ResponseWriter, req *http.Request, at []string, who string, body map[string]any) {
	switch join := req.Method + " " + strings.Join(at, "/"); {
	case len(at) == 0:
		say(w, http.StatusOK, map[string]any{
			"path_with_namespace": GitLabProject, "default_branch": "main", "archived": g.archived, "empty_repo": false, "squash_option": "default_off",
			"merge_requests_access_level": "enabled", "only_allow_merge_if_pipeline_succeeds": g.onlyGreen,
			"permissions": map[string]any{"project_access": map[string]any{"access_level": g.levels[who]}, "group_access": nil},
		})
	case strings.HasPrefix(join, "GET members/all/"):
		n, _ := strconv.Atoi(at[2])
		for name, level := range g.levels {
			if glUser(name)["id"] == n {
				say(w, http.StatusOK, map[string]any{"username": name, "access_level": level, "state": "active"})
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Not found")
	case join == "GET approval_rules":
		var all []map[string]any
		for name, n := range g.protected {
			all = append(all, map[string]any{"name": "rule", "approvals_required": n, "protected_branches": []any{map[string]any{"name": name}}})
		}
		g.page(w, req, all)
	case join == "GET repository/compare":
		from, to := req.URL.Query().Get("from"), req.URL.Query().Get("to")
		list, _ := g.try("rev-list", "refs/heads/"+to, "^refs/heads/"+from)
		commits := []map[string]any{}
		for _, id := range strings.Fields(list) {
			commits = append(commits, map[string]any{"id": id})
		}
		say(w, http.StatusOK, map[string]any{"commits": commits})
	case strings.HasPrefix(join, "GET repository/branches/"), strings.HasPrefix(join, "DELETE repository/branches/"):
		name := at[2]
		_, protected := g.protected[name]
		switch id := g.head(name); {
		case id == "":
			glError(w, http.StatusNotFound, "404 Branch Not Found")
		case req.Method == http.MethodGet:
			say(w, http.StatusOK, map[string]any{"name": name, "protected": protected, "commit": map[string]any{"id": id}})
		default:
			_, _ = g.try("update-ref", "-d", "refs/heads/"+name)
			w.WriteHeader(http.StatusNoContent)
		}
	case strings.HasPrefix(join, "GET repository/commits/") && len(at) == 3:
		parents, _ := g.try("show", "-s", "--format=%P", at[2])
		say(w, http.StatusOK, map[string]any{"id": at[2], "parent_ids": strings.Fields(parents)})
	case strings.HasPrefix(join, "GET repository/commits/") && at[3] == "statuses":
		g.page(w, req, slices.Clone(g.statuses[at[2]]))
	case strings.HasPrefix(join, "GET jobs/"):
		n, _ := strconv.Atoi(at[1])
		if log, ok := g.traces[n]; ok {
			fmt.Fprint(w, log)
			return
		}
		glError(w, http.StatusNotFound, "404 Not Found")
	case at[0] == "hooks":
		g.serveHooks(w, req, at, body)
	case join == "GET merge_requests":
		g.list(w, req)
	case join == "POST merge_requests":
		g.create(w, who, body)
	case at[0] == "merge_requests":
		n, _ := strconv.Atoi(at[1])
		if n < 1 || n > len(g.merges) {
			glError(w, http.StatusNotFound, "404 Not found")
			return
		}
		g.mergeAt(w, req, g.merges[n-1], at[2:], who, body)
	default:
		glError(w, http.StatusNotFound, "404 Not Found")
	}
}

// page answers a page of a list, which ends early.
func (g *GitLab) page(w http.ResponseWriter, req *http.Request, all []map[string]any) {
	const most = 7
	at, _ := strconv.Atoi(req.URL.Query().Get("page"))
	size, _ := strconv.Atoi(req.URL.Query().Get("per_page"))
	size = min(max(size, 1), most)
	from := min((max(at, 1)-1)*size, len(all))
	to := min(from+size, len(all))
	if w.Header().Set("X-Next-Page", ""); to < len(all) {
		w.Header().Set("X-Next-Page", strconv.Itoa(max(at, 1)+1))
	}
	say(w, http.StatusOK, append([]map[string]any{}, all[from:to]...))
}

func (g *GitLab) list(w http.ResponseWriter, req *http.Request) {
	q := req.URL.Query()
	since, _ := time.Parse(time.RFC3339Nano, q.Get("updated_after"))
	all := slices.Clone(g.merges)
	slices.SortFunc(all, func(a, b *glMerge) int { return b.updated.Compare(a.updated) })
	var shown []map[string]any
	for _, m := range all {
		if q.Get("state") == "opened" && m.state != "opened" {
			continue
		}
		if !m.updated.Before(since) && (q.Get("source_branch") == "" || q.Get("source_branch") == m.source) {
			shown = append(shown, g.show(m))
		}
	}
	g.page(w, req, shown)
}

func (g *GitLab) create(w http.ResponseWriter, who string, body map[string]any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	for _, m := range g.merges {
		if m.state == "opened" && m.source == text("source_branch") && m.target == text("target_branch") {
			glError(w, http.StatusConflict, []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", m.iid)})
			return
		}
	}
	m := &glMerge{
		iid: len(g.merges) + 1, title: text("title"), description: text("description"), author: who, source: text("source_branch"), target: text("target_branch"), state: "opened",
		approved: map[string]time.Time{}, requested: map[string]time.Time{},
	}
	g.merges = append(g.merges, m)
	g.at(m, g.head(m.source))
	say(w, http.StatusCreated, g.show(m))
}

// status is how it can be merged, in GitLab's word.
func (g *GitLab) status(m *glMerge) string {
	needs, ruled := g.protected[m.target]
	switch {
	case m.state != "opened":
		return "not_open"
	case g.head(m.source) == "":
		return "commits_status"
	case !m.asked:
		m.asked = true
		return "checking"
	case !g.fits(m):
		return "conflict"
	case g.onlyGreen && ruled:
		last := map[string]string{}
		for _, s := range g.statuses[m.head] {
			last[s["name"].(string)] = s["status"].(string)
		}
		for _, s := range last {
			if s == "pending" {
				return "ci_still_running"
			}
		}
		if len(last) == 0 || slices.ContainsFunc(slices.Collect(maps.Values(last)), func(s string) bool { return s != "success" }) {
			return "ci_must_pass"
		}
	}
	if len(m.approved) < needs {
		return "not_approved"
	}
	return "mergeable"
}

func (g *GitLab) fits(m *glMerge) bool {
	_, err := g.try("merge-tree", "--write-tree", "refs/heads/"+m.target, m.head)
	return err == nil
}

func (g *GitLab) show(m *glMerge) map[string]any {
	v := m.versions[len(m.versions)-1]
	out := map[string]any{
		"iid": m.iid, "web_url": fmt.Sprintf("%s/%s/-/merge_requests/%d", g.URL, GitLabProject, m.iid), "title": m.title, "description": m.description, "state": m.state,
		"source_branch": m.source, "target_branch": m.target, "source_project_id": 7, "target_project_id": 7, "sha": m.head, "merge_commit_sha": nil, "squash_commit_sha": nil,
		"author": glUser(m.author), "merge_user": nil, "updated_at": glTime(m.updated), "draft": false, "detailed_merge_status": g.status(m),
		"diff_refs": map[string]any{"base_sha": v.base, "head_sha": v.head, "start_sha": v.base},
	}
	if m.state == "merged" {
		out["merge_commit_sha"], out["squash_commit_sha"], out["merge_user"] = m.merged, m.squashed, glUser(m.merger)
	}
	return out
}

// squash merges as GitLab does where a project also makes merge commits.
func (g *GitLab) squash(m *glMerge, who, message string) bool {
	base := g.head(m.target)
	tree, err := g.try("merge-tree", "--write-tree", base, m.head)
	if err != nil {
		return false
	}
	tree = strings.Fields(tree)[0]
	one, err := g.try("commit-tree", tree, "-p", base, "-m", message)
	if err != nil {
		return false
	}
	two, err := g.try("commit-tree", tree, "-p", base, "-p", one, "-m", message)
	if err != nil {
		return false
	}
	if _, err := g.try("update-ref", "refs/heads/"+m.target, two, base); err != nil {
		return false
	}
	m.state, m.merged, m.squashed, m.merger = "merged", two, one, who
	g.touch(m)
	return true
}

func (g *GitLab) mergeAt(w http.ResponseWriter, req *http.Request, m *glMerge, at []string, who string, body map[string]any) {
	text := func(key string) string { s, _ := body[key].(string); return s }
	switch what := req.Method + " " + strings.Join(at[:min(len(at), 1)], ""); {
	case what == "GET ":
		say(w, http.StatusOK, g.show(m))
	case what == "PUT ":
		if s, ok := body["title"].(string); ok {
			m.title = s
		}
		if s, ok := body["description"].(string); ok {
			m.description = s
		}
		if text("state_event") == "close" {
			m.state = "closed"
		}
		g.touch(m)
		say(w, http.StatusOK, g.show(m))
	case what == "PUT merge":
		m.asked = true
		switch status := g.status(m); {
		case m.state != "opened" || status == "not_approved" || strings.HasPrefix(status, "ci_") || status == "commits_status":
			glError(w, http.StatusMethodNotAllowed, "405 Method Not Allowed")
		case text("sha") != m.head:
			glError(w, http.StatusConflict, "SHA does not match HEAD of source branch: "+m.head)
		case status != "mergeable" || !g.squash(m, who, text("squash_commit_message")):
			glError(w, http.StatusUnprocessableEntity, "Branch cannot be merged")
		default:
			say(w, http.StatusOK, g.show(m))
		}
	case what == "GET approvals":
		by := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(m.approved)) {
			by = append(by, map[string]any{"user": glUser(name), "approved_at": glTime(m.approved[name])})
		}
		say(w, http.StatusOK, map[string]any{"approved_by": by})
	case what == "GET reviewers":
		all := []map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(m.requested)) {
			all = append(all, map[string]any{"user": glUser(name), "state": "requested_changes", "created_at": glTime(m.requested[name])})
		}
		g.page(w, req, all)
	case what == "GET versions" && len(at) == 1:
		var all []map[string]any
		for _, v := range slices.Backward(m.versions) {
			all = append(all, map[string]any{"id": v.id, "head_commit_sha": v.head, "base_commit_sha": v.base, "created_at": glTime(v.at)})
		}
		g.page(w, req, all)
	case what == "GET versions":
		for _, v := range m.versions {
			if fmt.Sprint(v.id) == at[1] {
				say(w, http.StatusOK, map[string]any{"id": v.id, "diffs": g.diffs(v.base, v.head)})
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Not found")
	case what == "GET discussions":
		var all []map[string]any
		for _, d := range m.discussions {
			all = append(all, map[string]any{"id": d.id, "notes": d.notes})
		}
		g.page(w, req, all)
	case what == "GET notes":
		var all []map[string]any
		for _, d := range m.discussions {
			all = append(all, d.notes...)
		}
		slices.SortFunc(all, func(a, b map[string]any) int { return a["id"].(int) - b["id"].(int) })
		g.page(w, req, all)
	case what == "POST notes":
		g.touch(m)
		say(w, http.StatusCreated, g.alone(m, who, text("body"), false))
	case what == "POST discussions" && len(at) == 1:
		place, _ := body["position"].(map[string]any)
		line, _ := place["new_line"].(float64)
		file, _ := place["new_path"].(string)
		v := m.versions[len(m.versions)-1]
		diff, err := g.try("diff", "-U3", v.base, v.head, "--", file)
		if err != nil || place["head_sha"] != v.head || place["position_type"] != "text" || !inHunks(diff, int(line)) {
			glError(w, http.StatusBadRequest, "400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}")
			return
		}
		g.touch(m)
		n := g.alone(m, who, text("body"), false)
		n["type"], n["position"] = "DiffNote", place
		say(w, http.StatusCreated, n)
	case what == "POST discussions":
		for _, d := range m.discussions {
			if d.id == at[1] {
				g.touch(m)
				d.notes = append(d.notes, g.note(who, text("body"), false))
				say(w, http.StatusCreated, d.notes[len(d.notes)-1])
				return
			}
		}
		glError(w, http.StatusNotFound, "404 Discussion Not Found")
	default:
		glError(w, http.StatusNotFound, "404 Not Found")
	}
}

// diffs are the files of a change, each without the lines that git writes above.
func (g *GitLab) diffs(base, head string) []map[string]any {
	names, _ := g.try("diff", "--name-only", base, head)
	all := []map[string]any{}
	for _, name := range strings.Fields(names) {
		diff, _ := g.try("diff", "-U3", base, head, "--", name)
		if at := strings.Index(diff, "\n@@"); at >= 0 {
			diff = diff[at+1:]
		}
		all = append(all, map[string]any{"old_path": name, "new_path": name, "diff": diff + "\n"})
	}
	return all
}

func (g *GitLab) serveHooks(w http.ResponseWriter, req *http.Request, at []string, body map[string]any) {
	n := slices.IndexFunc(g.hooks, func(k map[string]any) bool { return len(at) > 1 && fmt.Sprint(k["id"]) == at[1] })
	switch {
	case len(at) == 1 && req.Method == http.MethodGet:
		g.page(w, req, g.hooks)
	case len(at) == 1:
		k := map[string]any{"id": g.id(), "url": body["url"]}
		g.hooks = append(g.hooks, k)
		say(w, http.StatusCreated, k)
	case n < 0:
		glError(w, http.StatusNotFound, "404 Not found")
	default:
		say(w, http.StatusCreated, g.hooks[n])
	}
}
