package hosttest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Tokens: two of Forge's account, of which the second lacks a scope.
const (
	GitHubToken  = "token-of-forge"
	GitHubNarrow = "narrow-token-of-forge"
	GitHubOther  = "token-of-ann" // of another account
)

// GitHub behaves as the documented API of GitHub does, for one repository
// octo/repo with real git behind it. It is as much of GitHub as Forge asks.
type GitHub struct {
	issues []map[string]any // that people opened
	URL    string           // of the API
	Clone  string
	// PageSize bounds what one page of a list holds, whatever is asked for.
	PageSize int

	repo
	clock atomic.Pointer[time.Time] // nil = everybody's
	mu    sync.Mutex
	ghState
}

type ghState struct {
	queues    bool              // nothing is merged but by the merge queue
	queue     []int             // pull requests in it
	queuedAt  map[int]string    // their heads by then
	tokens    map[string]string // → account
	rights    map[string]string
	pulls     []*ghPull
	statuses  map[string]map[string]string // commit → check → state
	said      map[string][]map[string]any  // commit → statuses, the oldest first
	checkRuns map[string][]map[string]any  // commit → check runs
	jobs      map[int64]Job
	hooks     []map[string]any
	last      int64
	protected map[string]ghRule
	archived  bool
	mergeable map[string]bool // by base and head

	unmodified int
	deliveries sync.WaitGroup
}

type ghRule struct {
	approvals int
	check     string
}

type ghPull struct {
	number             int
	title, body        string
	head, base, author string
	headSHA, baseSHA   string
	state, merged      string // merged: the commit
	updated            time.Time
	asked              bool // mergeability was asked for once
	reviews            []map[string]any
	lines, comments    []map[string]any
	events             []map[string]any
	resolved           map[int64]bool
}

// StartGitHub starts one with the accounts of the suite.
func StartGitHub(t testing.TB) *GitHub {
	t.Helper()
	g := &GitHub{repo: newRepo(t), PageSize: 20, ghState: ghState{
		tokens:    map[string]string{GitHubToken: "forge", GitHubNarrow: "forge", GitHubOther: "ann"},
		rights:    map[string]string{"forge": "admin", "ann": "write", "ben": "write", "eve": "read"},
		statuses:  map[string]map[string]string{},
		said:      map[string][]map[string]any{},
		checkRuns: map[string][]map[string]any{},
		jobs:      map[int64]Job{},
		protected: map[string]ghRule{}, mergeable: map[string]bool{},
	}}
	server := httptest.NewServer(http.HandlerFunc(g.serve))
	t.Cleanup(func() {
		server.Close()
		g.deliveries.Wait()
	})
	g.URL, g.Clone = server.URL, server.URL+"/octo/repo.git"
	return g
}

// Point puts a branch at a commit that was pushed here.
func (g *GitHub) Point(t testing.TB, branch, commit string) {
	t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.git(t, "update-ref", "refs/heads/"+branch, commit)
}

// refresh looks at the branches, as GitHub does after each push. Lists show
// that a branch was pushed to.
func (g *GitHub) refresh() {
	for _, p := range g.pulls {
		if p.state != "open" {
			continue
		}
		switch at := g.head(p.head); {
		case at == "":
			p.state = "closed" // as GitHub does when the branch is deleted
			g.touch(p)
		case at != p.headSHA:
			p.headSHA, p.asked = at, false
			g.touch(p)
		}
	}
}

func (g *GitHub) touch(p *ghPull) { p.updated = g.now().Truncate(time.Second) }

func (g *GitHub) now() time.Time {
	if at := g.clock.Load(); at != nil {
		return *at
	}
	return time.Now().UTC()
}

// Pass moves the server's clock on, which goes by itself until the first call,
// and stands still from then on.
func (g *GitHub) Pass(d time.Duration) {
	at := g.now().Add(d)
	g.clock.Store(&at)
}

func (g *GitHub) id() int64 { g.last++; return g.last }

// say answers with JSON.
func say(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the other side has gone
}

func refusal(w http.ResponseWriter, status int, message string, errs ...map[string]string) {
	say(w, status, map[string]any{"message": message, "errors": errs, "documentation_url": "https://docs.github.com/rest"})
}

// NotModified is how many answers said that nothing has changed.
func (g *GitHub) NotModified() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unmodified
}

