package git

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const remoteToken = "a-token-of-the-tests"

// gitHost is a bare repository behind HTTP, for who has the token.
type gitHost struct {
	Remote
	t    testing.TB
	repo string

	mu      sync.Mutex
	meddle  func(w http.ResponseWriter, req *http.Request, next http.Handler) // nil = nobody
	asked   int
	command string // every command line that was seen while a request was on its way
}

func newGitHost(t testing.TB) *gitHost {
	t.Helper()
	root := realPath(t, t.TempDir())
	g := &gitHost{t: t, repo: filepath.Join(root, "r.git")}
	runGit(t, root, "init", "-q", "--bare", "--template=", "-b", "main", g.repo)
	runGit(t, g.repo, "config", "http.receivepack", "true")
	runGit(t, g.repo, "config", "receive.autogc", "false")
	path, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Dir: root, Stderr: &bytes.Buffer{},
		Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + root, "REMOTE_USER=x"},
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked++
		g.command += commandLines(t)
		switch {
		case req.Header.Get("Authorization") != g.Authorization:
			http.Error(w, "no", http.StatusForbidden)
		case g.meddle != nil:
			g.meddle(w, req, backend)
		default:
			backend.ServeHTTP(w, req)
		}
	}))
	t.Cleanup(server.Close)
	// Whoever had the port before may still be asked there: what is told of the host stands
	// before its first request.
	g.Remote = Remote{URL: "http://" + server.Listener.Addr().String() + "/r.git", Authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+remoteToken))}
	server.Start()
	return g
}

// commandLines are those of all processes; "" where the system does not show
// them in a folder.
func commandLines(t testing.TB) string {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	var out strings.Builder
	for _, name := range all {
		data, err := os.ReadFile(name)
		if err == nil && bytes.Contains(data, []byte("git")) { // else it has ended
			out.Write(bytes.ReplaceAll(data, []byte{0}, []byte{' '}))
			out.WriteByte('\n')
		}
	}
	return out.String()
}

