package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"forge/internal/work"
)

// StateError is a repository that a run cannot start in: what is wrong, and
// the way out, each in one sentence.
type StateError struct{ What, Fix string }

// Error joins the two sentences.
func (e *StateError) Error() string { return e.What + "; " + e.Fix }

// unfinished maps what git leaves in its folder during an operation to the
// operation's name and the way out of it.
var unfinished = [...]struct{ file, name, fix string }{
	{"rebase-merge", "a rebase", `finish it with "git rebase --continue" or take it back with "git rebase --abort"`},
	{"rebase-apply", "a rebase or am", `finish it, or take it back with "git rebase --abort" or "git am --abort"`},
	{"MERGE_HEAD", "a merge", `commit it, or take it back with "git merge --abort"`},
	{"CHERRY_PICK_HEAD", "a cherry-pick", `finish it with "git cherry-pick --continue" or take it back with "git cherry-pick --abort"`},
	{"REVERT_HEAD", "a revert", `finish it with "git revert --continue" or take it back with "git revert --abort"`},
	{"BISECT_LOG", "a bisect", `end it with "git bisect reset"`},
}

// Inspect says where the user's repository around dir stands. A detached HEAD,
// a shallow clone and a linked worktree are fine. Errors: *StateError for a
// state that a run cannot start in.
func Inspect(ctx context.Context, dir string) (work.Base, error) {
	return inspect(ctx, os.Environ(), dir)
}

func inspect(ctx context.Context, environ []string, dir string) (work.Base, error) {
	r, err := newRunner(environ)
	if err != nil {
		return work.Base{}, err
	}
	base, gitDir, ok := inspectHere(dir)
	if !ok {
		base, gitDir, ok = r.inspectAtOnce(ctx, dir)
	}
	if !ok {
		if base, gitDir, err = r.inspectStepByStep(ctx, dir); err != nil {
			return work.Base{}, err
		}
	}
	if err := noneUnfinished(gitDir); err != nil {
		return work.Base{}, err
	}
	if ok {
		return base, nil
	}
	// A branch and a folder of branches cannot have the same name.
	res, err := r.run(ctx, call{dir: dir, args: []string{"rev-parse", "--quiet", "--verify", "refs/heads/forge"}, ok: []int{1}})
	if err != nil {
		return work.Base{}, err
	}
	if res.line() != "" {
		return work.Base{}, &StateError{`the branch "forge" is in the way of the branches forge/… that hold results`, `rename it, for example with "git branch -m forge forge-old"`}
	}
	return base, nil
}

// inspectAtOnce asks git everything in one process, since each command of Forge
// begins with it. ok is false when the answer is not that of a repository in
// order, or cannot be told apart into its lines. A branch that may be in the way is
// a line more: as a pattern, since git would take the plain name for a folder, and
// in any case, as on some file systems both are one.
func (r *runner) inspectAtOnce(ctx context.Context, dir string) (base work.Base, gitDir string, ok bool) {
	res, err := r.run(ctx, call{dir: dir, args: []string{
		"rev-parse", "--is-bare-repository", "--is-inside-git-dir", "--show-object-format", "--is-shallow-repository",
		"--path-format=absolute", "--absolute-git-dir", "--show-toplevel", "HEAD^{commit}", "--symbolic-full-name", "HEAD", "--branches=[fF][oO][rR][gG][eE]",
	}})
	said := strings.Split(res.line(), "\n")
	if err != nil || len(said) != 8 || said[0] != "false" || said[1] != "false" || said[2] != "sha1" || !isID(said[6]) {
		return work.Base{}, "", false
	}
	base = work.Base{Shallow: said[3] == "true", RepoRoot: said[5], Commit: said[6]}
	branch, attached := strings.CutPrefix(said[7], "refs/heads/")
	if attached {
		base.Branch = branch
	}
	return base, said[4], attached || said[7] == "HEAD"
}

// inspectStepByStep asks one thing after the other, and says what is wrong.
func (r *runner) inspectStepByStep(ctx context.Context, dir string) (base work.Base, gitDir string, err error) {
	ask := func(args ...string) (string, error) {
		res, err := r.run(ctx, call{dir: dir, args: args})
		return res.line(), err
	}
	where, err := ask("rev-parse", "--is-bare-repository", "--is-inside-git-dir")
	if err != nil {
		return work.Base{}, "", notRepository(dir, err)
	}
	switch bare, inGit, _ := strings.Cut(where, "\n"); {
	case bare == "true":
		return work.Base{}, "", &StateError{dir + " is a bare git repository", "run forge in a clone with a working tree"}
	case inGit == "true":
		return work.Base{}, "", &StateError{dir + " is inside a .git folder", "change to the project's own folder"}
	}
	if base.RepoRoot, err = ask("rev-parse", "--path-format=absolute", "--show-toplevel"); err != nil {
		return work.Base{}, "", notRepository(dir, err)
	}
	facts, err := ask("rev-parse", "--show-object-format", "--is-shallow-repository")
	if err != nil {
		return work.Base{}, "", err
	}
	format, shallow, _ := strings.Cut(facts, "\n")
	if format != "sha1" {
		return work.Base{}, "", &StateError{"the repository uses the object format " + format, "Forge works with SHA-1 repositories only"}
	}
	base.Shallow = shallow == "true"
	if gitDir, err = ask("rev-parse", "--absolute-git-dir"); err != nil {
		return work.Base{}, "", err
	}
	// Said first: what is under way may be why there is no commit.
	if err := noneUnfinished(gitDir); err != nil {
		return work.Base{}, "", err
	}
	res, err := r.run(ctx, call{dir: dir, args: []string{"rev-parse", "--quiet", "--verify", "HEAD^{commit}"}, ok: []int{1, 128}})
	if err != nil {
		return work.Base{}, "", err
	}
	if base.Commit = res.line(); !isID(base.Commit) {
		return work.Base{}, "", noCommit(ask)
	}
	res, err = r.run(ctx, call{dir: dir, args: []string{"symbolic-ref", "--quiet", "HEAD"}, ok: []int{1}})
	if err != nil {
		return work.Base{}, "", err
	}
	base.Branch, _ = strings.CutPrefix(res.line(), "refs/heads/")
	return base, gitDir, nil
}

// noneUnfinished fails when git is in the middle of an operation.
func noneUnfinished(gitDir string) error {
	for _, u := range unfinished {
		if _, err := os.Lstat(filepath.Join(gitDir, u.file)); err == nil {
			return &StateError{u.name + " is in progress in the repository", u.fix}
		}
	}
	return nil
}

// noCommit tells a new repository from one whose checked-out branch was
// deleted or only begun.
func noCommit(ask func(...string) (string, error)) error {
	refs, err := ask("for-each-ref", "--count=1", "refs/heads", "refs/remotes")
	if err != nil {
		return err
	}
	if refs == "" {
		return &StateError{"the repository has no commit yet", `make one, for example with "git add -A && git commit -m start"`}
	}
	head, err := ask("symbolic-ref", "--short", "HEAD")
	if err != nil {
		return err
	}
	return &StateError{"the checked-out branch " + head + " has no commit", `check out a branch that has one, for example with "git switch BRANCH"`}
}

func notRepository(dir string, err error) error {
	var cmd *CommandError
	if errors.As(err, &cmd) && strings.Contains(cmd.Stderr, "not a git repository") {
		return &StateError{dir + " is not in a git repository", `change to your project, or make one with "git init" and a first commit`}
	}
	return err
}

// isID says that s is a full SHA-1 object id.
func isID(s string) bool {
	if len(s) != 40 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
