package hosttest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Gitea is a real server on loopback.
//
// It differs from one as it is shipped in what costs time and decides nothing:
// it hands its tasks (the mergeability of a pull request, the delivery of a
// webhook) on at once instead of looking for them every two seconds, asks itself
// in its hooks without starting its whole program, and takes passwords that are
// hashed once.
type Gitea struct {
	URL   string
	Admin string // token of an administrator, which is no account of a test

	queues  string            // in its configuration
	actions bool              // its own CI
	people  map[string]string // token → account that signs in with its password
	dir     string
	binary  string
	env     []string
	as      *syscall.Credential
	cmd     *exec.Cmd
	ended   chan error
	log     *os.File
}

const password = "a-Password-of-the-tests-1"

// Option is how a server is started.
type Option func(*Gitea)

// AsShipped leaves the server its own queues, which wait for up to two seconds.
func AsShipped(g *Gitea) { g.queues = "" }

// HooksAtOnce does so too, but for webhooks.
func HooksAtOnce(g *Gitea) {
	g.queues = "[queue.webhook_sender]\nTYPE = channel\nBATCH_LENGTH = 1\n"
}

// StartGitea starts the server that FORGE_REAL_GITEA names, with the templates
// in FORGE_REAL_GITEA_SRC, as an unprivileged user when the test is run by
// root, and ends it with the test. Without those variables the test is skipped.
func StartGitea(t testing.TB, options ...Option) *Gitea {
	t.Helper()
	binary, static := os.Getenv("FORGE_REAL_GITEA"), os.Getenv("FORGE_REAL_GITEA_SRC")
	if binary == "" || static == "" {
		t.Skip("FORGE_REAL_GITEA and FORGE_REAL_GITEA_SRC name no Gitea: scripts/real.sh builds one")
	}
	// Not t.TempDir, whose parent is closed to other users.
	dir, err := os.MkdirTemp("", "forge-gitea-") //nolint:usetesting // see above
	check(t, err)
	g := &Gitea{dir: dir, binary: filepath.Join(dir, "gitea-itself"), people: map[string]string{},
		queues: "[queue]\nTYPE = channel\nBATCH_LENGTH = 1\n"}
	for _, o := range options {
		o(g)
	}
	t.Cleanup(func() {
		g.Stop()
		if t.Failed() {
			g.showLog(t)
		}
		_ = os.RemoveAll(dir) // what is left is in the temporary folder
	})
	check(t, os.Chmod(dir, 0o755))
	// The cache may be in a home that the other user cannot enter.
	check(t, place(binary, g.binary))
	check(t, filepath.WalkDir(static, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(static, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(dir, "static", rel), 0o755)
		}
		return place(path, filepath.Join(dir, "static", rel))
	}))
	g.configure(t)
	run(t, g.command(t.Context(), "migrate"))
	g.Start(t)
	out := run(t, g.command(t.Context(), "admin", "user", "create", "--username", "root-of-tests", "--password", password, "--email", "root@example.com",
		"--must-change-password=false", "--admin", "--access-token", "--access-token-name", "t", "--access-token-scopes", "all"))
	_, token, _ := strings.Cut(out, "successfully created... ")
	if token, _, _ = strings.Cut(token, "\n"); strings.TrimSpace(token) == "" {
		t.Fatalf("no token in %q", out)
	}
	g.Admin = strings.TrimSpace(token)
	return g
}

// place links a file or, on another file system, copies it.
func place(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o444)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		_ = out.Close() // the first error counts
		return err
	}
	return out.Close()
}

func (g *Gitea) configure(t testing.TB) {
	t.Helper()
	me, err := user.Current()
	check(t, err)
	name := me.Username
	if os.Getuid() == 0 {
		other, err := user.Lookup("nobody")
		if err != nil {
			t.Fatalf("Gitea does not run as root, and there is no user nobody: %v", err)
		}
		uid, _ := strconv.Atoi(other.Uid)
		gid, _ := strconv.Atoi(other.Gid)
		g.as, name = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, "nobody"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	check(t, listener.Close())
	g.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
	work := filepath.Join(g.dir, "work")
	ini := fmt.Sprintf(`APP_NAME = tests
RUN_USER = %[1]s
RUN_MODE = prod
[server]
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[2]d
ROOT_URL = %[3]s/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = %[4]s
[database]
DB_TYPE = sqlite3
PATH = %[5]s/data/gitea.db
SQLITE_JOURNAL_MODE = WAL
SQLITE_TIMEOUT = 20000
[repository]
ROOT = %[5]s/repos
[security]
INSTALL_LOCK = true
SECRET_KEY = only-for-tests
INTERNAL_TOKEN = %[6]s
PASSWORD_HASH_ALGO = pbkdf2$1$50
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
[actions]
ENABLED = %[7]t
[cron]
ENABLED = false
[indexer]
ISSUE_INDEXER_TYPE = db
[log]
LEVEL = warn
`, name, port, g.URL, filepath.Join(g.dir, "static"), work, internalToken, g.actions)
	ini += g.queues
	g.writeHooks(t, port)
	check(t, os.MkdirAll(filepath.Join(work, "custom", "conf"), 0o755))
	check(t, os.WriteFile(filepath.Join(work, "custom", "conf", "app.ini"), []byte(ini), 0o644))
	if g.as != nil {
		check(t, filepath.WalkDir(work, func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Chown(path, int(g.as.Uid), int(g.as.Gid))
		}))
	}
	g.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + work, "USER=" + name, "GITEA_WORK_DIR=" + work, "LC_ALL=C", "GOGC=400"}
	g.log, err = os.OpenFile(filepath.Join(g.dir, "log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	check(t, err)
}

func (g *Gitea) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, g.binary, args...)
	cmd.Args[0] = g.hooks() // which it writes into the hooks as its own name
	cmd.Env, cmd.Dir = g.env, filepath.Join(g.dir, "work")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: g.as, Setpgid: true}
	return cmd
}

