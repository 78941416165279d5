package git

import (
	"context"
	"errors"

	"forge/internal/stuck"
)

// shape is that of the change from one tree to another, see stuck.Shape; of one
// that is too large to be read it is not known.
func (s *Store) shape(ctx context.Context, from, to string) (digest string, bare bool, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &cutWriter{max: MaxDiffBytes, over: func() { cancel(errDiffCut) }}
	args := []string{"diff-tree", "-r", "-p", "-U0", "-M", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", from, to, "--"}
	if _, err := s.git(ctx, call{args: args, stdout: out}); err != nil && !errors.Is(err, errDiffCut) {
		return "", false, err
	}
	if out.cut {
		return "", false, nil
	}
	digest, bare = stuck.Shape(out.text())
	return digest, bare, nil
}
