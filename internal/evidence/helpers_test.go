package evidence

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"forge/internal/git"
	"forge/internal/pace"
	"forge/internal/work"
)

var _ = pace.OnlyBeside("a repository for each test, and git's time")

// TestMain gives every git of the tests an empty home and no identity.
func TestMain(m *testing.M) {
	home, err := os.MkdirTemp("", "forge-evidence-")
	if err != nil {
		panic(err)
	}
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			_ = os.Unsetenv(name)
		}
	}
	for _, kv := range [][2]string{{"HOME", home}, {"XDG_CONFIG_HOME", filepath.Join(home, "config")}, {"GIT_CONFIG_NOSYSTEM", "1"}} {
		if err := os.Setenv(kv[0], kv[1]); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// files are paths and contents: "-> x" is a link, "! x" executable, "@ id" a
// submodule, "-" removes the path.
type files map[string]string

// project is a small one whose tests are run by a script.
func project() files {
	return files{
		"Makefile":       "test:\n\tsh tests/run.sh\n",
		"calc.sh":        "add() { echo $(($1 + $2)); }\n",
		"tests/run.sh":   ". ./calc.sh\n[ \"$(add 1 2)\" = 3 ] || exit 1\n[ \"$(add 2 2)\" = 4 ] || exit 1\n",
		"tests/empty.sh": "",
		"README.md":      "a project\n",
	}
}

// bed is a user's repository with a store beside it.
type bed struct {
	t    testing.TB
	ctx  context.Context
	dir  string
	repo *git.Store
	*Store
	base string
}

func newBed(t testing.TB, content files) *bed {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{t: t, ctx: context.Background(), dir: filepath.Join(top, "user")}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.git("init", "-q", "-b", "main")
	b.git("config", "user.name", "Test")
	b.git("config", "user.email", "test@example.invalid")
	b.base = b.commit("start", content)
	if b.repo, err = git.Open(b.ctx, git.Config{StateDir: filepath.Join(top, "state"), Root: b.dir}); err != nil {
		t.Fatal(err)
	}
	b.Store = New(b.repo, filepath.Join(top, "cache"))
	return b
}

// git is one of the user's own, in the user's checkout.
func (b *bed) git(args ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = b.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit writes files and commits them on what is checked out.
func (b *bed) commit(message string, content files) string {
	b.t.Helper()
	var links []string
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(content))) { // a folder after what is in it: it may become a link
		links = append(links, b.write(path, content[path])...)
	}
	b.git("add", "-A")
	for _, info := range links {
		b.git("update-index", "--add", "--cacheinfo", info)
	}
	b.git("commit", "-q", "--allow-empty", "-m", message)
	return b.git("rev-parse", "HEAD")
}

// write makes one file; a submodule is an entry of the index alone.
func (b *bed) write(path, text string) (links []string) {
	b.t.Helper()
	file := filepath.Join(b.dir, path)
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil && dir != filepath.Dir(file) {
		b.t.Fatalf("%s is in %s by now", path, dir)
	}
	err := os.RemoveAll(file)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	target, link := strings.CutPrefix(text, "-> ")
	script, executable := strings.CutPrefix(text, "! ")
	id, submodule := strings.CutPrefix(text, "@ ")
	switch {
	case err != nil:
	case text == "-":
	case link:
		err = os.Symlink(target, file)
	case submodule:
		links = append(links, "160000,"+id+","+path)
		err = os.Mkdir(file, 0o755)
	case executable:
		err = os.WriteFile(file, []byte(script), 0o755)
	default:
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
	return links
}

// forge commits as Forge does.
func (b *bed) forge(content files) string {
	b.t.Helper()
	return b.commit("phase 01\n\nForge-Run: r1\nForge-Phase: 01\n", content)
}

// request is one against the base, which is trusted.
func (b *bed) request(commit string) work.EvidenceRequest {
	return work.EvidenceRequest{Trusted: b.base, Base: b.base, Commit: commit, Commands: []string{"make test"}}
}

func (b *bed) judgeOf(req work.EvidenceRequest) work.EvidenceReport {
	b.t.Helper()
	rep, err := b.Judge(b.ctx, req)
	if err != nil {
		b.t.Fatal(err)
	}
	return rep
}

func (b *bed) mixOf(req work.EvidenceRequest, floor work.VerifyOn) string {
	b.t.Helper()
	id, err := b.Mix(b.ctx, req, floor)
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

func (b *bed) trustedOf(target, base string) string {
	b.t.Helper()
	id, err := b.Trusted(b.ctx, target, base, work.EvidenceRequest{Commands: []string{"make test"}})
	if err != nil {
		b.t.Fatal(err)
	}
	return id
}

// text is a file of a commit, "none" where there is none.
func (b *bed) text(commit, path string) string {
	b.t.Helper()
	data, err := b.repo.Show(b.ctx, commit, path)
	if err != nil {
		return "none"
	}
	return string(data)
}

// entry is the mode and the object of a path in a commit.
func (b *bed) entry(commit, path string) string {
	b.t.Helper()
	id, err := b.repo.TreeOf(b.ctx, commit)
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.Command("git", "--git-dir="+filepath.Join(filepath.Dir(b.dir), "state", "repo.git"), "ls-tree", id, path)
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("ls-tree %s: %v\n%s", path, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (b *bed) want(commit string, content files) {
	b.t.Helper()
	for path, want := range content {
		if got := b.text(commit, path); got != want {
			b.t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func equal[T comparable](t testing.TB, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func lines(of []work.Doubt) string {
	var out []string
	for _, d := range of {
		out = append(out, d.String())
	}
	return fmt.Sprint(strings.Join(out, "\n"))
}

func (b *bed) dirOfMaps() string { return b.Store.dir }

func (b *bed) spoilMaps() {
	b.t.Helper()
	all, err := filepath.Glob(filepath.Join(b.Store.dir, "*.json"))
	if err != nil || len(all) == 0 {
		b.t.Fatalf("no map was kept: %v", err)
	}
	for _, file := range all {
		if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (s *Store) judgedBy(t testing.TB, req work.EvidenceRequest) []string {
	t.Helper()
	rep, err := s.Judge(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return rep.Touched
}
