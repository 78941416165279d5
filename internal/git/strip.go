package git

import (
	"context"
	"fmt"
	"strings"
)

// Strip is one commit on base, in the user's name, with the content of commit
// without the folder at path, and ref pointing at it. When nothing else differs
// from base there is nothing to commit: it is base.
func (s *Store) Strip(ctx context.Context, commit, base, path, message, ref string) (string, error) {
	if err := checkIDs(commit, base); err != nil {
		return "", fmt.Errorf("take %s out of %s: %w", path, commit, err)
	}
	listed, err := s.git(ctx, call{args: []string{"ls-tree", "-z", commit}})
	if err != nil {
		return "", fmt.Errorf("take %s out of %s: %w", path, commit, err)
	}
	var kept strings.Builder
	for _, entry := range strings.SplitAfter(string(listed.out), "\x00") {
		if _, name, _ := strings.Cut(entry, "\t"); name != path+"\x00" {
			kept.WriteString(entry)
		}
	}
	made, err := s.git(ctx, call{args: []string{"mktree", "-z", "--missing"}, stdin: strings.NewReader(kept.String())})
	if err != nil {
		return "", fmt.Errorf("take %s out of %s: %w", path, commit, err)
	}
	return s.Squash(ctx, made.line(), base, message, ref)
}