// page answers with one page of a list.
func (g *GitHub) page(w http.ResponseWriter, req *http.Request, all []map[string]any) {
	size, _ := strconv.Atoi(req.URL.Query().Get("per_page"))
	if size <= 0 || size > g.PageSize {
		size = g.PageSize
	}
	n, _ := strconv.Atoi(req.URL.Query().Get("page"))
	n = max(n, 1)
	if n*size < len(all) {
		u := *req.URL
		q := u.Query()
		q.Set("page", strconv.Itoa(n+1))
		u.RawQuery = q.Encode()
		w.Header().Set("Link", fmt.Sprintf(`<%s%s>; rel="next"`, g.URL, u.RequestURI()))
	}
	from := min((n-1)*size, len(all))
	data, _ := json.Marshal(append([]map[string]any{}, all[from:min(from+size, len(all))]...))
	sum := sha256.Sum256(data)
	etag := `W/"` + hex.EncodeToString(sum[:8]) + `"`
	w.Header().Set("Etag", etag)
	if req.Header.Get("If-None-Match") == etag {
		g.unmodified++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(data) // the other side has gone
}

func (g *GitHub) serve(w http.ResponseWriter, req *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if strings.Contains(req.URL.Path, ".git/") {
		g.serveGit(w, req)
		return
	}
	if number, ok := strings.CutPrefix(req.URL.Path, "/stored-logs/"); ok {
		g.serveLog(w, req, number)
		return
	}
	token := strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer ")
	who, ok := g.tokens[token]
	if !ok {
		refusal(w, http.StatusUnauthorized, "Bad credentials")
		return
	}
	w.Header().Set("Date", g.now().Format(http.TimeFormat))
	g.refresh()
	if req.URL.Path == "/user" {
		w.Header().Set("X-OAuth-Scopes", map[bool]string{true: "gist", false: "repo, user"}[token == GitHubNarrow])
		say(w, http.StatusOK, map[string]any{"login": who, "id": 1})
		return
	}
	if req.URL.Path == "/api/graphql" {
		g.graph(w, req)
		return
	}
	rest, ok := strings.CutPrefix(req.URL.Path, "/repos/octo/repo")
	if !ok {
		refusal(w, http.StatusNotFound, "Not Found")
		return
	}
	if g.archived && req.Method != http.MethodGet {
		refusal(w, http.StatusForbidden, "Repository was archived so is read-only.")
		return
	}
	body := map[string]any{}
	_ = json.NewDecoder(req.Body).Decode(&body) // not every request has one
	g.route(w, req, strings.Split(strings.TrimPrefix(rest, "/"), "/"), who, body)
}

func (g *GitHub) serveGit(w http.ResponseWriter, req *http.Request) {
	user, password, _ := req.BasicAuth()
	switch {
	case user != "x-access-token" || g.tokens[password] == "":
		w.Header().Set("WWW-Authenticate", "Basic")
		http.Error(w, "Invalid username or token.", http.StatusUnauthorized)
		return
	case !strings.HasPrefix(req.URL.Path, "/octo/repo.git/"):
		http.Error(w, "Repository not found.", http.StatusNotFound)
		return
	case g.archived && strings.Contains(req.URL.RequestURI(), "receive-pack"):
		http.Error(w, "This repository was archived so it is read-only.", http.StatusForbidden)
		return
	}
	g.backend(w, req, "/octo/repo.git")
}

// fits says whether a pull request merges without a conflict.
func (g *GitHub) fits(p *ghPull) bool {
	pair := g.head(p.base) + p.headSHA
	if _, known := g.mergeable[pair]; !known {
		_, err := g.try("merge-tree", "--write-tree", g.head(p.base), p.headSHA)
		g.mergeable[pair] = err == nil
	}
	return g.mergeable[pair]
}

// squash merges as GitHub does.
func (g *GitHub) squash(p *ghPull, message string) bool {
	base := g.head(p.base)
	tree, err := g.try("merge-tree", "--write-tree", base, p.headSHA)
	if err != nil {
		return false
	}
	commit, err := g.try("commit-tree", strings.Fields(tree)[0], "-p", base, "-m", message)
	if err != nil {
		return false
	}
	if _, err := g.try("update-ref", "refs/heads/"+p.base, commit, base); err != nil {
		return false
	}
	p.state, p.merged = "closed", commit
	return true
}

func newestFirst(a, b *ghPull) int {
	if c := b.updated.Compare(a.updated); c != 0 {
		return c
	}
	return b.number - a.number
}
