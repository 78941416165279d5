package hosttest

import (
	"encoding/json"
	"fmt"
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
	issues []map[string]any // that people opened
	URL    string
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
	trains bool // nothing is to be merged but by the merge train
	train  []glCar
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
		if !strings.HasPrefix(req.Header.Get("Content-Type"), "multipart/") {
			_ = json.NewDecoder(req.Body).Decode(&body) // not every request has one
		}
		g.route(w, req, at[2:], who, body)
	}
}

// upload keeps a file below an address that nobody can guess.
func (g *GitLab) upload(w http.ResponseWriter, req *http.Request) {
	file, header, err := req.FormFile("file")
	if err != nil {
		glError(w, http.StatusBadRequest, "file is missing")
		return
	}
	defer file.Close()
	g.last++
	say(w, http.StatusCreated, map[string]any{"alt": header.Filename, "url": fmt.Sprintf("/uploads/%032x/%s", g.last, header.Filename)})
}

func (g *GitLab) route(w http.ResponseWriter, req *http.Request, at []string, who string, body map[string]any) {
	switch join := req.Method + " " + strings.Join(at, "/"); {
	case len(at) == 0:
		say(w, http.StatusOK, map[string]any{
			"path_with_namespace": GitLabProject, "default_branch": "main", "archived": g.archived, "empty_repo": false, "squash_option": "default_off",
			"merge_requests_access_level": "enabled", "merge_trains_enabled": g.trains, "only_allow_merge_if_pipeline_succeeds": g.onlyGreen,
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
	case join == "POST uploads":
		g.upload(w, req)
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
	case at[0] == "issues" && len(at) == 2:
		n, _ := strconv.Atoi(at[1])
		if n < 1 || n > len(g.issues) {
			glError(w, http.StatusNotFound, "404 Not found")
			return
		}
		say(w, http.StatusOK, g.issues[n-1])
	case at[0] == "merge_trains":
		g.serveTrain(w, req, at, who, body)
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
