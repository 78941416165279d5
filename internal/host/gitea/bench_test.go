package gitea_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"forge/internal/host/gitea"
	"forge/internal/host/hosttest"
	"forge/internal/text"
	"forge/internal/work"
)

// BenchmarkPhase is one phase on a real Gitea (FORGE_REAL_GITEA): branch, push,
// pull request, merge, by the adapter and by git and curl, in turns. The ratio
// is what the adapter costs beside them.
func BenchmarkPhase(b *testing.B) {
	if _, err := exec.LookPath("curl"); err != nil {
		b.Skip("there is no curl")
	}
	g := hosttest.StartCrowd(b)
	store, _ := hosttest.NewStore(b)
	repo := g.Repo(b, true)
	token := g.Tokens["forge"]
	h, err := gitea.New(gitea.Config{URL: g.URL, Owner: "owner", Repo: repo, Token: token, Store: store})
	if err != nil {
		b.Fatal(err)
	}
	w := &hosttest.World{Store: store}
	f := &floor{B: b, base: g.URL + "/api/v1/repos/owner/" + repo, token: token, dir: b.TempDir(),
		clone: strings.Replace(g.URL, "http://", "http://x:"+token+"@", 1) + "/owner/" + repo + ".git"}
	f.git("clone", "--quiet", f.clone, ".")
	at := func() string {
		commit, err := h.Fetch(b.Context(), "main", "refs/forge/bench")
		if err != nil {
			b.Fatal(err)
		}
		return commit
	}
	var mine, theirs time.Duration
	n := 0
	phases := func() {
		n++
		name := fmt.Sprintf("forge/adapter-%d", n)
		start := at()
		head := w.Commit(b, start, name, map[string]string{name: "x\n"})
		begin := time.Now()
		byAdapter(b, h, name, head, start)
		mine += time.Since(begin)
		f.git("fetch", "--quiet", "origin", "main")
		f.git("checkout", "--quiet", "-B", fmt.Sprintf("forge/floor-%d", n), "origin/main")
		f.write(n)
		begin = time.Now()
		f.phase(n)
		theirs += time.Since(begin)
	}
	phases() // connections, caches
	mine, theirs = 0, 0
	b.ResetTimer()
	for range b.N {
		phases()
	}
	b.ReportMetric(float64(mine.Milliseconds())/float64(b.N), "adapter-ms")
	b.ReportMetric(float64(theirs.Milliseconds())/float64(b.N), "floor-ms")
	b.ReportMetric(float64(mine)/float64(theirs), "ratio")
}

func byAdapter(b *testing.B, h *gitea.Host, name, head, start string) {
	if err := h.Push(b.Context(), name, head, ""); err != nil {
		b.Fatal(err)
	}
	p, err := hosttest.Await(b, func() (work.PullRequest, error) {
		return h.OpenPull(b.Context(), work.PullProposal{Marker: name, Branch: name, Base: "main", Title: text.Titled("%s", name)})
	})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := hosttest.Await(b, func() (work.PullSquashed, error) {
		return h.Merge(b.Context(), work.PullMerge{Number: p.Number, Branch: name, Base: "main", Head: head, BaseHead: start, Title: text.Titled("%s", name)})
	}); err != nil {
		b.Fatal(err)
	}
	if err := h.DeleteBranch(b.Context(), name, head); err != nil {
		b.Fatal(err)
	}
}

// floor is the same by hand.
type floor struct {
	*testing.B
	base, token, dir, clone string
}

func (f *floor) git(args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=f", "GIT_AUTHOR_EMAIL=f@example.com", "GIT_COMMITTER_NAME=f", "GIT_COMMITTER_EMAIL=f@example.com", "GIT_TERMINAL_PROMPT=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %s: %v\n%s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

func (f *floor) write(n int) {
	if err := os.WriteFile(filepath.Join(f.dir, fmt.Sprintf("floor-%d", n)), []byte("x\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	f.git("add", "-A")
	f.git("commit", "--quiet", "-m", "x")
}

func (f *floor) curl(method, path string, body any) (string, []byte) {
	data, err := json.Marshal(body)
	if err != nil {
		f.Fatal(err)
	}
	cmd := exec.Command("curl", "-sS", "-X", method, "-H", "Authorization: token "+f.token, "-H", "Content-Type: application/json", "-d", string(data), "-w", "\n%{http_code}", f.base+path)
	out, err := cmd.Output()
	if err != nil {
		f.Fatal(err)
	}
	i := bytes.LastIndexByte(out, '\n')
	return string(out[i+1:]), out[:i]
}

func (f *floor) phase(n int) {
	branch := fmt.Sprintf("forge/floor-%d", n)
	f.git("push", "--quiet", "origin", branch)
	var pull struct{ Number int }
	for try := 0; ; try++ {
		status, body := f.curl(http.MethodPost, "/pulls", map[string]any{"head": branch, "base": "main", "title": branch})
		if status == "201" && json.Unmarshal(body, &pull) == nil {
			break
		}
		if try == 100 {
			f.Fatalf("%s %s", status, body)
		}
		time.Sleep(100 * time.Millisecond)
	}
	head := f.git("rev-parse", "HEAD")
	for try := 0; ; try++ {
		status, body := f.curl(http.MethodPost, fmt.Sprintf("/pulls/%d/merge", pull.Number), map[string]any{"Do": "squash", "head_commit_id": head, "MergeTitleField": branch})
		if status == "200" {
			break
		}
		if try == 100 {
			f.Fatalf("%s %s", status, body)
		}
		time.Sleep(100 * time.Millisecond)
	}
	f.curl(http.MethodDelete, "/branches/"+url.PathEscape(branch), nil)
}