func (g *gitHost) at(branch string) string {
	g.t.Helper()
	// As git would find it: nothing packs the references of this repository.
	id, err := os.ReadFile(filepath.Join(g.repo, "refs", "heads", filepath.FromSlash(branch)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.t.Error(err)
	}
	return strings.TrimSpace(string(id))
}

// person pushes a commit on top of parent, which Forge has not seen.
func (g *gitHost) person(branch, parent string) string {
	g.t.Helper()
	tree := runGit(g.t, g.repo, "rev-parse", parent+"^{tree}")
	id := runGit(g.t, g.repo, "-c", "user.name=p", "-c", "user.email=p@example.invalid", "commit-tree", tree, "-p", parent, "-m", "by a person")
	runGit(g.t, g.repo, "update-ref", "refs/heads/"+branch, id)
	return id
}

// seen are the number of requests and the command lines so far.
func (g *gitHost) seen() (int, string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.asked, g.command
}

func (g *gitHost) meddling(f func(w http.ResponseWriter, req *http.Request, next http.Handler)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.meddle = f
}

// child is a commit of Forge's on parent.
func (b *bed) child(parent, text string) string {
	b.t.Helper()
	id, err := b.WithFiles(b.ctx, parent, map[string][]byte{"of-forge": []byte(text)}, text, "")
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func wantMoved(t *testing.T, what string, err error) {
	t.Helper()
	var moved *MovedError
	if !errors.As(err, &moved) {
		t.Errorf("%s: %v, want *MovedError", what, err)
	}
}

func TestRemotePush(t *testing.T) {
	b, g := newBed(t, nil), newGitHost(t)
	const branch = "forge/phases/r-1/phase-1"
	push := func(commit, old string) error { return b.PushCommit(b.ctx, g.Remote, branch, commit, old) }
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	is := func(what, want string) {
		t.Helper()
		if got, err := b.RemoteHead(b.ctx, g.Remote, branch); err != nil || got != want || g.at(branch) != want {
			t.Errorf("%s: at %q (%v), the host has %q, want %q", what, got, err, g.at(branch), want)
		}
	}
	// Nothing is there at all.
	is("empty", "")
	if got, err := b.FetchBranch(b.ctx, g.Remote, branch, "refs/forge/seen"); err != nil || got != "" {
		t.Errorf("fetched %q, %v", got, err)
	}
	one, two := b.child(b.base, "1"), ""
	two = b.child(one, "2")
	wantMoved(t, "moved from what is not there", push(two, one))
	is("still empty", "")
	ok(push(one, ""))
	ok(push(one, ""))
	is("first", one)
	wantMoved(t, "made again with another commit", push(two, ""))
	is("not moved", one)
	ok(push(two, one))
	ok(push(two, one)) // its answer was lost
	is("second", two)
	wantMoved(t, "from where it was before", push(b.child(one, "3"), one))
	wantMoved(t, "what does not grow out of it", push(b.child(one, "3"), two))
	wantMoved(t, "back", push(one, two))
	is("not back", two)

	person := g.person(branch, two)
	wantMoved(t, "over a person's", push(b.child(two, "4"), two))
	wantMoved(t, "over a person's, which is named", push(b.child(two, "4"), person))
	is("a person's", person)
	if got, err := b.FetchBranch(b.ctx, g.Remote, branch, "refs/forge/seen"); err != nil || got != person {
		t.Errorf("fetched %q, %v, want %q", got, err, person)
	}
	three := b.child(person, "5")
	ok(push(three, person))
	is("on top of a person's", three)

	// A person rewrites it: it is fetched as it is, and what was there stays here.
	rewritten := g.person(branch, one)
	if got, err := b.FetchBranch(b.ctx, g.Remote, branch, "refs/forge/seen"); err != nil || got != rewritten {
		t.Errorf("fetched %q, %v, want %q", got, err, rewritten)
	}
	wantMoved(t, "over what was rewritten", push(b.child(three, "6"), three))
	is("rewritten", rewritten)
}

// Whatever happens between looking and pushing: a person's commit stays, and an
// answer that was lost is looked for.
func TestRemotePushRaces(t *testing.T) {
	b, g := newBed(t, nil), newGitHost(t)
	one := b.child(b.base, "1")
	two := b.child(one, "2")
	if err := b.PushCommit(b.ctx, g.Remote, "forge/a", one, ""); err != nil {
		t.Fatal(err)
	}
	person := ""
	g.meddling(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		// After the references were told to git, before what it pushes is taken.
		if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "git-receive-pack") && person == "" {
			person = g.person("forge/a", one)
		}
		next.ServeHTTP(w, req)
	})
	wantMoved(t, "a person was quicker", b.PushCommit(b.ctx, g.Remote, "forge/a", two, one))
	g.meddling(nil)
	if got := g.at("forge/a"); person == "" || got != person {
		t.Errorf("at %q, want the person's %q", got, person)
	}
	g.meddling(func(w http.ResponseWriter, req *http.Request, next http.Handler) {
		if req.Method == http.MethodPost && strings.HasSuffix(req.URL.Path, "git-receive-pack") {
			next.ServeHTTP(httptest.NewRecorder(), req)
			http.Error(w, "the answer is lost", http.StatusBadGateway)
			return
		}
		next.ServeHTTP(w, req)
	})
	if err := b.PushCommit(b.ctx, g.Remote, "forge/b", one, ""); err != nil || g.at("forge/b") != one {
		t.Errorf("pushed, and the answer lost: %v, at %q", err, g.at("forge/b"))
	}
	g.meddling(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		http.Error(w, "away", http.StatusBadGateway)
	})
	var cmd *CommandError
	if err := b.PushCommit(b.ctx, g.Remote, "forge/c", one, ""); !errors.As(err, &cmd) {
		t.Errorf("the host is away: %v, want *CommandError", err)
	}
	if _, err := b.RemoteHead(b.ctx, g.Remote, "forge/b"); err == nil {
		t.Error("a host that is away has no branch")
	}
}

