package git

import (
	"context"
	"errors"
	"fmt"
)

// BranchHead is the commit that a branch of the user's repository points at; ""
// when there is no such branch.
func (s *Store) BranchHead(ctx context.Context, branch string) (string, error) {
	ref := "refs/heads/" + branch
	err := checkRef(ref)
	var id string
	if err == nil {
		id, err = readRef(ctx, s.user, s.root, ref)
	}
	if err != nil {
		return "", fmt.Errorf("read branch %s: %w", branch, err)
	}
	return id, nil
}

// Holds says whether ancestor is commit, or among what commit grew out of.
func (s *Store) Holds(ctx context.Context, commit, ancestor string) (bool, error) {
	if err := checkIDs(commit, ancestor); err != nil {
		return false, fmt.Errorf("compare commits: %w", err)
	}
	res, err := s.git(ctx, call{args: []string{"merge-base", "--is-ancestor", ancestor, commit}, ok: []int{1}})
	if err != nil {
		return false, fmt.Errorf("look for %s in %s: %w", ancestor, commit, err)
	}
	return res.code == 0, nil
}

// MergeCommit commits tree, the merge of parents, in the user's name and points
// ref at it; ref "" is none.
func (s *Store) MergeCommit(ctx context.Context, tree string, parents []string, message, ref string) (string, error) {
	return s.checkedCommit(ctx, tree, parents, message, ref, []string{
		"GIT_AUTHOR_NAME=" + s.name, "GIT_AUTHOR_EMAIL=" + s.email,
		"GIT_COMMITTER_NAME=" + s.name, "GIT_COMMITTER_EMAIL=" + s.email,
	})
}

// Land moves a branch of the user's repository, any that is nowhere checked
// out, from old to commit by compare-and-set, with all objects it takes; old ""
// = it must not exist. No file of a checkout is touched. Errors: *BranchError
// when it is checked out somewhere, *MovedError when it is not at old.
func (s *Store) Land(ctx context.Context, branch, commit, old string) error {
	if err := s.land(ctx, branch, commit, old); err != nil {
		return fmt.Errorf("land on %s: %w", branch, err)
	}
	return nil
}

func (s *Store) land(ctx context.Context, branch, commit, old string) error {
	ref := "refs/heads/" + branch
	if err := errors.Join(checkRef(ref), checkIDs(commit)); err != nil {
		return err
	}
	if err := s.NowhereOut(ctx, branch); err != nil {
		return err
	}
	if err := s.bring(ctx, commit); err != nil {
		return err
	}
	_, err := s.inUser(ctx, call{args: []string{"update-ref", "--no-deref", "-m", "forge: an issue landed", ref, commit, firstOf(old, ZeroID)}})
	if err != nil && moved(err) {
		return &MovedError{Ref: ref, Want: firstOf(old, "nothing")}
	}
	return err
}

// NowhereOut refuses a branch that some checkout of the user's repository has
// out: its files would not be what the branch says. Errors: *BranchError.
func (s *Store) NowhereOut(ctx context.Context, branch string) error {
	trees, err := s.worktrees(ctx)
	if err != nil {
		return err
	}
	for _, t := range trees {
		if t.branch == "refs/heads/"+branch {
			return &BranchError{branch, "is checked out in " + t.path}
		}
	}
	return nil
}
