package git

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"forge/internal/work"
)

// ValidBranch says whether name may be a branch that Forge makes.
func ValidBranch(name string) bool {
	return !strings.HasPrefix(name, "-") && name != "HEAD" && checkRef("refs/heads/"+name) == nil
}

// NewBranch makes a branch of the user's repository at commit, with all objects
// it takes. Nothing that is checked out is touched. Errors: *BranchError where
// there is one of that name.
func (s *Store) NewBranch(ctx context.Context, branch, commit string) error {
	if err := s.newBranch(ctx, branch, commit); err != nil {
		return fmt.Errorf("make branch %s: %w", branch, err)
	}
	return nil
}

func (s *Store) newBranch(ctx context.Context, branch, commit string) error {
	ref := "refs/heads/" + branch
	if err := errors.Join(checkRef(ref), checkIDs(commit)); err != nil {
		return err
	}
	there := &BranchError{branch, "is there already"}
	if now, err := readRef(ctx, s.user, s.root, ref); err != nil {
		return err
	} else if now != "" {
		return there
	}

	if err := s.bring(ctx, commit); err != nil {
		return err
	}
	err := s.setUserRef(ctx, ref, commit, ZeroID, "forge: work that was taken")
	if moved(err) {
		return there
	}
	return err
}

// Stage puts what commit has beside base, which is checked out, into the user's
// files and index, and commits nothing: "git reset --merge" takes it back. It
// does nothing where FastForward would do nothing, and says why.
func (s *Store) Stage(ctx context.Context, base work.Base, commit string) (why string, err error) {
	if why, err = s.stage(ctx, base, commit); err != nil {
		return "", fmt.Errorf("put changes into the checkout: %w", err)
	}
	return why, nil
}

func (s *Store) stage(ctx context.Context, base work.Base, commit string) (string, error) {
	if err := checkIDs(base.Commit, commit); err != nil {
		return "", err
	}
	held, err := s.holdMoves(ctx, settleWait)
	if err != nil {
		return "", err
	}
	defer func() { _ = held.Close() }()
	if _, err := s.settle(ctx, held); err != nil {
		return "", err
	}

	head, here, err := s.headOut(ctx)
	if err != nil {
		return "", err
	}
	if why, err := s.whyNot(ctx, base, commit, head, here); err != nil || why != "" {
		return why, err
	}
	if err := s.bring(ctx, commit); err != nil {
		return "", err
	}
	// It looks at all files before it writes one.
	_, err = s.inUser(ctx, call{args: []string{"read-tree", "-m", "-u", base.Commit, commit}, held: held})
	return "", err
}
