// Package hosttest has the conformance suite of adapters to code hosts, and
// what they are held against: a real Gitea, a GitHub of Forge's own, and a
// proxy that misbehaves.
package hosttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"forge/internal/git"
	"forge/internal/host"
	"forge/internal/work"
)

// Line is a comment at a line of the new file.
type Line struct {
	Path string
	Line int
	Body string
}

// People do on the host what people do: ann and ben may write, eve may only
// read.
type People interface {
	Review(t testing.TB, who string, number int64, head string, verdict work.PullVerdict, body string, lines ...Line)
	Say(t testing.TB, who string, number int64, body string)
	Dismiss(t testing.TB, number int64, review string)
	Resolve(t testing.TB, number int64, thread string)
	Rewrite(t testing.TB, number int64, body string)
	// OpenIssue opens an issue and returns its number.
	OpenIssue(t testing.TB, title, body string) int64
	Close(t testing.TB, number int64)
	Reopen(t testing.TB, number int64)
	// Retarget points a pull request at another branch.
	Retarget(t testing.TB, who string, number int64, base string)
	MergeByHand(t testing.TB, number int64)
	Protect(t testing.TB, branch string, approvals int, check string)
	Status(t testing.TB, commit, check, state string)
	Archive(t testing.TB)
	// Remove takes the right to write away from somebody.
	Remove(t testing.TB, who string)
}

// World is one repository on a host with one commit on its base, and Forge's
// own repository beside it.
type World struct {
	Host   host.Host
	Repo   string
	People People // nil: there is nobody but Forge
	Store  *git.Store
	Base   string // branch
	Start  string // commit
	Token  string // "" = none
	// With makes an adapter to the same host: another repository ("" = the
	// same) or another token.
	With func(repo, token string) host.Host
	// Narrow is a token of Forge's account that lacks the right to comment; "" =
	// the host does not know such.
	Narrow string
	// Decisions says that the host has no reviews but decisions: what decides nothing
	// is a comment there.
	Decisions bool
	// Rule is what a check that a branch asks for is called; "" = as the check.
	Rule string
	// Pictures says that it takes pictures; Uploads, that a text alone says which.
	Pictures, Uploads bool
	// Wait lets a second pass by the host's own clock; nil = its clock is
	// everybody's.
	Wait func()
}

// NewStore makes a repository of the user's with one commit on main, and
// Forge's own beside it.
func NewStore(t testing.TB) (*git.Store, string) {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "project")
	check(t, os.MkdirAll(root, 0o755))
	check(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("one\ntwo\nthree\n"), 0o644))
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@example.com", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@example.com"}
	for _, args := range [][]string{{"init", "-q", "--template=", "-b", "main"}, {"add", "."}, {"commit", "-qm", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = root, env
		run(t, cmd)
	}
	store, err := git.Open(t.Context(), git.Config{StateDir: filepath.Join(dir, "state"), Root: root, Environ: env})
	check(t, err)
	start, err := store.FindCommit(t.Context(), "main")
	check(t, err)
	return store, start
}

// Commit is a commit on parent with files changed.
func (w *World) Commit(t testing.TB, parent, message string, files map[string]string) string {
	t.Helper()
	content := map[string][]byte{}
	for path, text := range files {
		content[path] = []byte(text)
	}
	c, err := w.Store.WithFiles(t.Context(), parent, content, message, "")
	check(t, err)
	return c
}
