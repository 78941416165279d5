package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"forge/internal/work"
)

// FastForward moves the branch that the user has checked out from base to
// commit, files and all, when nothing of the user's is in the way and there is
// room; else it says why not, and the command that finishes the job. It is done
// whole or not at all (move.go). What an earlier one had begun is settled first,
// so that doing it again after a crash, or after it was done, is fine.
func (s *Store) FastForward(ctx context.Context, base work.Base, commit string) (work.Delivery, error) {
	d, err := s.fastForward(ctx, base, commit)
	if err != nil {
		return d, fmt.Errorf("fast-forward: %w", err)
	}
	return d, nil
}

func (s *Store) fastForward(ctx context.Context, base work.Base, commit string) (work.Delivery, error) {
	d := work.Delivery{Commit: commit}
	if err := checkIDs(base.Commit, commit); err != nil {
		return d, err
	}
	var err error
	if d.Branch, err = s.deliveredAs(ctx, commit); err != nil {
		return d, err
	}

	var why *notMoved
	switch err := s.forward(ctx, base, commit); {
	case err == nil:
		d.FastForwarded = true
		if d.Undo = "git reset --keep " + base.Commit[:12]; base.Apart {
			d.Undo = "git branch --force " + base.Branch + " " + cmp.Or(base.Was, base.Commit)[:12]
		}
		return d, nil
	case !errors.As(err, &why):
		return d, err
	}
	d.Reason = why.why
	if commit != base.Commit {
		d.Next = "git merge " + firstOf(d.Branch, commit)
	}
	return d, nil
}

// InTheWay is why FastForward would leave the user's checkout as it is, now;
// "" = it would move it.
func (s *Store) InTheWay(ctx context.Context, base work.Base, commit string) (why string, err error) {
	if err := checkIDs(base.Commit, commit); err != nil {
		return "", fmt.Errorf("look at the checkout: %w", err)
	}
	if base.Apart {
		_, why, err := s.whyNotApart(ctx, base, commit)
		return why, err
	}
	head, here, err := s.headOut(ctx)
	if err == nil {
		why, err = s.whyNot(ctx, base, commit, head, here)
	}
	if err != nil {
		return "", fmt.Errorf("look at the checkout: %w", err)
	}
	return why, nil
}

// OutHere says whether the user's checkout has a branch out. Other worktrees do
// not count.
func (s *Store) OutHere(ctx context.Context, branch string) (bool, error) {
	head, _, err := s.headOut(ctx)
	if err != nil {
		return false, fmt.Errorf("look at the checkout: %w", err)
	}
	return head == "refs/heads/"+branch, nil
}

// headOut is the reference that the user has checked out, "" = none, and its
// commit.
func (s *Store) headOut(ctx context.Context) (ref, commit string, err error) {
	here, err := s.inUser(ctx, call{args: []string{"rev-parse", "--verify", "HEAD"}})
	if err != nil {
		return "", "", err
	}
	head, err := s.inUser(ctx, call{args: []string{"symbolic-ref", "--quiet", "HEAD"}, ok: []int{1}})
	return head.line(), here.line(), err
}

// forward is FastForward with the reason as an error: *notMoved.
func (s *Store) forward(ctx context.Context, base work.Base, commit string) error {
	if base.Apart {
		return s.forwardApart(ctx, base, commit)
	}
	held, err := s.holdMoves(ctx, settleWait)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	if _, err := s.settle(ctx, held); err != nil {
		return err
	}
	head, here, err := s.headOut(ctx)
	if err != nil {
		return err
	}
	if base.Branch != "" && head == "refs/heads/"+base.Branch && here == commit && commit != base.Commit {
		return nil // done before a crash
	}
	if why, err := s.whyNot(ctx, base, commit, head, here); err != nil {
		return err
	} else if why != "" {
		return &notMoved{why: why}
	}
	if err := s.bring(ctx, commit); err != nil {
		return err
	}
	return s.moveCheckout(ctx, held, base, commit)
}

// deliveredAs returns a branch below forge/ that Deliver put at commit.
func (s *Store) deliveredAs(ctx context.Context, commit string) (string, error) {
	res, err := s.inUser(ctx, call{args: []string{"for-each-ref", "--points-at=" + commit, "--format=%(refname:lstrip=2)", "refs/heads/forge/"}})
	if err != nil {
		return "", err
	}
	return splitLines(res.out)[0], nil
}

