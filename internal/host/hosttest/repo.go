package hosttest

import (
	"errors"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"forge/internal/git"
)

// repo is a repository of a host: real git.
type repo struct{ dir string }

func newRepo(t testing.TB) repo {
	t.Helper()
	r := repo{t.TempDir()}
	r.git(t, "init", "-q", "--bare", "--template=", "-b", "main", ".")
	check(t, os.MkdirAll(filepath.Join(r.dir, "objects", "info"), 0o755))
	config, err := os.OpenFile(filepath.Join(r.dir, "config"), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	_, err = config.WriteString("[http]\n\treceivepack = true\n[receive]\n\tautogc = false\n[gc]\n\tauto = 0\n")
	check(t, errors.Join(err, config.Close()))
	return r
}

// Seed puts a commit of the user's repository on a branch, as if it had been
// pushed long ago.
func (r repo) Seed(t testing.TB, store *git.Store, branch, commit string) {
	t.Helper()
	check(t, os.WriteFile(filepath.Join(r.dir, "objects", "info", "alternates"), []byte(strings.Join(store.ObjectPaths(), "\n")+"\n"), 0o644))
	ref := filepath.Join(r.dir, "refs", "heads", filepath.FromSlash(branch))
	check(t, os.MkdirAll(filepath.Dir(ref), 0o755))
	check(t, os.WriteFile(ref, []byte(commit+"\n"), 0o644))
}

func (r repo) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=octo", "GIT_AUTHOR_EMAIL=o@example.com", "GIT_COMMITTER_NAME=octo", "GIT_COMMITTER_EMAIL=o@example.com"}
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
}

func (r repo) git(t testing.TB, args ...string) string {
	t.Helper()
	out, err := r.try(args...)
	check(t, err)
	return out
}

func (r repo) head(branch string) string {
	// As git would find it: nothing packs the references of this repository.
	id, _ := os.ReadFile(filepath.Join(r.dir, "refs", "heads", filepath.FromSlash(branch)))
	return strings.TrimSpace(string(id))
}

// backend answers git itself, for the repository at an address.
func (r repo) backend(w http.ResponseWriter, req *http.Request, root string) {
	path, err := httpBackend()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	(&cgi.Handler{
		Path: path, Root: root, Dir: r.dir,
		Env: []string{"GIT_PROJECT_ROOT=" + r.dir, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + r.dir, "REMOTE_USER=x"},
	}).ServeHTTP(w, req)
}

// httpBackend is the program that answers git over HTTP. It is started itself: git
// would start it in a process more, for each of some fifty requests of a test.
var httpBackend = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		return "", err
	}
	return exec.LookPath(filepath.Join(strings.TrimSpace(string(dir)), "git-http-backend"))
})
