package git

import (
	"context"
	"fmt"
	"strings"
)

// Fence points ref at a commit that word alone has, with what stands in parent, and
// returns it. Whoever sets the fence after that has taken over what it stands for.
func (s *Store) Fence(ctx context.Context, ref, parent, word string) (string, error) {
	tree, err := s.treeOf(ctx, parent)
	if err != nil {
		return "", fmt.Errorf("set a fence: %w", err)
	}
	return s.commit(ctx, tree, []string{parent}, word, ref, nil)
}

// UpdateFenced points ref at id if the reference fence is at commit still, in one
// step; id "" looks at the fence alone. Else it returns a *MovedError and changes
// nothing.
func (s *Store) UpdateFenced(ctx context.Context, ref, id, fence, commit string) error {
	for _, one := range []string{ref, fence} {
		if err := checkRef(one); err != nil {
			return err
		}
	}
	if err := checkIDs(commit); err != nil {
		return err
	}
	orders := fmt.Sprintf("verify %s %s\n", fence, commit)
	if id != "" {
		if err := checkIDs(id); err != nil {
			return err
		}
		orders += fmt.Sprintf("update %s %s\n", ref, id)
	}
	_, err := s.git(ctx, call{args: []string{"update-ref", "--no-deref", "--stdin"}, stdin: strings.NewReader(orders)})
	if moved(err) {
		return &MovedError{Ref: fence, Want: commit}
	}
	if err != nil {
		return fmt.Errorf("update reference %s: %w", ref, err)
	}
	return nil
}
