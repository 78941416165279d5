package git

import (
	"context"
	"errors"

	"forge/internal/work"
)

// A target that is not what the checkout has out (work.Base.Apart) is moved as a
// reference alone, as the results of issues land.

// forwardApart is forward for such a target.
func (s *Store) forwardApart(ctx context.Context, base work.Base, commit string) error {
	at, why, err := s.whyNotApart(ctx, base, commit)
	switch {
	case err != nil:
		return err
	case at == commit && commit != base.Commit:
		return nil // done before a crash
	case why != "":
		return &notMoved{why: why}
	}
	return s.landApart(ctx, base.Branch, commit, at)
}

// whyNotApart is the first reason not to move such a target, and where it is: "" = it is
// not there yet.
func (s *Store) whyNotApart(ctx context.Context, base work.Base, commit string) (at, why string, err error) {
	if commit == base.Commit {
		return "", work.NothingChanged, nil
	}
	if at, err = s.BranchHead(ctx, base.Branch); err != nil {
		return "", "", err
	}
	if at != "" && at != base.Commit && at != base.Was {
		return at, "branch " + base.Branch + " has moved since the run started", nil
	}
	grown, err := s.Holds(ctx, commit, base.Commit)
	if err == nil && !grown {
		return at, "the result does not build on the base", nil
	}
	var out *BranchError
	if err == nil {
		err = s.NowhereOut(ctx, base.Branch)
	}
	if errors.As(err, &out) {
		return at, out.Error(), nil
	}
	return at, "", err
}

// landApart moves it, or says why it stays.
func (s *Store) landApart(ctx context.Context, branch, commit, old string) error {
	err := s.Land(ctx, branch, commit, old)
	var moved *MovedError
	var out *BranchError
	switch {
	case errors.As(err, &moved):
		return &notMoved{why: "branch " + branch + " has moved since the run started"}
	case errors.As(err, &out):
		return &notMoved{why: out.Error()}
	}
	return err
}