// Start starts a server that was stopped, with all that it knew.
func (g *Gitea) Start(t testing.TB) {
	t.Helper()
	g.cmd = g.command(context.WithoutCancel(t.Context()), "web")
	g.cmd.Stdout, g.cmd.Stderr = g.log, g.log
	check(t, g.cmd.Start())
	ended := make(chan error, 1)
	g.ended = ended
	cmd := g.cmd
	go func() { ended <- cmd.Wait() }()
	for range 3600 {
		res, err := http.Get(g.URL + "/api/v1/version")
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case err := <-ended:
			g.ended = nil
			g.showLog(t)
			t.Fatalf("gitea ended: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatal("gitea does not answer after 3 minutes")
}

// Stop ends the server; one that is not running is no fault.
func (g *Gitea) Stop() {
	if g.ended == nil {
		return
	}
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-g.ended: //nolint:errcheck // told to end: how it did says nothing
	case <-time.After(10 * time.Second):
		_ = syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL)
		<-g.ended //nolint:errcheck // killed
	}
	g.ended = nil
}

func (g *Gitea) showLog(t testing.TB) {
	data, err := os.ReadFile(g.log.Name())
	check(t, err)
	t.Logf("gitea said:\n%s", data[max(0, len(data)-8000):])
}

// User makes an account; it returns a token with these scopes ("all" where
// none is named).
func (g *Gitea) User(t testing.TB, name string, scopes ...string) string {
	t.Helper()
	g.Do(t, g.Admin, http.MethodPost, "/admin/users", map[string]any{
		"username": name, "email": name + "@example.com", "password": password, "must_change_password": false,
	}, nil)
	return g.Token(t, name, scopes...)
}

// Token makes a token of an account.
func (g *Gitea) Token(t testing.TB, name string, scopes ...string) string {
	t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"all"}
	}
	var token struct {
		Sha1 string `json:"sha1"`
	}
	g.Do(t, "basic "+name, http.MethodPost, "/users/"+name+"/tokens", map[string]any{"name": "t" + strconv.FormatInt(time.Now().UnixNano(), 36), "scopes": scopes}, &token)
	return token.Sha1
}

// Do is one call of the API, which must succeed; "basic NAME" in place of a
// token signs in with that account's password. So do people whose token it is:
// for each request with a token Gitea hashes it 10,000 times.
func (g *Gitea) Do(t testing.TB, token, method, path string, in, out any) {
	t.Helper()
	if status, body := g.Try(t, token, method, path, in); status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, status, body)
	} else if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			t.Fatalf("%s %s: %v in %q", method, path, err, body)
		}
	}
}

// Try is Do that may be refused.
func (g *Gitea) Try(t testing.TB, token, method, path string, in any) (int, []byte) {
	t.Helper()
	return call(t, g.URL+"/api/v1"+path, method, in, func(req *http.Request) {
		name, basic := strings.CutPrefix(token, "basic ")
		if !basic {
			name, basic = g.people[token]
		}
		if basic {
			req.SetBasicAuth(name, password)
			return
		}
		req.Header.Set("Authorization", "token "+token)
	})
}

// Transport signs in as Do does, for an adapter that a test looks through.
func (g *Gitea) Transport() http.RoundTripper { return signIn{g} }

type signIn struct{ g *Gitea }

func (s signIn) RoundTrip(req *http.Request) (*http.Response, error) {
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "token ")
	if name, ok := s.g.people[token]; ok {
		req = req.Clone(req.Context())
		req.SetBasicAuth(name, password)
	}
	return http.DefaultTransport.RoundTrip(req)
}

func call(t testing.TB, address, method string, in any, sign func(*http.Request)) (int, []byte) {
	t.Helper()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		check(t, err)
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, body)
	check(t, err)
	req.Header.Set("Content-Type", "application/json")
	sign(req)
	res, err := http.DefaultClient.Do(req)
	check(t, err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	check(t, err)
	return res.StatusCode, data
}

func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
