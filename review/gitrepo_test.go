package review

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is a git repository of a test.
type repository struct {
	t   testing.TB
	dir string
}

func newRepository(t testing.TB) repository {
	t.Helper()
	r := repository{t, t.TempDir()}
	r.git("init", "-q")
	return r
}

// git runs without anybody's configuration.
func (r repository) git(args ...string) []byte {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + r.dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=T", "GIT_AUTHOR_EMAIL=t@example.invalid", "GIT_COMMITTER_NAME=T", "GIT_COMMITTER_EMAIL=t@example.invalid",
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, stderr.String())
	}
	return out
}

// commit makes the repository hold exactly files, and returns its id. A
// content "-> x" is a link, "! x" executable.
func (r repository) commit(files map[string]string) string {
	r.t.Helper()
	r.git("rm", "-rfq", "--ignore-unmatch", ".")
	for name, text := range files {
		path := filepath.Join(r.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				r.t.Fatal(err)
			}
			continue
		}
		text, exe := strings.CutPrefix(text, "! ")
		mode := os.FileMode(0o644)
		if exe {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			r.t.Fatal(err)
		}
	}
	r.git("add", "-A", "-f")
	r.git("commit", "-q", "--allow-empty", "-m", "x")
	return strings.TrimSpace(string(r.git("rev-parse", "HEAD")))
}

// diff is the text that ParseChange reads.
func (r repository) diff(from, to string) []byte {
	r.t.Helper()
	return r.git("diff-tree", "-r", "-z", "--raw", "-p", "-M", "--full-index", from, to)
}

func (r repository) change(from, to map[string]string) Change {
	r.t.Helper()
	return mustParse(r.t, r.diff(r.commit(from), r.commit(to)))
}

func mustParse(t testing.TB, text []byte) Change {
	t.Helper()
	c, err := ParseChange(text, false)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
