package projecttest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// readme is what the README.md of a new project says.
const readme = "a project\n"

// piece is a file or folder of a repository's .git.
type piece struct {
	path string
	perm fs.FileMode // with that of a folder
	data []byte
}

// first are the pieces of a repository on main whose one commit, by Test, has a README.md.
// It is made once: hundreds of tests begin with one.
var first = sync.OnceValues(func() ([]piece, error) {
	dir, err := os.MkdirTemp("", "forge-first-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.WriteFile(filepath.Join(dir, "README.md"), []byte(readme), 0o644); err != nil {
		return nil, err
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid",
	}
	for _, args := range [][]string{{"init", "--quiet", "--initial-branch=main"}, {"add", "README.md"}, {"commit", "--quiet", "-m", "first"}} {
		if err := git(dir, env, args...); err != nil {
			return nil, err
		}
	}
	var pieces []piece
	top := filepath.Join(dir, ".git")
	err = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || strings.HasSuffix(path, ".sample") { // hooks that do nothing
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		p := piece{path: strings.TrimPrefix(path, top), perm: info.Mode()}
		if !d.IsDir() {
			p.data, err = os.ReadFile(path)
		}
		pieces = append(pieces, p)
		return err
	})
	return pieces, err
})

// Repository makes root a repository of its own on main, with a README.md in its one
// commit. environ is the one in which git is started there.
func Repository(t testing.TB, root string, environ []string) {
	t.Helper()
	pieces, err := first()
	if err == nil {
		err = os.MkdirAll(root, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "README.md"), []byte(readme), 0o644)
	}
	for _, p := range pieces {
		path := filepath.Join(root, ".git", p.path)
		switch {
		case err != nil:
		case p.perm.IsDir():
			err = os.Mkdir(path, p.perm.Perm())
		default:
			err = os.WriteFile(path, p.data, p.perm.Perm())
		}
	}
	if err == nil { // the index is of another README.md
		err = git(root, environ, "update-index", "-q", "--refresh")
	}
	if err != nil {
		t.Fatal(err)
	}
}

func git(dir string, environ []string, args ...string) error {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, environ
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("git %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}
