package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"forge/internal/work"
)

// TakeBack moves base's branch from commit back to base, files and all, when it is
// just where FastForward put it; else it says why not, and nothing has changed. It
// is done whole or not at all, as FastForward is, and may be repeated.
func (s *Store) TakeBack(ctx context.Context, base work.Base, commit string) (why string, err error) {
	err = errors.Join(checkIDs(base.Commit, commit), checkRef("refs/heads/"+base.Branch))
	if err == nil {
		err = s.takeBackMoved(ctx, base, commit)
	}
	var stays *notMoved
	if errors.As(err, &stays) {
		return stays.why, nil
	}
	if err != nil {
		return "", fmt.Errorf("take back %s: %w", base.Branch, err)
	}
	return "", nil
}

func (s *Store) takeBackMoved(ctx context.Context, base work.Base, commit string) error {
	held, err := s.holdMoves(ctx, settleWait)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	if _, err := s.settle(ctx, held); err != nil {
		return err
	}

	back := cmp.Or(base.Was, base.Commit)
	at, err := readRef(ctx, s.user, s.root, "refs/heads/"+base.Branch)
	switch {
	case err != nil:
		return err
	case at == back:
		return nil // done before a crash, or by somebody else
	case at != commit:
		return &notMoved{why: "somebody has built on branch " + base.Branch + " since"}
	case base.Apart:
		return s.landApart(ctx, base.Branch, back, commit)
	}
	head, here, err := s.headOut(ctx)
	if err != nil {
		return err
	}
	was := base
	was.Commit = commit
	if head != "refs/heads/"+base.Branch || here != commit {
		return &notMoved{why: "branch " + base.Branch + " is not checked out any more"}
	}
	if why, err := s.standsInTheWay(ctx, was, base.Commit, head); err != nil || why != "" {
		if err == nil {
			err = &notMoved{why: why}
		}
		return err
	}
	return s.moveCheckout(ctx, held, was, base.Commit)
}

// WentOn is where a branch of the user's repository is that has grown out of base, and
// does not hold commit; "" = it is at base, was set back, is gone, or holds it.
func (s *Store) WentOn(ctx context.Context, base work.Base, commit string) (string, error) {
	at, err := s.BranchHead(ctx, base.Branch)
	if err != nil || at == "" || at == base.Was {
		return "", err
	}
	if grown, err := s.Outgrown(ctx, base.Commit, at, commit); err != nil || !grown {
		return "", err
	}
	return at, nil
}

// Outgrown says that a branch which was at from when commit was made of it, and is at at
// now, grew out of it and does not hold commit.
func (s *Store) Outgrown(ctx context.Context, from, at, commit string) (bool, error) {
	if at == from {
		return false, nil
	}
	grown, err := s.Holds(ctx, at, from)
	if err != nil || !grown {
		return false, err
	}
	there, err := s.Holds(ctx, at, commit)
	return err == nil && !there, err
}

// Stands says that a branch of the user's repository is at commit, or has grown out
// of it.
func (s *Store) Stands(ctx context.Context, branch, commit string) (bool, error) {
	at, err := s.BranchHead(ctx, branch)
	if err != nil || at == "" || at == commit {
		return at == commit, err
	}
	return s.Holds(ctx, at, commit)
}