func TestRemoteNames(t *testing.T) {
	b, g := newBed(t, nil), newGitHost(t)
	one := b.child(b.base, "1")
	for _, branch := range []string{"forge/r+1/ü#50%25&a=b;c'd,e@f", "a", "forge/-x/--force", `q"uote$(x)`, "main"} {
		if err := b.PushCommit(b.ctx, g.Remote, branch, one, ""); err != nil || g.at(branch) != one {
			t.Errorf("%q: %v, at %q", branch, err, g.at(branch))
		}
		if got, err := b.FetchBranch(b.ctx, g.Remote, branch, "refs/forge/odd"); err != nil || got != one {
			t.Errorf("%q: fetched %q, %v", branch, got, err)
		}
	}
	// Which ends as another name does.
	runGit(t, g.repo, "update-ref", "refs/heads/refs/heads/forge/long", one)
	if got, err := b.RemoteHead(b.ctx, g.Remote, "forge/long"); err != nil || got != "" {
		t.Errorf("a longer name was taken for it: %q, %v", got, err)
	}
	before, _ := g.seen()
	for _, branch := range []string{"", "a b", "a..b", "a*", "a:b", "a^", "x.lock", "a\nb", "/a", "@{-1}"} {
		if err := b.PushCommit(b.ctx, g.Remote, branch, one, ""); err == nil {
			t.Errorf("pushed to %q", branch)
		}
		if _, err := b.RemoteHead(b.ctx, g.Remote, branch); err == nil {
			t.Errorf("read %q", branch)
		}
		if _, err := b.FetchBranch(b.ctx, g.Remote, branch, "refs/forge/odd"); err == nil {
			t.Errorf("fetched %q", branch)
		}
	}
	for _, commit := range []string{"", "HEAD", "--force", one[:10]} {
		if err := b.PushCommit(b.ctx, g.Remote, "forge/x", commit, ""); err == nil {
			t.Errorf("pushed %q", commit)
		}
	}
	if now, _ := g.seen(); now != before {
		t.Errorf("the host was asked %d times about names that are none", now-before)
	}
	for _, address := range []string{"", "ssh://git@example.invalid/r.git", "file://" + g.repo, g.repo, "ext::sh -c x", strings.Replace(g.URL, "http://", "http://u:"+remoteToken+"@", 1)} {
		err := b.PushCommit(b.ctx, Remote{URL: address}, "forge/x", one, "")
		if err == nil || strings.Contains(err.Error(), remoteToken) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := b.PushCommit(b.ctx, Remote{URL: g.URL, Authorization: "Basic x\r\nX-Other: y"}, "forge/x", one, ""); err == nil {
		t.Error("a token with a line break went through")
	}
}

// The token is in git's environment and in a header, and nowhere else.
func TestRemoteTokenIsHidden(t *testing.T) {
	b, g := newBed(t, nil), newGitHost(t)
	trace := filepath.Join(t.TempDir(), "trace")
	home := t.TempDir()
	other := newGitHost(t)
	// What the user's own git would do with the address.
	b.write(home, files{".gitconfig": "[url \"" + other.URL + "\"]\n\tinsteadOf = " + g.URL + "\n[credential]\n\thelper = store\n"})
	store, err := Open(b.ctx, Config{StateDir: b.state, Root: b.user, Environ: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GIT_TRACE=" + trace, "GIT_TRACE_CURL=" + trace, "GIT_TRACE_REDACT=0", "GIT_CURL_VERBOSE=1", "GIT_TRACE2=" + trace,
	}})
	if err != nil {
		t.Fatal(err)
	}
	b.Store = store
	one := b.child(b.base, "1")
	var said []string
	keep := func(err error) {
		if err != nil {
			said = append(said, err.Error())
		}
	}
	keep(b.PushCommit(b.ctx, g.Remote, "forge/a", one, ""))
	_, err = b.FetchBranch(b.ctx, g.Remote, "forge/a", "refs/forge/a")
	keep(err)
	if n, _ := other.seen(); len(said) > 0 || g.at("forge/a") != one || n > 0 {
		t.Fatalf("%q, at %q, %d requests elsewhere", said, g.at("forge/a"), n)
	}
	elsewhere := ""
	away := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		elsewhere += req.Header.Get("Authorization") + req.URL.String()
	}))
	defer away.Close()
	g.meddling(func(w http.ResponseWriter, req *http.Request, _ http.Handler) {
		http.Redirect(w, req, away.URL+req.URL.RequestURI(), http.StatusFound)
	})
	for range 2 {
		err := b.PushCommit(b.ctx, g.Remote, "forge/b", one, "")
		if err == nil {
			t.Error("pushed to where the host sends")
		}
		keep(err)
		g.meddling(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			http.Error(w, "no", http.StatusUnauthorized)
		})
	}
	if elsewhere != "" {
		t.Errorf("asked elsewhere: %q", elsewhere)
	}
	secret := []string{remoteToken, strings.TrimPrefix(g.Authorization, "Basic ")}
	holds := func(text string) bool { return strings.Contains(text, secret[0]) || strings.Contains(text, secret[1]) }
	_, commands := g.seen()
	if holds(commands) {
		t.Error("a command line holds the token")
	}
	if runtime.GOOS == "linux" && (!strings.Contains(commands, "push --quiet") || !strings.Contains(commands, "remote-http "+g.URL)) {
		t.Errorf("the command lines of git were not seen: %q", commands)
	}
	if _, err := os.Stat(trace); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("git wrote down what it did: %v", err)
	}
	if holds(strings.Join(said, "\n")) {
		t.Errorf("an error holds the token: %q", said)
	}
	for _, root := range []string{b.state, home, filepath.Join(b.user, ".git"), filepath.Dir(trace)} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if data, err := os.ReadFile(path); err != nil || holds(string(data)) {
				t.Errorf("%s holds the token (%v)", path, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