// whyNot returns the first reason not to touch the user's checkout.
func (s *Store) whyNot(ctx context.Context, base work.Base, commit, head, here string) (string, error) {
	switch {
	case commit == base.Commit:
		return work.NothingChanged, nil
	case base.Branch == "":
		return "no branch was checked out when the run started", nil
	case base.Shallow:
		return "the repository is a shallow clone", nil
	case head != "refs/heads/"+base.Branch:
		return "branch " + base.Branch + " is not checked out any more", nil
	case here != base.Commit:
		return "branch " + base.Branch + " has moved since the run started", nil
	}
	if _, err := s.git(ctx, call{args: []string{"merge-base", "--is-ancestor", base.Commit, commit}}); err != nil {
		var cmd *CommandError
		if errors.As(err, &cmd) && cmd.Code == 1 {
			return "the result does not build on the base", nil
		}
		return "", err
	}
	return s.standsInTheWay(ctx, base, commit, head)
}

// standsInTheWay is what in the checkout, which is at base, keeps it from being
// moved to commit; "" = nothing.
func (s *Store) standsInTheWay(ctx context.Context, base work.Base, commit, head string) (string, error) {
	for _, u := range unfinished {
		if _, err := os.Lstat(filepath.Join(s.gitDir, u.file)); err == nil {
			return u.name + " is in progress", nil
		}
	}
	trees, err := s.worktrees(ctx)
	if err != nil {
		return "", err
	}
	holders := 0
	for _, t := range trees {
		if t.branch == head {
			holders++
		}
	}
	if holders != 1 {
		return "branch " + base.Branch + " is checked out in another worktree too", nil
	}
	return s.inTheWay(ctx, base.Commit, commit)
}

// Uncommitted are the user's tracked files that differ from their last commit,
// and the files and folders that git does not track and does not ignore. Those
// of .forge/ are left out.
func (s *Store) Uncommitted(ctx context.Context) (changed, untracked []string, err error) {
	return s.status(ctx, "normal")
}

func (s *Store) status(ctx context.Context, untrackedFiles string) (changed, untracked []string, err error) {
	res, err := s.inUser(ctx, call{
		args: []string{"status", "--porcelain=v1", "-z", "--untracked-files=" + untrackedFiles, "--ignore-submodules=dirty", "--no-renames"},
		env:  []string{"GIT_OPTIONAL_LOCKS=0"},
	})
	if err != nil {
		return nil, nil, err
	}
	for _, rec := range splitZ(res.out) {
		if len(rec) < 4 {
			return nil, nil, fmt.Errorf("read status: unknown record %q", rec)
		}
		switch p := rec[3:]; {
		case p == ".forge" || strings.HasPrefix(p, ".forge/"):
		case rec[:2] == "??":
			untracked = append(untracked, p)
		default:
			changed = append(changed, p)
		}
	}
	return changed, untracked, nil
}

// inTheWay looks for changes of the user's that a fast-forward could meet.
// .forge/ never counts: a result does not touch it.
func (s *Store) inTheWay(ctx context.Context, from, to string) (string, error) {
	changed, _, err := s.status(ctx, "no")
	if err != nil {
		return "", err
	}
	if len(changed) > 0 {
		return "tracked file " + changed[0] + " is changed", nil
	}
	diff, err := s.compare(ctx, from, to)
	if err != nil {
		return "", err
	}
	gone := map[string]bool{}
	for _, c := range diff.files {
		if c.Status == "D" {
			gone[c.Path] = true
		}
	}
	for _, c := range diff.files {
		if c.Status != "A" {
			continue
		}
		blocker, err := blocking(s.root, c.Path, gone)
		if err != nil {
			return "", err
		}
		if blocker != "" {
			return "untracked file " + blocker + " is in the way", nil
		}
	}
	return "", nil
}

// blocking returns what lies at, above or below a path that is to be added
// and would be lost. gone are the tracked files that go.
func blocking(root, added string, gone map[string]bool) (string, error) {
	for up := path.Dir(added); up != "."; up = path.Dir(up) {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(up)))
		if err == nil && !info.IsDir() && !gone[up] {
			return up, nil
		}
		if err == nil && !info.IsDir() {
			return "", nil // a tracked file makes room for the folder
		}
	}
	full := filepath.Join(root, filepath.FromSlash(added))
	if _, err := os.Lstat(full); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var found string
	err := filepath.WalkDir(full, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, p)
		if err == nil && !gone[filepath.ToSlash(rel)] {
			found = filepath.ToSlash(rel)
			return fs.SkipAll
		}
		return err
	})
	return found, err
}
