package git

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"forge/internal/work"
)

// TestMain gives every git of the tests an empty home and no identity.
func TestMain(m *testing.M) {
	if order := os.Getenv(moveChild); order != "" {
		os.Exit(playMove(order))
	}
	home, err := os.MkdirTemp("", "forge-git-")
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
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(home)
		os.Exit(code)
	}))
}

// bed is a user's repository, a state folder and a store between them.
type bed struct {
	t     testing.TB
	ctx   context.Context
	user  string
	state string
	base  string // commit
	*Store
}

// files are paths and contents; a content "-> x" is a link, "! x" executable.
type files map[string]string

func newBed(t testing.TB, content files) *bed {
	t.Helper()
	if content == nil {
		content = files{".forge/forge.toml": "[agent]\n", "a.txt": "a\n", "src/b.txt": "b\n", ".gitignore": "*.log\n"}
	}
	root := realPath(t, t.TempDir())
	return newBedAt(t, filepath.Join(root, "user"), filepath.Join(root, "state"), content)
}

func newBedAt(t testing.TB, user, state string, content files) *bed {
	t.Helper()
	b := &bed{t: t, ctx: context.Background(), user: user, state: state}
	mkdir(t, b.user)
	b.run("init", "-q", "-b", "main")
	b.run("config", "user.name", "Test")
	b.run("config", "user.email", "test@example.invalid")
	b.write(b.user, content)
	b.run("add", "-A")
	b.run("commit", "-q", "-m", "start")
	b.base = b.run("rev-parse", "HEAD")
	b.open()
	return b
}

func (b *bed) open() {
	b.t.Helper()
	s, err := Open(b.ctx, Config{StateDir: b.state, Root: b.user})
	if err != nil {
		b.t.Fatal(err)
	}
	b.Store = s
}

// run is a git of the user's own, in the user's checkout.
func (b *bed) run(args ...string) string {
	b.t.Helper()
	return runGit(b.t, b.user, args...)
}

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %v in %s: %v\n%s", args, dir, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// ownGit is a git in Forge's repository.
func (b *bed) ownGit(args ...string) string {
	b.t.Helper()
	return runGit(b.t, b.repo, append([]string{"--git-dir=" + b.repo}, args...)...)
}

func (b *bed) folder(name string) string {
	b.t.Helper()
	dir := filepath.Join(b.state, "runs", "r", "phases", name)
	if err := b.OpenFolder(b.ctx, dir, b.base); err != nil {
		b.t.Fatal(err)
	}
	return dir
}

func (b *bed) snap(dir, parent string) work.Snapshot {
	b.t.Helper()
	s, err := b.Snapshot(b.ctx, dir, parent, "refs/forge/test", "snapshot")
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func (b *bed) write(dir string, content files) {
	b.t.Helper()
	for name, text := range content {
		write(b.t, filepath.Join(dir, name), text)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	mkdir(t, filepath.Dir(path))
	if target, ok := strings.CutPrefix(text, "-> "); ok {
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return
	}
	mode := fs.FileMode(0o644)
	text, exe := strings.CutPrefix(text, "! ")
	if exe {
		mode = 0o755
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

func realPath(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// list reads a folder back as files, without .git at its root.
func list(t testing.TB, dir string) files {
	t.Helper()
	got := files{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case rel == ".git" && d.IsDir():
			return fs.SkipDir
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			got[rel] = "-> " + target
			return err
		case !d.Type().IsRegular():
			got[rel] = d.Type().String()
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got[rel] = string(data)
		if info, err := d.Info(); err == nil && info.Mode()&0o100 != 0 {
			got[rel] = "! " + string(data)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// tree reads a commit back as files.
func (b *bed) tree(commit string) files {
	b.t.Helper()
	entries, err := b.entries(b.ctx, commit)
	if err != nil {
		b.t.Fatal(err)
	}
	got := files{}
	for path, e := range entries {
		if strings.HasPrefix(e, "160000") {
			got[path] = e
			continue
		}
		data, err := b.Show(b.ctx, commit, path)
		if err != nil {
			b.t.Fatal(err)
		}
		got[path] = map[string]string{"100755": "! ", "120000": "-> "}[e[:6]] + string(data)
	}
	return got
}

func same(t testing.TB, what string, got, want files) {
	t.Helper()
	for path, text := range want {
		if g, ok := got[path]; !ok || g != text {
			t.Errorf("%s: %q = %q (there %v), want %q", what, path, g, ok, text)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%s: unexpected %q = %q", what, path, got[path])
		}
	}
}

func sameStrings(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

func changed(s work.Snapshot) []string {
	var all []string
	for _, c := range s.Files {
		all = append(all, c.Status+" "+c.Path)
	}
	return all
}

// userState is everything in the user's repository that a run must not touch.
func (b *bed) userState() string {
	b.t.Helper()
	var all bytes.Buffer
	for _, args := range [][]string{
		{"log", "--all", "--format=%H %D"}, {"symbolic-ref", "HEAD"}, {"rev-parse", "HEAD"}, {"status", "--porcelain", "--ignored"},
		{"stash", "list"}, {"for-each-ref"}, {"config", "--list", "--local"}, {"reflog", "--all"},
	} {
		all.WriteString(b.run(args...) + "\n")
	}
	index, err := os.ReadFile(filepath.Join(b.user, ".git", "index"))
	if err != nil {
		b.t.Fatal(err)
	}
	all.Write(index)
	return all.String()
}

func isRoot() bool { return os.Geteuid() == 0 }
