package host

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"forge/internal/git"
	"forge/internal/work"
)

// What a host says while git talks to it becomes a kind of trouble, without the
// token that it may repeat.
func TestBranchesTrouble(t *testing.T) {
	const token = "token-of-the-tests"
	dir := t.TempDir()
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	for _, args := range [][]string{{"init", "-q", "-b", "main", "p"}, {"-C", "p", "-c", "user.name=u", "-c", "user.email=u@example.com", "commit", "-q", "--allow-empty", "-m", "x"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	store, err := git.Open(t.Context(), git.Config{StateDir: filepath.Join(dir, "state"), Root: filepath.Join(dir, "p"), Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	commit, err := store.FindCommit(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	type says struct {
		status int
		words  string
	}
	var say atomic.Pointer[says]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		now := say.Load()
		w.WriteHeader(now.status)
		_, _ = io.WriteString(w, now.words+" "+req.Header.Get("Authorization")+" "+token+"\n")
	}))
	defer server.Close()
	b := NewBranches(NewClient(strings.TrimPrefix(server.URL, "http://"), nil, token), store, server.URL+"/o/r.git", "x-access-token", token)
	for _, tt := range []struct {
		status int
		words  string
		want   work.HostKind
	}{
		{401, "no", work.HostUnauthorized},
		{403, "This repository was archived", work.HostArchived},
		{403, "no", work.HostForbidden},
		{404, "no", work.HostNoRepository},
		{500, "no", work.HostUnreachable},
		{200, "what is this", work.HostWrong},
		{403, "User permission denied for writing.", work.HostForbidden},
	} {
		say.Store(&says{tt.status, tt.words})
		_, herr := b.Head(t.Context(), "main")
		_, ferr := b.Fetch(t.Context(), "main", "refs/forge/x")
		for what, err := range map[string]error{"push": b.Push(t.Context(), "main", commit, ""), "head": herr, "fetch": ferr} {
			if got := work.HostKindOf(err); got != tt.want {
				t.Errorf("%s at %d %q: %q (%v), want %q", what, tt.status, tt.words, got, err, tt.want)
			}
			if tt.status == 403 && !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%s at %d: the host's own words %q are lost: %v", what, tt.status, tt.words, err)
			}
			for e := err; e != nil; e = errors.Unwrap(e) {
				if strings.Contains(e.Error(), token) || strings.Contains(e.Error(), strings.TrimPrefix(b.Remote.Authorization, "Basic ")) {
					t.Errorf("%s at %d: the error holds the token: %v", what, tt.status, e)
				}
			}
		}
	}
}
